//! URIs as locators: checked against RFC 3986 and then left exactly as they are.
//! Nothing here normalises, decodes or rewrites.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// The longest URI that is accepted from anyone.
const LONGEST: usize = 8 * 1024;

/// An absolute URI, byte for byte as somebody wrote it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uri(Arc<str>);

/// Why a text is not a URI.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadUri {
    /// More than is accepted.
    #[error("the URI is longer than {LONGEST} bytes")]
    TooLong,
    /// Not RFC 3986, or without a scheme.
    #[error(
        "`{0}` is not an absolute URI by RFC 3986 (it needs a scheme, and other characters percent-encoded)"
    )]
    Malformed(String),
}

impl BadUri {
    /// The same, said of this text, in which something may have been taken out.
    pub fn about(self, text: &str) -> Self {
        match self {
            Self::TooLong => self,
            Self::Malformed(_) => malformed(text),
        }
    }
}

/// Without what could move a cursor, and not all of a long one.
fn malformed(text: &str) -> BadUri {
    BadUri::Malformed(text.escape_debug().take(200).collect())
}

impl Uri {
    /// Reads an absolute URI.
    pub fn parse(text: &str) -> Result<Self, BadUri> {
        if text.len() > LONGEST {
            return Err(BadUri::TooLong);
        }
        match fluent_uri::Uri::parse(text) {
            Ok(_) => Ok(Self(text.into())),
            Err(_) => Err(malformed(text)),
        }
    }

    /// The URI as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The scheme, as it was written.
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
    fn a_uri_stays_as_it_was_written() {
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
    fn what_is_not_a_uri_is_refused() {
        for bad in ["", "/a", "a b:c", "file:///a b", "x://{y}", "file:///ä", "x:%zz", ":x", "x:\0"] {
            assert!(Uri::parse(bad).is_err(), "{bad:?}");
        }
        assert_eq!(Uri::parse(&format!("x:{}", "y".repeat(LONGEST))), Err(BadUri::TooLong));
    }

    #[test]
    fn the_scheme_is_the_text_before_the_colon() {
        assert_eq!(Uri::parse("file:///a:b").map(|u| u.scheme().to_owned()).as_deref(), Ok("file"));
    }
}
