//! A chunk of a response that is encoded in steps.

use std::collections::VecDeque;

use bytes::{Buf as _, Bytes};

use crate::wire::escape::{escaped_len, escaped_twice_len, write_escaped};
use crate::wire::held_contents::{BodySlot, Encoding};
use crate::wire::output::Output;

/// Bytes that are encoded in one step. A multiple of three, so that base64 is padded only at the end of a chunk.
const STEP: usize = 3 << 10;
/// The longest result of a step.
pub(super) const MAX_STEP: usize = 8 * STEP;

/// Bytes, with their encoding.
#[derive(Debug, Clone)]
pub(crate) struct OutputChunk {
    pub(crate) raw: Bytes,
    pub(crate) encoding: Encoding,
}

impl OutputChunk {
    /// The number of bytes after the encoding.
    pub(super) fn encoded_len(&self) -> usize {
        match self.encoding {
            Encoding::Json => self.raw.len(),
            Encoding::Text => escaped_len(&self.raw),
            Encoding::TextInText => escaped_twice_len(&self.raw),
            Encoding::Base64 => self.raw.len().div_ceil(3) * 4,
        }
    }

    /// Encodes steps until the buffer has `len` bytes or the chunk ends.
    pub(crate) fn write(&mut self, out: &mut Output, len: usize) {
        while out.len() < len && !self.raw.is_empty() {
            let step = self.raw.len().min(STEP);
            self.encoding.write(out, &self.raw[..step]);
            self.raw.advance(step);
        }
    }
}

impl Encoding {
    fn write(self, out: &mut Output, raw: &[u8]) {
        match self {
            Self::Json => out.extend_from_slice(raw),
            Self::Text => write_escaped(out, raw),
            Self::TextInText => {
                let mut inner = Output::with_capacity(raw.len() + raw.len() / 8);
                write_escaped(&mut inner, raw);
                write_escaped(out, &inner);
            }
            Self::Base64 => base64_simd::STANDARD.encode_append(raw, &mut **out),
        }
    }
}

/// Returns the chunks of a response in order: JSON, and the contents at the places in it.
pub(crate) fn chunks(mut json: Bytes, places: Vec<BodySlot>) -> VecDeque<OutputChunk> {
    let mut chunks = VecDeque::with_capacity(2 * places.len() + 1);
    let mut done = 0;
    for BodySlot { at, raw, encoding } in places {
        chunks.push_back(OutputChunk {
            raw: json.split_to(at - done),
            encoding: Encoding::Json,
        });
        chunks.push_back(OutputChunk { raw, encoding });
        done = at;
    }
    chunks.push_back(OutputChunk {
        raw: json,
        encoding: Encoding::Json,
    });
    chunks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Encodes chunks in pieces of this size.
    fn encode(mut chunks: VecDeque<OutputChunk>, piece: usize) -> Vec<u8> {
        let len: usize = chunks.iter().map(OutputChunk::encoded_len).sum();
        let mut all = Vec::new();
        for chunk in &mut chunks {
            while !chunk.raw.is_empty() {
                let mut out = Output::default();
                chunk.write(&mut out, piece);
                assert!(out.len() < piece + MAX_STEP, "{} bytes", out.len());
                all.extend_from_slice(&out);
            }
        }
        assert_eq!(all.len(), len, "the length is known before");
        all
    }

    fn string(raw: &[u8], encoding: Encoding) -> VecDeque<OutputChunk> {
        chunks(
            Bytes::from_static(b"\"\""),
            vec![BodySlot {
                at: 1,
                raw: raw.to_vec().into(),
                encoding,
            }],
        )
    }

    fn check_text(text: &str, piece: usize) {
        let once = serde_json::to_string(text).unwrap();
        assert!(encode(string(text.as_bytes(), Encoding::Text), piece) == once.as_bytes());
        let twice = serde_json::to_string(&once).unwrap();
        let inner = format!("\"{}\"", &twice[3..twice.len() - 3]);
        assert!(encode(string(text.as_bytes(), Encoding::TextInText), piece) == inner.as_bytes());
    }

    #[test]
    fn texts_are_encoded_in_pieces_like_at_once() {
        let all: String = (0..=0x2fff).filter_map(char::from_u32).collect();
        for text in [
            "",
            "a",
            &all,
            &"\u{1}".repeat(3 * STEP),
            &"ü\"\\\n".repeat(2 * STEP),
        ] {
            for piece in [1, 4 << 10, 256 << 10] {
                check_text(text, piece);
            }
        }
    }

    #[test]
    fn data_is_encoded_in_pieces_like_at_once() {
        for len in [0, 1, 2, 3, STEP - 1, STEP, STEP + 1, 3 * STEP + 2] {
            let data: Vec<u8> = (0..len).map(|n| n as u8).collect();
            let expected = format!("\"{}\"", base64_simd::STANDARD.encode_to_string(&data));
            assert!(encode(string(&data, Encoding::Base64), 1_000) == expected.as_bytes());
        }
    }

    proptest! {
        #[test]
        fn any_text_is_encoded_like_at_once(text in r#"[a-zü"\\\n\x00-\x1f\x7f ]{0,300}"#, times in 1_usize..100) {
            check_text(&text.repeat(times), 2_000);
        }
    }
}
