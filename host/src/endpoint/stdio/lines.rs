//! Lines of bounded length: a longer one is skipped, and told.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Whole(Vec<u8>),
    TooLong,
    End,
}

/// Reads lines.
pub(super) struct Lines<R> {
    input: R,
    most: usize,
    held: Vec<u8>,
    skipping: bool,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(super) fn new(input: R, most: usize) -> Self {
        Self { input, most, held: vec![], skipping: false }
    }

    /// The next line, without its end. Dropping this future loses nothing.
    pub(super) async fn next(&mut self) -> io::Result<Line> {
        loop {
            let chunk = self.input.fill_buf().await?;
            let (read, ended) = match chunk.iter().position(|byte| *byte == b'\n') {
                Some(end) => (end + 1, true),
                None => (chunk.len(), chunk.is_empty()),
            };
            if chunk.is_empty() && self.held.is_empty() && !self.skipping {
                return Ok(Line::End);
            }
            let text = &chunk[..read - usize::from(ended && read > 0)];
            if !self.skipping && self.held.len() + text.len() <= self.most {
                self.held.extend_from_slice(text);
            } else {
                self.skipping = true;
                self.held = vec![];
            }
            self.input.consume(read);
            if ended {
                let line = std::mem::take(&mut self.held);
                return Ok(if std::mem::take(&mut self.skipping) {
                    Line::TooLong
                } else {
                    Line::Whole(line)
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
            let mut lines = Lines::new(tokio::io::BufReader::with_capacity(piece, input.as_bytes()), 4);
            let mut seen = vec![];
            loop {
                match lines.next().await.unwrap() {
                    Line::Whole(line) => seen.push(String::from_utf8(line).unwrap()),
                    Line::TooLong => seen.push("too long".into()),
                    Line::End => break,
                }
            }
            assert_eq!(seen, expected, "{input:?} in pieces of {piece}");
        }
    }

    #[tokio::test]
    async fn a_long_line_costs_only_itself() {
        check("", &[]).await;
        check("a\n\nbcde\n", &["a", "", "bcde"]).await;
        check("abcde\nf\n", &["too long", "f"]).await;
        check("a\nthe last has no end", &["a", "too long"]).await;
        check("a\nlast", &["a", "last"]).await;
    }
}
