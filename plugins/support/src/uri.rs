//! Converts between paths (lists of names) and URIs. Each name is one URI segment, so that an encoded slash
//! never becomes a separator.

use std::borrow::Cow;

use larder_provider::{Error, Result};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// All characters except those that RFC 3986 allows unencoded in a segment.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// Encodes a name as a URI segment.
pub fn segment(name: &str) -> Cow<'_, str> {
    utf8_percent_encode(name, ENCODED).into()
}

/// Decodes a value of a query. `None` if the value is not UTF-8.
pub fn decode(value: &str) -> Option<String> {
    percent_decode_str(value)
        .decode_utf8()
        .ok()
        .map(Cow::into_owned)
}

/// Decodes the names in a path of a URI. Rejects names that lead out of its folder.
pub fn names(below: &str) -> Result<Vec<String>> {
    let below = below.strip_suffix('/').unwrap_or(below);
    if below.is_empty() {
        return Ok(Vec::new());
    }
    below.split('/').map(name).collect()
}

fn name(segment: &str) -> Result<String> {
    let name = percent_decode_str(segment)
        .decode_utf8()
        .map_err(|_| Error::NotFound)?;
    match name.as_ref() {
        "" => Err(Error::NotFound),
        "." | ".." => Err(Error::Invalid(format!("`{name}` is not allowed in a path"))),
        name if name.contains(['/', '\0']) => Err(Error::Invalid(
            "a name must not contain an encoded slash or NUL".to_owned(),
        )),
        name => Ok(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_and_decodes_names() {
        let check = |name: &str, expected: &str| {
            assert_eq!(segment(name), expected);
            assert_eq!(names(expected), Ok(vec![name.to_owned()]));
        };
        check("plain-1.0_a~.md", "plain-1.0_a~.md");
        check("a b", "a%20b");
        check("what?#.md", "what%3F%23.md");
        check("größe", "gr%C3%B6%C3%9Fe");
        check("[id]{x}|^.tsx", "%5Bid%5D%7Bx%7D%7C%5E.tsx");
        check("100%", "100%25");
        check("a&b=c,d;e+f@g:h!$'()*", "a&b=c,d;e+f@g:h!$'()*");
    }

    #[test]
    fn rejects_paths_that_leave_the_folder() {
        let check = |below: &str, expected: Result<&[&str], &str>| {
            let actual = names(below).map_err(|error| error.to_string());
            match expected {
                Ok(names) => assert_eq!(
                    actual,
                    Ok(names.iter().map(|name| name.to_string()).collect())
                ),
                Err(part) => {
                    assert!(
                        actual.as_ref().is_err_and(|error| error.contains(part)),
                        "{below:?}: {actual:?}"
                    )
                }
            }
        };
        check("", Ok(&[]));
        check("a/b/", Ok(&["a", "b"]));
        check("a/../b", Err("invalid"));
        check("%2e%2E/b", Err("invalid"));
        check("./a", Err("invalid"));
        check("a%2f..%2fb", Err("invalid"));
        check("a%00", Err("invalid"));
        check("a//b", Err("not found"));
        check("/etc", Err("not found"));
        check("%ff", Err("not found"));
        // Names are decoded only once.
        check("%252e%252e", Ok(&["%2e%2e"]));
    }
}
