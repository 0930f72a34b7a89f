//! URLs of the issuer and of this server. The responses of an issuer decide who has access, so the issuer must be
//! reached over HTTPS, unless it runs on this machine.

use std::fmt;
use std::net::IpAddr;

use http::Uri;
use larder_http::well_known;

/// An `https` URL, or an `http` URL of this machine, with exactly the configured text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SecureUrl(String);

/// The text is not a [`SecureUrl`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a URL that can be trusted: write one that begins with https:// (http:// only for this machine), without a query or a fragment"
)]
pub struct BadUrl(String);

impl SecureUrl {
    /// Parses a URL.
    pub fn parse(text: &str) -> Result<Self, BadUrl> {
        match absolute(text) {
            Some(uri) if is_trusted(&uri) => Ok(Self(text.to_owned())),
            _ => Err(BadUrl(text.escape_debug().take(200).collect())),
        }
    }

    /// Returns the configured text of the URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the host is this machine.
    pub(super) fn is_local(&self) -> bool {
        absolute(&self.0).is_some_and(|uri| is_local(&uri))
    }
}

fn is_trusted(uri: &Uri) -> bool {
    uri.query().is_none() && (uri.scheme_str() == Some("https") || is_local(uri))
}

impl fmt::Display for SecureUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The audience of tokens for this server: the URL of its endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Audience(String);

/// The text is not an [`Audience`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not the URL of an endpoint: write the one that clients use, such as \"https://docs.example.com/mcp\""
)]
pub struct BadAudience(String);

impl Audience {
    /// Parses the URL of an endpoint.
    pub fn parse(text: &str) -> Result<Self, BadAudience> {
        match absolute(text) {
            Some(_) => Ok(Self(text.to_owned())),
            None => Err(BadAudience(text.escape_debug().take(200).collect())),
        }
    }

    /// Returns the configured text of the URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path, without a trailing slash, as it appears in the URL of the metadata.
    pub(super) fn path(&self) -> String {
        absolute(&self.0)
            .map(|uri| uri.path().trim_end_matches('/').to_owned())
            .unwrap_or_default()
    }

    /// Returns the URL of the protected resource metadata.
    pub(super) fn metadata(&self) -> String {
        well_known(&self.0, super::metadata::NAME)
    }
}

/// Parses an absolute HTTP URL that has no user, no fragment, and no character that would need quoting in a
/// header.
fn absolute(text: &str) -> Option<Uri> {
    let uri: Uri = text.parse().ok().filter(|_| is_plain(text))?;
    let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
    (is_http && has_host_without_user(&uri)).then_some(uri)
}

fn is_plain(text: &str) -> bool {
    let is_plain = |byte| matches!(byte, 0x21..=0x7e) && !b"\"\\#".contains(&byte);
    text.len() <= 2_000 && text.bytes().all(is_plain)
}

fn has_host_without_user(uri: &Uri) -> bool {
    let authority = uri.authority();
    authority
        .is_some_and(|authority| !authority.host().is_empty() && !authority.as_str().contains('@'))
}

fn is_local(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost"
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_only_https_or_local_urls() {
        for good in [
            "https://id.example.com",
            "https://id.example.com/realms/x/",
            "http://127.0.0.1:8080",
            "http://[::1]:1/a",
            "http://localhost/",
        ] {
            assert_eq!(
                SecureUrl::parse(good).map(|url| url.to_string()),
                Ok(good.to_owned())
            );
        }
        for bad in [
            "",
            "id.example.com",
            "http://id.example.com",
            "ftp://localhost",
            "https://",
            "https://u@id.example.com",
            "https://x/#f",
            "https://x/?q",
            "https://x/ y",
            "http://localhost.evil.example",
            "https://x/\"",
            "/realms",
        ] {
            assert!(SecureUrl::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_metadata_belongs_to_the_path() {
        let audience = Audience::parse("https://docs.example/mcp").unwrap();
        assert_eq!(
            audience.metadata(),
            "https://docs.example/.well-known/oauth-protected-resource/mcp"
        );
        assert_eq!(audience.path(), "/mcp");
        for (written, path) in [
            ("https://docs.example/a/", "/a"),
            ("https://docs.example/", ""),
        ] {
            let audience = Audience::parse(written).unwrap();
            assert_eq!(audience.path(), path, "{written}");
            assert!(
                audience.metadata().ends_with(&format!("-resource{path}")),
                "{}",
                audience.metadata()
            );
        }
    }
}
