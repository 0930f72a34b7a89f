//! The log output of guests. Log calls, stdout and stderr become log lines of the provider, up to a limit per call and
//! per second. The end of stderr is kept to explain a trap. The message of a panic in Rust or Go is one log entry: a
//! part of the entry about the trap, or an entry of its own if the guest continues. The text of a guest is logged as
//! data and never used as a format string.

mod level;

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

pub(crate) use self::level::LogLevel;
use crate::guest_config::GuestConfig;
use larder_model::policy::Secrets;

/// The `tracing` target of all lines of providers, so that an operator can filter them.
const LOG_TARGET: &str = "larder::provider";
/// Number of bytes of stderr that are kept to explain a trap.
const TAIL: usize = 4 * 1024;
/// The bytes that count for a line in addition to its text: an empty line also has a timestamp, a name and a target.
const LINE_COST: usize = 128;
/// Maximum length of a line in bytes. A longer line is logged in several parts.
const MAX_LINE: usize = 4 * 1024;

/// The bytes that count for an escaped line. In JSON, quotes and backslashes are escaped a second time.
fn cost(escaped: &str) -> usize {
    let twice_escaped = escaped
        .bytes()
        .filter(|byte| matches!(byte, b'"' | b'\\'))
        .count();
    escaped.len() + twice_escaped + LINE_COST
}

/// The log of one guest. Clones share the same log.
#[derive(Clone)]
pub(crate) struct Log(Arc<Mutex<LogState>>);

struct LogState {
    /// The name of the provider, and the secrets that must not be logged.
    config: Arc<GuestConfig>,
    /// Length of the longest secret in bytes.
    longest_secret: usize,
    /// Bytes that may still be logged during this call.
    bytes_left: usize,
    /// Whether the limit was reached during this call.
    is_exhausted: bool,
    /// Lines of this call that were not logged because of a limit.
    suppressed: u64,
    tail: Vec<u8>,
    /// The part of stderr since the beginning of a panic message, up to a limit.
    panic: Option<Vec<u8>>,
}

