//! The log output of guests. Log calls, stdout and stderr become log lines of the provider, up to a limit per
//! call. The end of stderr is kept to explain a trap. The text of a guest is logged as data and never used as
//! a format string.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use super::guest_config::GuestConfig;
use larder_model::policy::Secrets;

/// The `tracing` target of all lines of providers, so that an operator can filter them.
const LOG_TARGET: &str = "larder::provider";
/// Number of bytes of stderr that are kept to explain a trap.
const TAIL: usize = 4 * 1024;
/// What a line counts in addition to its text: even an empty line has a timestamp, a name and a target.
const LINE_COST: usize = 64;
/// Maximum length of a line in bytes. A longer line is logged in several parts.
const MAX_LINE: usize = 4 * 1024;

/// The level of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogLevel {
    Debug,
    Info,
    Warn,
    Error,
}

/// The log of one guest. Clones share the same log.
#[derive(Clone)]
pub(super) struct Log(Arc<Mutex<LogState>>);

struct LogState {
    /// Names the provider, and has the secrets that must not be logged.
    config: Arc<GuestConfig>,
    /// Length of the longest secret in bytes.
    longest_secret: usize,
    /// Bytes that may still be logged during this call.
    bytes_left: usize,
    /// Whether the limit was reached during this call.
    is_exhausted: bool,
    tail: Vec<u8>,
}

impl Log {
    pub(super) fn new(config: Arc<GuestConfig>, budget: u32) -> Self {
        let (longest_secret, bytes_left) = (config.grant.secrets.longest_len(), budget as usize);
        let state = LogState { config, longest_secret, bytes_left, is_exhausted: false, tail: Vec::new() };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Resets the limit and the kept end of stderr for another call.
    pub(super) fn begin_call(&self, budget: u32) {
        let mut state = self.lock();
        (state.bytes_left, state.is_exhausted) = (budget as usize, false);
        state.tail.clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, LogState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn line(&self, level: LogLevel, text: &str) {
        self.lock().line(level, text);
    }

    /// The end of what was written to stderr, without secrets.
    pub(super) fn tail(&self) -> String {
        let state = self.lock();
        let begin = state.secrets().safe_cut(&state.tail, state.tail.len().saturating_sub(TAIL));
        let tail = String::from_utf8_lossy(&state.tail[begin..]);
        state.secrets().redact(tail.trim()).into_owned()
    }
}

impl LogState {
    fn secrets(&self) -> &Secrets {
        &self.config.grant.secrets
    }

    fn line(&mut self, level: LogLevel, text: &str) {
        if self.is_exhausted {
            return;
        }
        let (provider, team) = (self.config.provider.as_str(), self.config.team.non_default());
        let cost = text.len() + LINE_COST;
        if cost > self.bytes_left {
            self.is_exhausted = true;
            tracing::warn!(
                target: LOG_TARGET,
                team,
                provider,
                "log limit reached: the rest of this call is not logged (`limits.log`)"
            );
            return;
        }
        self.bytes_left -= cost;
        let text = self.secrets().redact(text);
        // Debug formatting escapes control characters, which could move a terminal's cursor or forge a log
        // line.
        match level {
            LogLevel::Debug => {
                tracing::debug!(target: LOG_TARGET, team, provider, text = ?text, "provider log")
            }
            LogLevel::Info => {
                tracing::info!(target: LOG_TARGET, team, provider, text = ?text, "provider log")
            }
            LogLevel::Warn => {
                tracing::warn!(target: LOG_TARGET, team, provider, text = ?text, "provider log")
            }
            LogLevel::Error => {
                tracing::error!(target: LOG_TARGET, team, provider, text = ?text, "provider log")
            }
        }
    }

    /// Appends to the kept end of stderr. It is longer than [`TAIL`] by the length of a secret, so that a
    /// secret at its beginning is complete and can be redacted.
    fn keep_tail(&mut self, bytes: &[u8]) {
        let max_length = TAIL + self.longest_secret;
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(max_length)..]);
        let surplus = self.tail.len().saturating_sub(max_length);
        self.tail.drain(..surplus);
    }

    /// Logs complete lines, and the beginning of an incomplete line that is too long.
    fn write(&mut self, level: LogLevel, line: &mut Vec<u8>, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n').flat_map(|piece| piece.chunks(MAX_LINE)) {
            line.extend_from_slice(piece);
            if line.ends_with(b"\n") {
                self.line(level, String::from_utf8_lossy(line).trim_end());
                line.clear();
            }
            let max_length = MAX_LINE.max(self.longest_secret);
            while line.len() >= max_length + self.longest_secret {
                // The cut is at 0 if overlapping secrets cover the whole line; then all of it is logged
                // (redacted).
                let cut = Some(self.secrets().safe_cut(line, max_length))
                    .filter(|cut| *cut > 0)
                    .unwrap_or(line.len());
                self.line(level, &String::from_utf8_lossy(&line[..cut]));
                line.drain(..cut);
            }
        }
    }
}

/// stdout or stderr of a guest. What is written to it becomes log lines.
#[derive(Clone)]
pub(super) struct LogStream {
    log: Log,
    level: LogLevel,
    line: Arc<Mutex<Vec<u8>>>,
}

impl LogStream {
    pub(super) fn new(log: &Log, level: LogLevel) -> Self {
        Self { log: log.clone(), level, line: Arc::default() }
    }

    fn write_bytes(&self, bytes: &[u8]) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.log.lock();
        if self.level == LogLevel::Warn {
            state.keep_tail(bytes);
        }
        state.write(self.level, &mut line, bytes);
    }
}

impl Drop for LogStream {
    fn drop(&mut self) {
        // The stream is cloned for each handle. The last clone logs a line without a line break at its end.
        if Arc::strong_count(&self.line) == 1 {
            let line = std::mem::take(&mut *self.line.lock().unwrap_or_else(PoisonError::into_inner));
            if !line.is_empty() {
                self.log.line(self.level, String::from_utf8_lossy(&line).trim_end());
            }
        }
    }
}

impl IsTerminal for LogStream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for LogStream {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        // Only WASI 0.3 and WASI 0.1 use this method, and the sandbox links neither of them.
        Box::new(tokio::io::sink())
    }
}

#[async_trait::async_trait]
impl Pollable for LogStream {
    async fn ready(&mut self) {}
}

impl OutputStream for LogStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.write_bytes(&bytes);
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
    fn the_tail_is_the_end_of_stderr() {
        let log = Log::new(GuestConfig::without_grants(), 1 << 20);
        LogStream::new(&log, LogLevel::Info).write_bytes(b"stdout\n");
        let stderr = LogStream::new(&log, LogLevel::Warn);
        stderr.write_bytes(&vec![b'x'; 3 * TAIL]);
        stderr.write_bytes(b"\npanicked at lib.rs\n");
        let tail = log.tail();
        assert!(tail.ends_with("\npanicked at lib.rs") && tail.len() <= TAIL, "{} bytes", tail.len());
        assert!(!tail.contains("stdout"));
    }

    #[test]
    fn stops_logging_at_the_limit() {
        for line in [b"0123456789\n".as_slice(), b"\n"] {
            let log = Log::new(GuestConfig::without_grants(), 1_000);
            let stdout = LogStream::new(&log, LogLevel::Info);
            (0..1_000).for_each(|_| stdout.write_bytes(line));
            let state = log.lock();
            assert!(state.is_exhausted && state.bytes_left < 100, "{} bytes left", state.bytes_left);
        }
    }
}
