//! The task that writes the audit log.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};

use super::log_file::LogFile;
use super::{OnFull, QueuedLine};
use larder_runtime::drain::Drain;
use larder_runtime::health::{Health, Impact};
use larder_runtime::metrics::Metrics;

/// Maximum number of lines in one write. Answers that wait for a line thus wait for at most two writes.
const BATCH: usize = 1_024;
/// Delay before a failed write is repeated.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// A write that takes longer may never return, for example a write to a dead mount, or to a pipe whose reader has
/// stopped.
const SLOW_WRITE: Duration = Duration::from_secs(5);
/// The name under which problems are reported to health.
pub(super) const HEALTH_KEY: &str = "audit";

pub(super) struct LogWriter {
    /// None during a write, which runs on a blocking thread.
    pub(super) file: Option<LogFile>,
    pub(super) queue: mpsc::Receiver<QueuedLine>,
    pub(super) on_full: OnFull,
    pub(super) metrics: Metrics,
    pub(super) health: Health,
    /// Whether a message has already been logged that the log cannot be written.
    pub(super) has_failed: bool,
    pub(super) is_dropping: Arc<AtomicBool>,
    pub(super) reopen: Arc<Notify>,
    pub(super) drain: Drain,
}

impl LogWriter {
    pub(super) async fn run(mut self) {
        let mut lines = Vec::with_capacity(BATCH);
        let mut closing = false;
        loop {
            let count = tokio::select! {
                count = self.queue.recv_many(&mut lines, BATCH) => count,
                () = self.reopen.notified() => {
                    let reopened = self.with_file(LogFile::reopen_if_moved).await;
                    self.report_result(&reopened);
                    continue;
                }
                () = self.drain.stopping(), if !closing => {
                    // Slots that are already reserved can still be used. New ones are rejected.
                    self.queue.close();
                    closing = true;
                    continue;
                }
            };
            if count == 0 {
                return;
            }
            let parts: Vec<&[u8]> = lines
                .iter()
                .map(|line: &QueuedLine| &line.bytes[..])
                .collect();
            let is_written = self.write(parts.concat(), count).await;
            if is_written {
                confirm_lines(&mut lines);
            }
            lines.clear();
            if self.queue.is_empty() && self.is_dropping.swap(false, Ordering::Relaxed) {
                let dropped = self.metrics.server().audit.dropped.get();
                tracing::warn!(dropped, "audit log lines are no longer dropped");
            }
        }
    }

    /// Writes until all bytes are written or the write is given up. Returns whether all bytes are written.
    async fn write(&mut self, mut bytes: Vec<u8>, count: usize) -> bool {
        let counts = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        let mut left = count as u64;
        loop {
            let written = self
                .with_file(move |file| {
                    let written = file.write(&mut bytes);
                    written.map_err(|error| (error, bytes))
                })
                .await;
            let (written, rest) = match written {
                Ok(()) => (Ok(()), vec![]),
                Err((error, rest)) => (Err(error), rest),
            };
            let now = counts(&rest);
            self.metrics.server().audit.written.inc_by(left - now);
            left = now;
            self.report_result(&written);
            if written.is_ok() {
                return true;
            }
            if self.on_full == OnFull::Drop || self.drain.is_stopping() {
                self.metrics.server().audit.failed.inc_by(left);
                return false;
            }
            bytes = rest;
            tokio::select! {
                () = tokio::time::sleep(RETRY_DELAY) => {}
                () = self.drain.stopping() => {}
            }
        }
    }

    async fn with_file<T: Send + 'static>(
        &mut self,
        operation: impl FnOnce(&mut LogFile) -> T + Send + 'static,
    ) -> T {
        let Some(mut file) = self.file.take() else {
            unreachable!("the file is put back below")
        };
        let mut work = self.drain.spawn_blocking(move || {
            let result = operation(&mut file);
            (file, result)
        });
        let done = match tokio::time::timeout(SLOW_WRITE, &mut work).await {
            Ok(done) => done,
            Err(_) => {
                self.report_failure(&format!("a write takes longer than {SLOW_WRITE:?}"));
                work.await
            }
        };
        match done {
            Ok((file, done)) => {
                self.file = Some(file);
                done
            }
            // Propagates a panic of the blocking thread: this task ends, and the server's log says so.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    fn report_result(&mut self, result: &io::Result<()>) {
        match result {
            Err(error) => self.report_failure(&error.to_string()),
            Ok(()) => self.resolve_failure(),
        }
    }

    /// Logs a failure once, and reports it to health until it is resolved. With [`OnFull::Wait`], no read is answered
    /// in the meantime.
    fn report_failure(&mut self, why: &str) {
        let (consequence, impact) = match self.on_full {
            OnFull::Wait => ("reads wait", Impact::AllTeams),
            OnFull::Drop => ("its lines are lost", Impact::OperatorOnly),
        };
        if !std::mem::replace(&mut self.has_failed, true) {
            tracing::error!(why, consequence, "cannot write the audit log");
        }
        self.health.report(
            HEALTH_KEY,
            format!("cannot write the audit log; {consequence}: {why}"),
            impact,
        );
    }

    fn resolve_failure(&mut self) {
        if std::mem::take(&mut self.has_failed) {
            tracing::warn!("audit log can be written again");
            self.health.resolve(HEALTH_KEY);
        }
    }
}

/// Notifies the answers that wait for these lines.
fn confirm_lines(lines: &mut Vec<QueuedLine>) {
    for line in lines.drain(..) {
        // This fails only when no operation waits any more.
        if let Some(written) = line.written {
            _ = written.send(());
        }
    }
}
