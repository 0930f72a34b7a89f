//! Reads lines of bounded length. A longer line is skipped and reported.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// One line of the input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Complete(Vec<u8>),
    TooLong,
    End,
}

/// A line reader with a length limit.
pub(super) struct Lines<R> {
    input: R,
    max_len: usize,
    buffer: Vec<u8>,
    is_skipping: bool,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(super) fn new(input: R, max_len: usize) -> Self {
        Self {
            input,
            max_len,
            buffer: vec![],
            is_skipping: false,
        }
    }

    /// Reads the next line, without the line feed. Cancel-safe.
    pub(super) async fn next(&mut self) -> io::Result<Line> {
        loop {
            let chunk = self.input.fill_buf().await?;
            let (read, ended) = match chunk.iter().position(|byte| *byte == b'\n') {
                Some(end) => (end + 1, true),
                None => (chunk.len(), chunk.is_empty()),
            };
            if chunk.is_empty() && self.buffer.is_empty() && !self.is_skipping {
                return Ok(Line::End);
            }
            let text = &chunk[..read - usize::from(ended && read > 0)];
            if !self.is_skipping && self.buffer.len() + text.len() <= self.max_len {
                self.buffer.extend_from_slice(text);
            } else {
                self.is_skipping = true;
                self.buffer = vec![];
            }
            self.input.consume(read);
            if ended {
                let line = std::mem::take(&mut self.buffer);
                return Ok(if std::mem::take(&mut self.is_skipping) {
                    Line::TooLong
                } else {
                    Line::Complete(line)
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(input: &str, expected: &[&str]) {
        for piece in [1, 3, 64] {
            let mut lines = Lines::new(
                tokio::io::BufReader::with_capacity(piece, input.as_bytes()),
                4,
            );
            let mut seen = vec![];
            loop {
                match lines.next().await.unwrap() {
                    Line::Complete(line) => seen.push(String::from_utf8(line).unwrap()),
                    Line::TooLong => seen.push("too long".into()),
                    Line::End => break,
                }
            }
            assert_eq!(seen, expected, "{input:?} in pieces of {piece}");
        }
    }

    #[tokio::test]
    async fn skips_only_the_long_line() {
        check("", &[]).await;
        check("a\n\nbcde\n", &["a", "", "bcde"]).await;
        check("abcde\nf\n", &["too long", "f"]).await;
        check("a\nthe last has no end", &["a", "too long"]).await;
        check("a\nlast", &["a", "last"]).await;
    }
}
