//! Percent-encoding of values in URLs.

use larder_provider::{Error, Result};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// All characters except the unreserved characters of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Encodes a value so that it has no special meaning in a URL.
pub fn encode_value(value: &str) -> String {
    utf8_percent_encode(value, ENCODED).to_string()
}

/// Decodes percent-encoding; `None` if the result is not UTF-8.
pub fn decode(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(Into::into)
}

/// Encodes the pairs of a query, with a `?` before them. Empty if there are no pairs.
pub fn query<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = String::new();
    for (name, value) in pairs {
        text.push(if text.is_empty() { '?' } else { '&' });
        text.push_str(&encode_value(name));
        text.push('=');
        text.push_str(&encode_value(value));
    }
    text
}

/// Whether no part of a path is `.` or `..`. This also considers servers that decode the path or handle a backslash
/// like a slash.
pub fn is_safe(path: &str) -> bool {
    let decoded = percent_decode_str(path).decode_utf8_lossy();
    let is_plain = |text: &str| {
        text.split(['/', '\\'])
            .all(|name| !matches!(name, "." | ".."))
            && !text.contains(char::is_control)
    };
    is_plain(path) && is_plain(&decoded)
}

/// Encodes a value as one segment of a path. A slash in the value is encoded.
pub(crate) fn segment(name: &str, value: &str) -> Result<String> {
    if value.is_empty() {
        return Err(Error::Invalid(format!("`{name}` is empty")));
    }
    if !is_safe(value) {
        return Err(Error::Invalid(format!(
            "`{name}` must not contain `.` or `..` as a part of a path, or controls"
        )));
    }
    Ok(encode_value(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_one_segment() {
        let check = |value: &str, expected: &str| {
            assert_eq!(segment("id", value), Ok(expected.to_owned()), "{value:?}");
        };
        check("a b", "a%20b");
        check("group/project", "group%2Fproject");
        check("a?b#c&d=e;f@g:h", "a%3Fb%23c%26d%3De%3Bf%40g%3Ah");
        check("100%", "100%25");
        check("ü…", "%C3%BC%E2%80%A6");
        check("...", "...");
        for value in [
            "",
            ".",
            "..",
            "../x",
            "x/..",
            "a\\..\\b",
            "%2e%2e",
            "x/%2E%2e/y",
            "a\nb",
            "a%00b",
        ] {
            assert!(segment("id", value).is_err(), "{value:?}");
        }
    }

    #[test]
    fn a_query_has_encoded_pairs() {
        assert_eq!(query([("a b", "c&d"), ("e", "")]), "?a%20b=c%26d&e=");
        assert_eq!(query([]), "");
    }
}