impl Log {
    pub(super) fn new(config: Arc<GuestConfig>, budget: u32) -> Self {
        let longest_secret = config.grant.secrets.longest_len();
        let bytes_left = budget as usize;
        let state = LogState {
            config,
            longest_secret,
            bytes_left,
            is_exhausted: false,
            suppressed: 0,
            tail: Vec::new(),
            panic: None,
        };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Resets the limit and the kept end of stderr for another call.
    pub(super) fn begin_call(&self, budget: u32) {
        let mut state = self.lock();
        state.log_panic();
        state.log_suppressed();
        state.bytes_left = budget as usize;
        state.is_exhausted = false;
        state.tail.clear();
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, LogState> {
        self.0.lock()
    }

    pub(crate) fn line(&self, level: LogLevel, text: &str) {
        let mut state = self.lock();
        state.log_panic();
        state.line(level, text);
    }

    /// Like [`Self::tail`], for the log entry of a fault. A panic message in it is not logged again.
    pub(crate) fn tail_for_fault(&self) -> String {
        let mut state = self.lock();
        let is_in_tail = state
            .panic
            .as_ref()
            .is_some_and(|panic| state.tail.ends_with(panic));
        if is_in_tail {
            state.panic = None;
        }
        drop(state);
        self.tail()
    }

    /// The end of stderr, without secrets.
    fn tail(&self) -> String {
        let state = self.lock();
        let begin = state
            .secrets()
            .safe_cut(&state.tail, state.tail.len().saturating_sub(TAIL));
        let tail = String::from_utf8_lossy(&state.tail[begin..]);
        state.secrets().redact(tail.trim()).into_owned()
    }
}

impl LogState {
    fn secrets(&self) -> &Secrets {
        &self.config.grant.secrets
    }

    fn line(&mut self, level: LogLevel, text: &str) {
        let is_enabled = level.is_enabled();
        match self.escape(text) {
            Some((escaped, cost)) if is_enabled && self.config.log.admits(cost) => {
                self.config
                    .metrics
                    .history
                    .record_line(level.label(), &self.secrets().redact(text));
                self.write_line(level, &escaped);
            }
            _ => self.suppressed += u64::from(is_enabled),
        }
    }

    /// Returns a line as it is logged, and its cost, which is subtracted from the remaining bytes of this call. If too
    /// few bytes remain, returns none, and no further lines of this call are logged.
    fn escape(&mut self, text: &str) -> Option<(String, usize)> {
        self.is_exhausted |= text.len() > self.bytes_left;
        if self.is_exhausted {
            return None;
        }
        // Debug formatting escapes control characters, which could move a terminal's cursor or forge a log line.
        let escaped = format!("{:?}", self.secrets().redact(text));
        let cost = cost(&escaped);
        self.is_exhausted = cost > self.bytes_left;
        if self.is_exhausted {
            return None;
        }
        self.bytes_left -= cost;
        Some((escaped, cost))
    }

    fn write_line(&self, level: LogLevel, text: &str) {
        let provider = self.config.provider.as_str();
        let team = self.config.team.non_default();
        match level {
            LogLevel::Debug => {
                tracing::debug!(target: LOG_TARGET, team, provider, %text, "provider log")
            }
            LogLevel::Info => {
                tracing::info!(target: LOG_TARGET, team, provider, %text, "provider log")
            }
            LogLevel::Warn => {
                tracing::warn!(target: LOG_TARGET, team, provider, %text, "provider log")
            }
            LogLevel::Error => {
                tracing::error!(target: LOG_TARGET, team, provider, %text, "provider log")
            }
        }
    }

    /// Logs how many lines have been suppressed since the last call.
    fn log_suppressed(&mut self) {
        const MESSAGE: &str =
            "log lines suppressed, because they exceed `limits.log` or the share of the team";
        let lines = std::mem::take(&mut self.suppressed);
        if lines > 0 && self.config.log.is_first_of(lines, MESSAGE) {
            let provider = self.config.provider.as_str();
            let team = self.config.team.non_default();
            tracing::warn!(target: LOG_TARGET, team, provider, lines, "{MESSAGE}");
        }
    }

    /// Appends to the stored end of stderr. The stored end is longer than [`TAIL`] by the length of a secret, so that a
    /// secret at the beginning of the tail is complete and can be redacted.
    fn keep_tail(&mut self, bytes: &[u8]) {
        let max_length = TAIL + self.longest_secret;
        self.tail
            .extend_from_slice(&bytes[bytes.len().saturating_sub(max_length)..]);
        let surplus = self.tail.len().saturating_sub(max_length);
        self.tail.drain(..surplus);
    }

    /// Logs the beginning of a panic message as one entry.
    fn log_panic(&mut self) {
        if let Some(panic) = self.panic.take() {
            let cut = self.secrets().safe_cut(&panic, MAX_LINE);
            self.line(
                LogLevel::Error,
                String::from_utf8_lossy(&panic[..cut]).trim_end(),
            );
        }
    }

    /// Adds a part of stderr to the panic message that is being written. Returns false if no panic message is being
    /// written.
    fn add_to_panic(&mut self, piece: &[u8]) -> bool {
        let max_length = MAX_LINE + self.longest_secret;
        let Some(panic) = &mut self.panic else {
            return false;
        };
        panic.extend_from_slice(&piece[..piece.len().min(max_length.saturating_sub(panic.len()))]);
        true
    }

    fn complete_line(&mut self, level: LogLevel, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end();
        if level == LogLevel::Warn && is_panic(text) {
            self.panic = Some(line.to_vec());
        // The standard panic hook writes an empty line first.
        } else if level != LogLevel::Warn || !text.is_empty() {
            self.line(level, text);
        }
    }

    /// Logs complete lines, and the beginning of an incomplete line that is too long.
    fn write(&mut self, level: LogLevel, line: &mut Vec<u8>, bytes: &[u8]) {
        if level != LogLevel::Warn {
            self.log_panic();
        }
        for piece in bytes
            .split_inclusive(|byte| *byte == b'\n')
            .flat_map(|piece| piece.chunks(MAX_LINE))
        {
            if level == LogLevel::Warn && self.add_to_panic(piece) {
                continue;
            }
            line.extend_from_slice(piece);
            if line.ends_with(b"\n") {
                self.complete_line(level, line);
                line.clear();
            }
            let max_length = MAX_LINE.max(self.longest_secret);
            while line.len() >= max_length + self.longest_secret {
                let cut = self.cut(line, max_length);
                self.line(level, &String::from_utf8_lossy(&line[..cut]));
                line.drain(..cut);
            }
        }
    }

    /// Where a long line is cut. If overlapping secrets cover the whole line, the whole line is logged (redacted).
    fn cut(&self, line: &[u8], max_length: usize) -> usize {
        match self.secrets().safe_cut(line, max_length) {
            0 => line.len(),
            cut => cut,
        }
    }
}

impl Drop for LogState {
    fn drop(&mut self) {
        self.log_panic();
        self.log_suppressed();
    }
}

/// Whether a line is the first line of a panic message: of Rust, as the SDK or the standard hook writes it, or of Go,
/// where the stacks of all goroutines follow.
fn is_panic(line: &str) -> bool {
    ["panicked at ", "panic: ", "fatal error: "]
        .iter()
        .any(|beginning| line.starts_with(beginning))
        || (line.starts_with("thread '") && line.contains(" panicked at "))
}

/// stdout or stderr of a guest. The bytes that are written to it become log lines.
#[derive(Clone)]
pub(super) struct LogStream {
    log: Log,
    level: LogLevel,
    line: Arc<Mutex<Vec<u8>>>,
}

impl LogStream {
    pub(super) fn new(log: &Log, level: LogLevel) -> Self {
        Self {
            log: log.clone(),
            level,
            line: Arc::default(),
        }
    }

    fn write_bytes(&self, bytes: &[u8]) {
        let mut line = self.line.lock();
        let mut state = self.log.lock();
        if self.level == LogLevel::Warn {
            state.keep_tail(bytes);
        }
        state.write(self.level, &mut line, bytes);
    }

    fn log_last_line(&self) {
        let line = std::mem::take(&mut *self.line.lock());
        if !line.is_empty() {
            self.log
                .line(self.level, String::from_utf8_lossy(&line).trim_end());
        }
    }
}

impl Drop for LogStream {
    fn drop(&mut self) {
        // The stream is cloned for each handle. If the last line has no line break, the last clone logs it.
        if Arc::strong_count(&self.line) == 1 {
            self.log_last_line();
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
        assert!(
            tail.ends_with("\npanicked at lib.rs") && tail.len() <= TAIL,
            "{} bytes",
            tail.len()
        );
        assert!(!tail.contains("stdout"));
    }

    #[test]
    fn a_panic_message_is_one_entry() {
        let standard =
            "\nthread '<unnamed>' (1) panicked at src/lib.rs:5:9:\none\n\ntwo\nnote: run with\n";
        for (message, logged) in [
            (standard, standard.trim()),
            (
                "panicked at src/lib.rs:5:9:\none\ntwo\n",
                "panicked at src/lib.rs:5:9:\none\ntwo",
            ),
            (
                "fatal error: all goroutines are asleep\n\ngoroutine 1 [chan receive]:\n",
                "fatal error: all goroutines are asleep\n\ngoroutine 1 [chan receive]:",
            ),
        ] {
            let log = Log::new(GuestConfig::without_grants(), 1_000);
            let stderr = LogStream::new(&log, LogLevel::Warn);
            // A hook may write its message in several parts.
            message
                .as_bytes()
                .chunks(7)
                .for_each(|part| stderr.write_bytes(part));
            assert_eq!(log.lock().bytes_left, 1_000, "{message}");
            log.line(LogLevel::Info, "");
            let costs = cost(&format!("{logged:?}")) + cost("\"\"");
            assert_eq!(log.lock().bytes_left, 1_000 - costs, "{message}");
            message
                .as_bytes()
                .chunks(7)
                .for_each(|part| stderr.write_bytes(part));
            assert!(log.tail_for_fault().ends_with(logged), "{message}");
            assert_eq!(
                log.lock().panic,
                None,
                "the entry of the fault has the message"
            );
        }
    }

    #[test]
    fn a_long_panic_message_is_cut() {
        let log = Log::new(GuestConfig::without_grants(), 1 << 20);
        let stderr = LogStream::new(&log, LogLevel::Warn);
        stderr.write_bytes(b"panicked at src/lib.rs:5:9:\n");
        (0..100).for_each(|_| stderr.write_bytes(&[b'x'; 1_000]));
        assert_eq!(log.tail_for_fault().len(), TAIL);
        assert_eq!(log.lock().panic.as_ref().map(Vec::len), Some(MAX_LINE));
        log.begin_call(10_000);
        assert!(log.lock().panic.is_none());
    }

    #[test]
    fn the_limit_counts_escaped_text() {
        for text in [
            "\u{1}".repeat(100),
            "\u{200b}".repeat(100),
            "\"\\".repeat(100),
        ] {
            let in_text = format!("text={text:?}");
            let in_json = serde_json::json!({ "text": format!("{text:?}") }).to_string();
            let logged = in_text.len().max(in_json.len());
            let counted = cost(&format!("{text:?}"));
            assert!(
                (logged..logged + 2 * LINE_COST).contains(&counted),
                "{logged} {counted}"
            );
        }
    }

    #[test]
    fn stops_logging_at_the_limit() {
        for line in [b"0123456789\n".as_slice(), b"\n"] {
            let log = Log::new(GuestConfig::without_grants(), 1_000);
            let stdout = LogStream::new(&log, LogLevel::Info);
            (0..1_000).for_each(|_| stdout.write_bytes(line));
            let state = log.lock();
            assert!(
                state.is_exhausted && state.bytes_left < 200,
                "{} bytes left",
                state.bytes_left
            );
        }
    }
}
