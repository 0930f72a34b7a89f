//! Names and keys in URIs. The host refuses values in a path that could lead a provider out of a folder, such as one
//! with an encoded slash, so such values are written in the query.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All characters except the unreserved characters of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// Maximum bytes of a name or key. Two encoded names or keys fit into a URI that the host accepts.
const MAX_BYTES: usize = 1_200;

/// Encodes a name or a key as a value in the query of a URI.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// Encodes a name or a key as a segment of a path; `None` if it can only be written in the query.
pub fn segment(text: &str) -> Option<String> {
    let is_drive = matches!(text.as_bytes(), [letter, b':'] if letter.is_ascii_alphabetic());
    let is_refused = matches!(text, "" | "." | "..") || is_drive || text.contains(['/', '\\']);
    (!is_refused).then(|| encoded(text))
}

/// Whether there is a URI for this key at all.
pub fn is_addressable(key: &str) -> bool {
    key.len() <= MAX_BYTES && !key.contains('\0')
}

/// Whether a value may be suggested for a variable in a path, or else in the query.
pub fn is_suggested(value: &str, is_in_path: bool) -> bool {
    is_addressable(value) && (!is_in_path || segment(value).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_host_refuses_in_a_path_is_no_segment() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(segment(text).as_deref(), expected, "{text:?}")
        };
        check("a b?", Some("a%20b%3F"));
        check("a..b", Some("a..b"));
        check("ab:", Some("ab%3A"));
        for refused in ["", ".", "..", "a/b", "a\\b", "/", "c:"] {
            check(refused, None);
        }
        assert_eq!(encoded("a/b&c"), "a%2Fb%26c");
        assert!(
            is_addressable("a/b") && !is_addressable("a\0b") && !is_addressable(&"x".repeat(1_201))
        );
        assert!(
            is_suggested("a/b", false) && !is_suggested("a/b", true) && is_suggested("ab", true)
        );
    }
}
