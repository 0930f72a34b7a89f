//! Makes text from providers safe for terminals and logs. Control characters, bidi overrides and invisible
//! characters become JSON escapes, so that a line of JSON stays valid.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Sanitizes text for one line: line breaks and tabs become spaces.
pub(super) fn line(text: &str) -> Cow<'_, str> {
    sanitize(text, |c| {
        matches!(c, '\n' | '\r' | '\t' | '\u{85}' | '\u{2028}' | '\u{2029}').then_some(' ')
    })
}

/// Sanitizes text of several lines: line feeds and tabs stay. Carriage returns are escaped, because they
/// would hide the text before them.
pub(super) fn lines(text: &str) -> Cow<'_, str> {
    sanitize(text, |c| matches!(c, '\n' | '\t').then_some(c))
}

fn sanitize(text: &str, replacement: impl Fn(char) -> Option<char>) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match replacement(c) {
            // The following line feed is kept.
            _ if c == '\r' && rest.peek() == Some(&'\n') => {}
            _ if !is_unsafe(c) => out.push(c),
            Some(other) => out.push(other),
            None => escape(c, &mut out),
        }
    }
    Cow::Owned(out)
}

fn escape(c: char, out: &mut String) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        _ = write!(out, "\\u{unit:04x}");
    }
}

fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' // soft hyphen, letter mark, vowel separator
            | '\u{200b}'..='\u{200f}' // zero width, marks of direction
            | '\u{2028}'..='\u{202e}' // separators, embeddings, overrides
            | '\u{2060}'..='\u{206f}' // joiners, invisible operators, isolates
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}') // tags
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, one: &str, many: &str) {
        assert_eq!((line(text).as_ref(), lines(text).as_ref()), (one, many));
    }

    #[test]
    fn keeps_visible_text() {
        check(
            "plain äöü 漢字 🦀",
            "plain äöü 漢字 🦀",
            "plain äöü 漢字 🦀",
        );
        assert!(matches!(line("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn escapes_control_and_invisible_characters() {
        check(
            "a\x1b[31mred\x07",
            "a\\u001b[31mred\\u0007",
            "a\\u001b[31mred\\u0007",
        );
        check(
            "a\u{202e}b\u{200b}c\u{feff}",
            "a\\u202eb\\u200bc\\ufeff",
            "a\\u202eb\\u200bc\\ufeff",
        );
        check(
            "\u{9b}2J\u{e0041}",
            "\\u009b2J\\udb40\\udc41",
            "\\u009b2J\\udb40\\udc41",
        );
        check("a\r\nb\tc\rd", "a b c d", "a\nb\tc\\u000dd");
    }

    #[test]
    fn keeps_json_valid() {
        let value = serde_json::json!({ "message": "a\u{202e}b\u{9b}\u{e0041}\"\\ \n" });
        let cleaned = line(&value.to_string()).into_owned();
        assert!(!cleaned.contains('\u{202e}'));
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&cleaned).unwrap(),
            value
        );
    }
}
