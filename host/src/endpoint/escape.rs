//! Texts as strings of JSON. Most documents have a quote or the end of a line every few words, so what an escape costs counts as much as
//! what stands between: one look at sixteen bytes finds all of theirs, where the usual one begins anew behind each.

use wide::u8x16;

/// Bytes that are looked at together.
const LANES: usize = 16;
/// Bytes that are taken as they are if there is nothing in them.
const WINDOW: usize = 4 * LANES;
/// The longest escape.
const LONGEST: usize = 6;
/// Room that is made ready for a window: for the worst, and for what is written there in advance.
pub(super) const ROOM: usize = WINDOW * LONGEST + LANES;

/// Text in quotes, at the end of a buffer.
pub(super) fn write_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    for piece in windows(out, text.as_bytes()).chunks(LANES) {
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
    out.push(b'"');
}

/// Writes window by window, and gives what is left: in the last one nothing could be read in advance.
fn windows<'t>(out: &mut Vec<u8>, text: &'t [u8]) -> &'t [u8] {
    let (mut rest, mut end) = (text, out.len());
    while let Some(ahead) = rest.first_chunk::<{ WINDOW + LANES }>() {
        if out.len() < end + ROOM {
            // With a few escapes; that there are more is seen when there is no more room.
            out.resize(end + rest.len() + rest.len() / 8 + ROOM, 0);
        }
        let Some(room) = out.get_mut(end..).and_then(|room| room.first_chunk_mut::<ROOM>()) else { break };
        end += window(room, ahead);
        rest = &rest[WINDOW..];
    }
    out.truncate(end);
    rest
}

/// Writes the first window of what is ahead, and says how long it has become.
fn window(room: &mut [u8; ROOM], ahead: &[u8; WINDOW + LANES]) -> usize {
    let blocks = [0, 1, 2, 3].map(|block| block * LANES);
    let found = blocks.map(|from| ahead[from..].first_chunk().map_or(0, specials));
    if found == [0; 4] {
        room[..WINDOW].copy_from_slice(&ahead[..WINDOW]);
        return WINDOW;
    }
    let mut end = 0;
    for (from, mut specials) in blocks.into_iter().zip(found) {
        // As much as fits is written in advance, with what has to be escaped; that is written over.
        let mut done = from;
        room[end..end + LANES].copy_from_slice(&ahead[done..done + LANES]);
        while specials != 0 {
            let at = from + specials.trailing_zeros() as usize % LANES;
            end += at - done;
            let (length, escape) = &ESCAPES[usize::from(ahead[at])];
            room[end..end + LONGEST].copy_from_slice(escape);
            end += usize::from(*length);
            done = at + 1;
            room[end..end + LANES].copy_from_slice(&ahead[done..done + LANES]);
            specials &= specials - 1;
        }
        end += from + LANES - done;
    }
    end
}

/// Those that have to be escaped, a bit for each.
fn specials(block: &[u8; LANES]) -> u32 {
    let block = u8x16::new(*block);
    let control = (block & u8x16::splat(!0x1f)).simd_eq(u8x16::splat(0));
    let quote = block.simd_eq(u8x16::splat(b'"'));
    let backslash = block.simd_eq(u8x16::splat(b'\\'));
    (control | quote | backslash).to_bitmask()
}

/// What stands for each byte, and how long that is; nothing for what stands for itself.
const ESCAPES: [(u8, [u8; LONGEST]); 256] = {
    let mut all = [(0, [0; LONGEST]); 256];
    let digits = b"0123456789abcdef";
    let mut byte = 0;
    while byte < 0x20 {
        all[byte] = (6, [b'\\', b'u', b'0', b'0', digits[byte >> 4], digits[byte & 0xf]]);
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
        let mut out = b"before".to_vec();
        write_text(&mut out, text);
        let expected = format!("before{}", serde_json::to_string(text).unwrap());
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn every_character_is_written_as_others_write_it() {
        let all: String = (0..=0x2fff).filter_map(char::from_u32).collect();
        check(&all);
    }

    #[test]
    fn so_is_one_that_is_special_wherever_it_stands() {
        for special in ['"', '\\', '\n', '\u{1}', '\u{1f}', '\u{7f}', 'ü', '\u{10ffff}'] {
            for before in 0..=2 * WINDOW {
                for after in [0, 1, LANES, WINDOW + LANES] {
                    check(&format!("{}{special}{}", "a".repeat(before), "b".repeat(after)));
                    check(&format!("{}{special}{special}{}", "a".repeat(before), "\"".repeat(after)));
                }
            }
        }
    }

    #[test]
    fn a_text_may_become_as_long_as_it_can() {
        for length in [1, WINDOW, WINDOW + LANES, 10_000] {
            check(&"\u{1}".repeat(length));
            check(&("a".repeat(length) + &"\"".repeat(length)));
        }
    }

    proptest! {
        #[test]
        fn no_text_is_written_otherwise(text in r#"[a-zü"\\\n\x00-\x1f\x7f ]{0,300}"#) {
            check(&text);
        }
    }
}
