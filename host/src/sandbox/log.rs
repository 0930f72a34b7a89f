//! What a guest says: log calls, stdout and stderr become bounded log lines of its provider,
//! and the tail of stderr is kept to explain a trap. Its text is data, never a format.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use super::state::Terms;
use crate::policy::Secrets;

/// Bytes of stderr that are kept for the error of a trap.
const TAIL: usize = 4 * 1024;
/// What a line costs beside its text: it has a time, a name and a place, even where it is empty.
const LINE_COST: usize = 64;
/// A line longer than this is told in pieces.
const LINE: usize = 4 * 1024;

/// How loud a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// The log of one call. Clones are the same log.
#[derive(Clone)]
pub(super) struct Log(Arc<Mutex<Pages>>);

struct Pages {
    /// Whose log it is, and what it must not say.
    terms: Arc<Terms>,
    /// Bytes of the longest of them.
    longest: usize,
    left: usize,
    silenced: bool,
    tail: Vec<u8>,
}

impl Log {
    pub(super) fn new(terms: Arc<Terms>, budget: u32) -> Self {
        let (longest, left) = (terms.grant.secrets.longest(), budget as usize);
        let pages = Pages { terms, longest, left, silenced: false, tail: Vec::new() };
        Self(Arc::new(Mutex::new(pages)))
    }

    /// Another call begins, with as much to say.
    pub(super) fn begin(&self, budget: u32) {
        let mut pages = self.pages();
        (pages.left, pages.silenced) = (budget as usize, false);
        pages.tail.clear();
    }

    fn pages(&self) -> std::sync::MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn line(&self, level: Level, text: &str) {
        self.pages().line(level, text);
    }

    /// The last that was written to stderr.
    pub(super) fn tail(&self) -> String {
        let pages = self.pages();
        let begin = pages.secrets().cut(&pages.tail, pages.tail.len().saturating_sub(TAIL));
        let tail = String::from_utf8_lossy(&pages.tail[begin..]);
        pages.secrets().redact(tail.trim()).into_owned()
    }
}

impl Pages {
    fn secrets(&self) -> &Secrets {
        &self.terms.grant.secrets
    }

    fn line(&mut self, level: Level, text: &str) {
        if self.silenced {
            return;
        }
        let (provider, team) = (self.terms.provider.as_str(), self.terms.team.named());
        let cost = text.len() + LINE_COST;
        if cost > self.left {
            self.silenced = true;
            tracing::warn!(
                team,
                provider,
                "it says more than its log limit allows; the rest of this call is left out"
            );
            return;
        }
        self.left -= cost;
        let text = self.secrets().redact(text);
        // Debug formatting escapes what could move a cursor or forge a line.
        match level {
            Level::Debug => tracing::debug!(team, provider, says = ?text),
            Level::Info => tracing::info!(team, provider, says = ?text),
            Level::Warn => tracing::warn!(team, provider, says = ?text),
            Level::Error => tracing::error!(team, provider, says = ?text),
        }
    }

    /// With as much more as a secret is long: where one stands at its beginning, it is known by all of it.
    fn keep_tail(&mut self, bytes: &[u8]) {
        let most = TAIL + self.longest;
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(most)..]);
        let surplus = self.tail.len().saturating_sub(most);
        self.tail.drain(..surplus);
    }

    /// Tells what is whole of what came, and as much of an unended line as is too long to wait for its end.
    fn take(&mut self, level: Level, line: &mut Vec<u8>, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n').flat_map(|piece| piece.chunks(LINE)) {
            line.extend_from_slice(piece);
            if line.ends_with(b"\n") {
                self.line(level, String::from_utf8_lossy(line).trim_end());
                line.clear();
            }
            let most = LINE.max(self.longest);
            while line.len() >= most + self.longest {
                // Where one begins in another all the way, it is told as it is.
                let cut = Some(self.secrets().cut(line, most)).filter(|cut| *cut > 0).unwrap_or(line.len());
                self.line(level, &String::from_utf8_lossy(&line[..cut]));
                line.drain(..cut);
            }
        }
    }
}

/// One of a guest's two output streams, as lines of its log.
#[derive(Clone)]
pub(super) struct Stream {
    log: Log,
    level: Level,
    line: Arc<Mutex<Vec<u8>>>,
}

impl Stream {
    pub(super) fn new(log: &Log, level: Level) -> Self {
        Self { log: log.clone(), level, line: Arc::default() }
    }

    fn take(&self, bytes: &[u8]) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pages = self.log.pages();
        if self.level == Level::Warn {
            pages.keep_tail(bytes);
        }
        pages.take(self.level, &mut line, bytes);
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // The stream is cloned for each handle; the last one tells the line that was not ended.
        if Arc::strong_count(&self.line) == 1 {
            let line = std::mem::take(&mut *self.line.lock().unwrap_or_else(PoisonError::into_inner));
            if !line.is_empty() {
                self.log.line(self.level, String::from_utf8_lossy(&line).trim_end());
            }
        }
    }
}

impl IsTerminal for Stream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Stream {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        // Only WASI 0.3 and WASI 0.1 ask for this form, and the sandbox links neither.
        Box::new(tokio::io::sink())
    }
}

#[async_trait::async_trait]
impl Pollable for Stream {
    async fn ready(&mut self) {}
}

impl OutputStream for Stream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.take(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 * 1024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_end_of_stderr_only() {
        let log = Log::new(Terms::plain(), 1 << 20);
        Stream::new(&log, Level::Info).take(b"stdout\n");
        let stderr = Stream::new(&log, Level::Warn);
        stderr.take(&vec![b'x'; 3 * TAIL]);
        stderr.take(b"\npanicked at lib.rs\n");
        let tail = log.tail();
        assert!(tail.ends_with("\npanicked at lib.rs") && tail.len() <= TAIL, "{} bytes", tail.len());
        assert!(!tail.contains("stdout"));
    }

    #[test]
    fn a_flood_is_silenced_at_the_budget() {
        for line in [b"0123456789\n".as_slice(), b"\n"] {
            let log = Log::new(Terms::plain(), 1_000);
            let stdout = Stream::new(&log, Level::Info);
            (0..1_000).for_each(|_| stdout.take(line));
            let pages = log.pages();
            assert!(pages.silenced && pages.left < 100, "{} left", pages.left);
        }
    }
}
