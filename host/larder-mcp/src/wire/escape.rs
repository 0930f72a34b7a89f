//! Writes JSON strings. Most documents have a quote or a line end every few words, so an escape must be cheap: sixteen
//! bytes are compared at once, which finds all special characters in them. The usual code starts a new search after
//! each special character.

use wide::u8x16;

use super::output::Output;
use larder_runtime::low_priority_threads;

/// Bytes that are compared at once.
const LANES: usize = 16;
/// Bytes that are copied at once if none of them needs an escape.
const WINDOW: usize = 4 * LANES;
/// Bytes of the longest escape.
const MAX_ESCAPE: usize = 6;
/// After this many bytes, threads of higher priority can run, if this thread has a lower priority.
pub(super) const PAUSE_INTERVAL: usize = 256 << 10;
/// Buffer capacity for one window: all bytes escaped, plus a block that is copied ahead.
pub(crate) const WINDOW_CAPACITY: usize = WINDOW * MAX_ESCAPE + LANES;

/// Appends a quoted and escaped string to a buffer.
pub(super) fn write_text(out: &mut Output, text: &str) {
    out.push(b'"');
    write_escaped(out, text.as_bytes());
    out.push(b'"');
}

/// Appends a part of an escaped string. It may begin and end within a character.
pub(crate) fn write_escaped(out: &mut Output, text: &[u8]) {
    for piece in windows(out, text).chunks(LANES) {
        let mut block = [b' '; LANES];
        block[..piece.len()].copy_from_slice(piece);
        if specials(&block) == 0 {
            out.extend_from_slice(piece);
            continue;
        }
        for byte in piece {
            match &ESCAPES[usize::from(*byte)] {
                (0, _) => out.push(*byte),
                (length, escape) => out.extend_from_slice(&escape[..usize::from(*length)]),
            }
        }
    }
}

/// Writes all complete windows and returns the rest of the text. The last window is not written, because a block after
/// each written window must be readable.
fn windows<'t>(out: &mut Output, text: &'t [u8]) -> &'t [u8] {
    let mut rest = text;
    let mut end = out.len();
    while let Some(ahead) = rest.first_chunk::<{ WINDOW + LANES }>() {
        let done = text.len() - rest.len();
        if done > 0 && done.is_multiple_of(PAUSE_INTERVAL) {
            low_priority_threads::pause();
        }
        if out.len() < end + WINDOW_CAPACITY {
            // The capacity is reserved for a few escapes; if there are more, this branch runs again.
            let expected = end + rest.len() + rest.len() / 8 + WINDOW_CAPACITY;
            if !out.extend_to(expected, || end + escaped_len(rest) + WINDOW_CAPACITY) {
                rest = &[];
                break;
            }
        }
        let Some(target) = out
            .get_mut(end..)
            .and_then(|free| free.first_chunk_mut::<WINDOW_CAPACITY>())
        else {
            break;
        };
        end += write_window(target, ahead);
        rest = &rest[WINDOW..];
    }
    out.truncate(end);
    rest
}

/// Returns the length of a text with escapes.
pub(crate) fn escaped_len(text: &[u8]) -> usize {
    len_with(text, |byte| {
        usize::from(ESCAPES[usize::from(byte)].0.max(1))
    })
}

/// Returns the length of an escaped text after it was escaped a second time.
pub(crate) fn escaped_twice_len(text: &[u8]) -> usize {
    len_with(text, |byte| match &ESCAPES[usize::from(byte)] {
        (0, _) => 1,
        (length, escape) => {
            let escape = &escape[..usize::from(*length)];
            escape
                .iter()
                .map(|byte| usize::from(ESCAPES[usize::from(*byte)].0.max(1)))
                .sum()
        }
    })
}

/// Adds up the lengths of the bytes of a text. A byte that needs no escape has length one.
fn len_with(text: &[u8], len: impl Fn(u8) -> usize) -> usize {
    let of_bytes = |bytes: &[u8]| bytes.iter().map(|byte| len(*byte)).sum::<usize>();
    let of_piece = |piece: &[u8]| {
        low_priority_threads::pause();
        let (blocks, rest) = piece.as_chunks::<LANES>();
        let of_blocks = blocks.iter().map(|block| {
            if specials(block) == 0 {
                LANES
            } else {
                of_bytes(block)
            }
        });
        of_blocks.sum::<usize>() + of_bytes(rest)
    };
    text.chunks(PAUSE_INTERVAL).map(of_piece).sum()
}

