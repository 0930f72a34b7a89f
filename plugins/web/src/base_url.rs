//! The URL below which an API is.

use fluent_uri::{Uri, UriRef};

use crate::encoding::is_safe;

/// The longest URL that is requested.
const MAX_BYTES: usize = 8 << 10;

/// An absolute URL that ends with a slash. A path that is joined to it cannot lead to another host or out of the path
/// of the URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl(String);

/// The scheme, the host and the port of a URL.
#[derive(Debug, PartialEq, Eq)]
struct Origin {
    scheme: String,
    host: String,
    port: String,
}

impl BaseUrl {
    /// Parses a URL. The error does not contain the URL, because the URL may contain a password.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let uri =
            Uri::parse(text).map_err(|_| "is not a URL such as \"https://api.example.com/v1\"")?;
        if origin(text).is_none() {
            return Err(
                "must begin with https:// or http:// and a host, without a user or a password",
            );
        }
        if uri.query().is_some() || uri.fragment().is_some() {
            return Err("must not contain a query or a fragment");
        }
        if !is_safe(uri.path().as_str()) {
            return Err("must not contain `.` or `..`");
        }
        Ok(Self(format!("{}/", text.trim_end_matches('/'))))
    }

    /// The scheme, the host and the port of any URL of a web server.
    pub fn origin_of(url: &str) -> Option<Self> {
        let Origin { scheme, host, port } = origin(url)?;
        Some(Self(format!("{scheme}://{host}:{port}/")))
    }

    /// The text of the URL, with a slash at the end.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The URL of a path below this one. The path has no slash at its beginning, and path and query are already
    /// encoded. `None` if the path leads elsewhere, or if the URL is too long.
    pub fn join(&self, path: &str, query: &str) -> Option<String> {
        let is_below = is_safe(path) && !path.starts_with('/') && !path.contains(['?', '#', '\\']);
        let url = format!("{}{path}{query}", self.0);
        (is_below && url.len() <= MAX_BYTES && Uri::parse(url.as_str()).is_ok()).then_some(url)
    }

    /// Whether a URL has the same scheme, host and port.
    pub fn is_same_origin(&self, url: &str) -> bool {
        origin(url).is_some_and(|one| origin(&self.0) == Some(one))
    }
}

/// Resolves a reference, such as the target of a redirect, against the URL of its document. `None` if the result is not
/// a URL of a web server, if it contains a user, or if it leads from https to http.
pub fn resolve(url: &str, reference: &str) -> Option<String> {
    let base = Uri::parse(url).ok()?;
    let found = UriRef::parse(reference)
        .ok()?
        .resolve_against(&base.strip_fragment())
        .ok()?;
    let found = found.strip_fragment().as_str().to_owned();
    let is_downgrade = origin(&found)?.scheme == "http" && origin(url)?.scheme == "https";
    (!is_downgrade && found.len() <= MAX_BYTES).then_some(found)
}

/// `None` for anything but a URL of a web server without a user.
fn origin(url: &str) -> Option<Origin> {
    let uri = Uri::parse(url).ok()?;
    let authority = uri
        .authority()
        .filter(|it| it.userinfo().is_none() && !it.host().is_empty())?;
    let scheme = uri.scheme().as_str().to_ascii_lowercase();
    let default_port = match scheme.as_str() {
        "https" => "443",
        "http" => "80",
        _ => return None,
    };
    let port = authority
        .port()
        .map(|port| port.as_str())
        .filter(|port| !port.is_empty());
    let host = authority.host().to_ascii_lowercase();
    Some(Origin {
        scheme,
        host,
        port: port.unwrap_or(default_port).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_urls_of_web_servers() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(
                BaseUrl::parse(text).ok().map(|base| base.0).as_deref(),
                expected,
                "{text}"
            );
        };
        check("https://api.example.com", Some("https://api.example.com/"));
        check(
            "http://127.0.0.1:8080/v1/",
            Some("http://127.0.0.1:8080/v1/"),
        );
        for wrong in [
            "api.example.com",
            "ftp://example.com",
            "https://",
            "https:///x",
            "https://user:hush@example.com",
            "https://example.com/?key=hush",
            "https://example.com/#x",
            "https://example.com/a/../b",
            "https://example.com/%2e%2e/b",
            "https://example.com/a b",
        ] {
            check(wrong, None);
            let message = BaseUrl::parse(wrong).unwrap_err();
            assert!(!message.contains("hush"), "{message}");
        }
    }

    #[test]
    fn what_is_joined_stays_below() {
        let base = BaseUrl::parse("https://api.example.com/v1").unwrap();
        let join = |path: &str, query: &str| base.join(path, query);
        assert_eq!(
            join("a/b", "?x=y").as_deref(),
            Some("https://api.example.com/v1/a/b?x=y")
        );
        for path in [
            "/x",
            "..",
            "a/../../b",
            "a/%2E%2e/b",
            "a\\b",
            "a?b",
            "a#b",
            "a b",
            "//evil.example",
        ] {
            assert_eq!(join(path, ""), None, "{path}");
        }
        assert_eq!(join("a", &format!("?q={}", "x".repeat(MAX_BYTES))), None);
    }

    #[test]
    fn an_origin_has_a_scheme_a_host_and_a_port() {
        let base = BaseUrl::parse("https://API.example.com/v1").unwrap();
        for same in [
            "https://api.example.com:443/other",
            "HTTPS://api.EXAMPLE.com",
        ] {
            assert!(base.is_same_origin(same), "{same}");
        }
        for other in [
            "http://api.example.com/",
            "https://api.example.com:8443/",
            "https://user@api.example.com/",
            "x:",
        ] {
            assert!(!base.is_same_origin(other), "{other}");
        }
    }

    #[test]
    fn references_are_resolved() {
        let check = |reference: &str, expected: Option<&str>| {
            assert_eq!(
                resolve("https://a.example/v1/x?y", reference).as_deref(),
                expected,
                "{reference}"
            );
        };
        check("z?page=2#part", Some("https://a.example/v1/z?page=2"));
        check("?page=2", Some("https://a.example/v1/x?page=2"));
        check("/other", Some("https://a.example/other"));
        check("//b.example/x", Some("https://b.example/x"));
        check("http://a.example/v1/x", None);
        check("https://user:hush@a.example/", None);
        check("file:///etc/passwd", None);
        check("a b", None);
    }
}
