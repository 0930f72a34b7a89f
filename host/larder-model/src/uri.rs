//! Resource URIs. They are validated by RFC 3986 and never normalised, decoded or rewritten.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// The longest URI that is accepted.
const MAX_URI_BYTES: usize = 8 * 1024;

/// An absolute URI, with exactly the text that the provider or the client wrote.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uri(Arc<str>);

/// Error of parsing a URI.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadUri {
    /// Longer than the limit.
    #[error("the URI is longer than {}", crate::size::show(MAX_URI_BYTES as u64))]
    TooLong,
    /// The text is not a URI by RFC 3986, or has no scheme.
    #[error(
        "`{0}` is not an absolute URI by RFC 3986 (it needs a scheme, and other characters percent-encoded)"
    )]
    Malformed(String),
}

impl BadUri {
    /// Returns the same error for a text in which secrets are redacted.
    pub fn with_text(self, text: &str) -> Self {
        match self {
            Self::TooLong => self,
            Self::Malformed(_) => malformed(text),
        }
    }
}

/// Escapes control characters and truncates long texts.
fn malformed(text: &str) -> BadUri {
    BadUri::Malformed(text.escape_debug().take(200).collect())
}

impl Uri {
    /// Parses an absolute URI.
    pub fn parse(text: &str) -> Result<Self, BadUri> {
        if text.len() > MAX_URI_BYTES {
            return Err(BadUri::TooLong);
        }
        match fluent_uri::Uri::parse(text) {
            Ok(_) => Ok(Self(text.into())),
            Err(_) => Err(malformed(text)),
        }
    }

    /// Returns the text of the URI without any change.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the URI has a fragment.
    pub fn has_fragment(&self) -> bool {
        self.0.contains('#')
    }

    /// Whether clients that parse URIs by the rules of browsers also accept the URI. The rules of browsers are stricter
    /// in some points: for example, they limit ports, and restrict the hosts of web addresses. The text of the URI is
    /// not changed.
    pub fn is_portable(&self) -> bool {
        url::Url::parse(&self.0).is_ok()
    }

    /// Returns the text of the scheme without any change.
    pub fn scheme(&self) -> &str {
        self.0.split_once(':').map_or("", |(scheme, _)| scheme)
    }
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for Uri {
    fn borrow(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_a_uri_as_it_was_written() {
        for good in [
            "file:///a/../b",
            "memo:insights",
            "HTTP://Host:80/%7euser",
            "test://x?a=b#c",
            "urn:isbn:0451450523",
        ] {
            assert_eq!(Uri::parse(good).map(|u| u.to_string()).as_deref(), Ok(good));
        }
    }

    #[test]
    fn rejects_invalid_uris() {
        for bad in [
            "",
            "/a",
            "a b:c",
            "file:///a b",
            "x://{y}",
            "file:///ä",
            "x:%zz",
            ":x",
            "x:\0",
        ] {
            assert!(Uri::parse(bad).is_err(), "{bad:?}");
        }
        assert_eq!(
            Uri::parse(&format!("x:{}", "y".repeat(MAX_URI_BYTES))),
            Err(BadUri::TooLong)
        );
    }

    #[test]
    fn knows_which_uris_all_clients_accept() {
        let is_portable = |text: &str| Uri::parse(text).map(|uri| uri.is_portable());
        for good in [
            "memo:insights",
            "file:///a/../b",
            "urn:isbn:0451450523",
            "x://h:0/%20",
            "x://user@h/",
            "x:",
        ] {
            assert_eq!(is_portable(good), Ok(true), "{good}");
        }
        for bad in [
            "x://h:99999/",
            "http://exa%20mple/x",
            "http://",
            "x://u@/p",
            "x://:80/",
            "http://256.1.1.1/",
        ] {
            assert_eq!(is_portable(bad), Ok(false), "{bad}");
        }
        assert!(Uri::parse("x:y#").is_ok_and(|uri| uri.has_fragment()));
        assert!(Uri::parse("x:y%23").is_ok_and(|uri| !uri.has_fragment()));
    }

    #[test]
    fn returns_the_scheme() {
        assert_eq!(
            Uri::parse("file:///a:b")
                .map(|u| u.scheme().to_owned())
                .as_deref(),
            Ok("file")
        );
    }
}
