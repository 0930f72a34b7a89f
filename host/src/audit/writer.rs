//! The one task that writes the audit log.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};

use super::OnFull;
use super::file::File;
use crate::drain::Drain;
use crate::metrics::Metrics;

/// Lines that are written at once.
const BATCH: usize = 256;
/// How long to wait until what could not be written is tried again.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) struct Writer {
    /// None while it is being written to, on a thread that may wait for a disk.
    pub(super) file: Option<File>,
    pub(super) waiting: mpsc::Receiver<Vec<u8>>,
    pub(super) on_full: OnFull,
    pub(super) metrics: Metrics,
    pub(super) dropping: Arc<AtomicBool>,
    pub(super) reopen: Arc<Notify>,
    pub(super) drain: Drain,
}

impl Writer {
    pub(super) async fn run(mut self) {
        let mut lines = Vec::with_capacity(BATCH);
        let (mut closing, mut failing) = (false, false);
        loop {
            let count = tokio::select! {
                count = self.waiting.recv_many(&mut lines, BATCH) => count,
                () = self.reopen.notified() => {
                    let followed = self.with_file(File::follow).await;
                    self.tell(&followed, &mut failing);
                    continue;
                }
                () = self.drain.stopping(), if !closing => {
                    // Who has room already may still write; nobody else will.
                    self.waiting.close();
                    closing = true;
                    continue;
                }
            };
            if count == 0 {
                return;
            }
            self.write(lines.concat(), count, &mut failing).await;
            lines.clear();
            if self.waiting.is_empty() && self.dropping.swap(false, Ordering::Relaxed) {
                let dropped = self.metrics.house().audit.dropped.get();
                tracing::warn!(dropped, "the audit log keeps up again; so many lines were left out in all");
            }
        }
    }

    /// Writes until all is written, or until it is given up.
    async fn write(&mut self, mut bytes: Vec<u8>, count: usize, failing: &mut bool) {
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
            self.metrics.house().audit.written.add(left - now);
            left = now;
            self.tell(&written, failing);
            if written.is_ok() {
                return;
            }
            if self.on_full == OnFull::Drop || self.drain.is_stopping() {
                self.metrics.house().audit.failed.add(left);
                return;
            }
            bytes = rest;
            tokio::select! {
                () = tokio::time::sleep(PAUSE) => {}
                () = self.drain.stopping() => {}
            }
        }
    }

    async fn with_file<T: Send + 'static>(&mut self, act: impl FnOnce(&mut File) -> T + Send + 'static) -> T {
        let Some(mut file) = self.file.take() else { unreachable!("it is put back below") };
        let done = self.drain.spawn_blocking(move || {
            let done = act(&mut file);
            (file, done)
        });
        match done.await {
            Ok((file, done)) => {
                self.file = Some(file);
                done
            }
            // What panicked there goes on here: the task ends, and the log says so.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Says it once when it begins, and once when it is over.
    fn tell(&self, done: &io::Result<()>, failing: &mut bool) {
        match done {
            Err(error) if !*failing => match self.on_full {
                OnFull::Wait => tracing::error!(%error, "the audit log cannot be written; reads wait for it"),
                OnFull::Drop => {
                    tracing::error!(%error, "the audit log cannot be written; its lines are lost")
                }
            },
            Ok(()) if *failing => tracing::warn!("the audit log can be written again"),
            _ => {}
        }
        *failing = done.is_err();
    }
}