/// Writes the first window of `ahead` and returns how many bytes were written.
fn write_window(target: &mut [u8; WINDOW_CAPACITY], ahead: &[u8; WINDOW + LANES]) -> usize {
    let blocks = [0, 1, 2, 3].map(|block| block * LANES);
    let found = blocks.map(|from| ahead[from..].first_chunk().map_or(0, specials));
    if found == [0; 4] {
        target[..WINDOW].copy_from_slice(&ahead[..WINDOW]);
        return WINDOW;
    }
    let mut end = 0;
    for (from, mut specials) in blocks.into_iter().zip(found) {
        // Copies a whole block with its special characters, which the escapes then overwrite.
        let mut done = from;
        target[end..end + LANES].copy_from_slice(&ahead[done..done + LANES]);
        while specials != 0 {
            let at = from + specials.trailing_zeros() as usize % LANES;
            end += at - done;
            let (length, escape) = &ESCAPES[usize::from(ahead[at])];
            target[end..end + MAX_ESCAPE].copy_from_slice(escape);
            end += usize::from(*length);
            done = at + 1;
            target[end..end + LANES].copy_from_slice(&ahead[done..done + LANES]);
            specials &= specials - 1;
        }
        end += from + LANES - done;
    }
    end
}

/// Returns a bit mask of the bytes that need an escape.
fn specials(block: &[u8; LANES]) -> u32 {
    let block = u8x16::new(*block);
    let control = (block & u8x16::splat(!0x1f)).simd_eq(u8x16::splat(0));
    let quote = block.simd_eq(u8x16::splat(b'"'));
    let backslash = block.simd_eq(u8x16::splat(b'\\'));
    (control | quote | backslash).to_bitmask()
}

/// The escape of each byte and its length; length 0 for bytes that need no escape.
const ESCAPES: [(u8, [u8; MAX_ESCAPE]); 256] = {
    let mut all = [(0, [0; MAX_ESCAPE]); 256];
    let digits = b"0123456789abcdef";
    let mut byte = 0;
    while byte < 0x20 {
        all[byte] = (
            6,
            [
                b'\\',
                b'u',
                b'0',
                b'0',
                digits[byte >> 4],
                digits[byte & 0xf],
            ],
        );
        byte += 1;
    }
    let short = [b"\"\"", b"\\\\", b"\x08b", b"\x0cf", b"\nn", b"\rr", b"\tt"];
    let mut n = 0;
    while n < short.len() {
        all[short[n][0] as usize] = (2, [b'\\', short[n][1], 0, 0, 0, 0]);
        n += 1;
    }
    all
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str) {
        let mut out = Output::default();
        out.extend_from_slice(b"before");
        write_text(&mut out, text);
        let expected = format!("before{}", serde_json::to_string(text).unwrap());
        assert_eq!(std::str::from_utf8(&out).unwrap(), expected);
    }

    #[test]
    fn escapes_every_character_like_serde_json() {
        let all: String = (0..=0x2fff).filter_map(char::from_u32).collect();
        check(&all);
    }

    #[test]
    fn escapes_special_characters_at_every_position() {
        for special in [
            '"',
            '\\',
            '\n',
            '\u{1}',
            '\u{1f}',
            '\u{7f}',
            'ü',
            '\u{10ffff}',
        ] {
            for before in 0..=2 * WINDOW {
                for after in [0, 1, LANES, WINDOW + LANES] {
                    check(&format!(
                        "{}{special}{}",
                        "a".repeat(before),
                        "b".repeat(after)
                    ));
                    check(&format!(
                        "{}{special}{special}{}",
                        "a".repeat(before),
                        "\"".repeat(after)
                    ));
                }
            }
        }
    }

    #[test]
    fn escapes_texts_of_only_special_characters() {
        for length in [1, WINDOW, WINDOW + LANES, 10_000] {
            check(&"\u{1}".repeat(length));
            check(&("a".repeat(length) + &"\"".repeat(length)));
        }
    }

    proptest! {
        #[test]
        fn escapes_any_text_like_serde_json(text in r#"[a-zü"\\\n\x00-\x1f\x7f ]{0,300}"#) {
            check(&text);
        }
    }
}
