//! The fuzz target for cursors. It exists only in tests and with the feature `fuzzing`.

use base64_simd::URL_SAFE_NO_PAD as BASE64;

use super::{Cursor, ListKind, MAX_LEN};

/// Decodes a cursor from a client. The input is the cursor. If the input begins with a line break, the cursor is the
/// encoded form of the rest.
pub fn cursor(data: &[u8]) {
    let text = match data {
        [b'\n', json @ ..] => BASE64.encode_to_string(json),
        text => String::from_utf8_lossy(text).into_owned(),
    };
    let entries = Cursor::decode(&text, ListKind::Entries);
    let templates = Cursor::decode(&text, ListKind::Templates);
    assert!(
        entries.is_none() || templates.is_none(),
        "{text} is a cursor of two kinds of lists"
    );
    for cursor in entries.into_iter().chain(templates) {
        assert!(text.len() <= MAX_LEN);
        let again = Cursor::decode(&cursor.encode(), cursor.list);
        assert_eq!(
            again.as_ref(),
            Some(&cursor),
            "{text} cannot be encoded again"
        );
    }
}

#[cfg(test)]
#[path = "../../../../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replays_the_corpus_of_cursor() {
        replay::replay("cursor", cursor);
    }
}
