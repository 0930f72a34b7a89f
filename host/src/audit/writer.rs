//! The one task that writes the audit log.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};

use super::file::File;
use super::{OnFull, Waiting};
use crate::drain::Drain;
use crate::health::{Concerns, Health};
use crate::metrics::Metrics;

/// Lines that are written at once.
const BATCH: usize = 256;
/// How long to wait until what could not be written is tried again.
const PAUSE: Duration = Duration::from_secs(1);
/// A write that takes longer may never come back: a dead mount, or a pipe that nobody reads.
const SLOW: Duration = Duration::from_secs(5);
/// Under what its troubles are told.
const PART: &str = "audit";

pub(super) struct Writer {
    /// None while it is being written to, on a thread that may wait for a disk.
    pub(super) file: Option<File>,
    pub(super) waiting: mpsc::Receiver<Waiting>,
    pub(super) on_full: OnFull,
    pub(super) metrics: Metrics,
    pub(super) health: Health,
    /// Whether it was said already that it cannot be written.
    pub(super) is_wrong: bool,
    pub(super) dropping: Arc<AtomicBool>,
    pub(super) reopen: Arc<Notify>,
    pub(super) drain: Drain,
}

impl Writer {
    pub(super) async fn run(mut self) {
        let mut lines = Vec::with_capacity(BATCH);
        let mut closing = false;
        loop {
            let count = tokio::select! {
                count = self.waiting.recv_many(&mut lines, BATCH) => count,
                () = self.reopen.notified() => {
                    let followed = self.with_file(File::follow).await;
                    self.tell(&followed);
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
            let mut bytes = Vec::new();
            lines.drain(..).for_each(|line: Waiting| bytes.extend_from_slice(&line.bytes));
            self.write(bytes, count).await;
            if self.waiting.is_empty() && self.dropping.swap(false, Ordering::Relaxed) {
                let dropped = self.metrics.house().audit.dropped.get();
                tracing::warn!(dropped, "the audit log keeps up again; so many lines were left out in all");
            }
        }
    }

    /// Writes until all is written, or until it is given up.
    async fn write(&mut self, mut bytes: Vec<u8>, count: usize) {
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
            self.tell(&written);
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
        let mut work = self.drain.spawn_blocking(move || {
            let done = act(&mut file);
            (file, done)
        });
        let done = match tokio::time::timeout(SLOW, &mut work).await {
            Ok(done) => done,
            Err(_) => {
                self.wrong(&format!("a write takes longer than {SLOW:?}"));
                work.await
            }
        };
        match done {
            Ok((file, done)) => {
                self.file = Some(file);
                done
            }
            // What panicked there goes on here: the task ends, and the log says so.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    fn tell(&mut self, done: &io::Result<()>) {
        match done {
            Err(error) => self.wrong(&error.to_string()),
            Ok(()) => self.right(),
        }
    }

    /// Said once in the log, and told until it is right. Where reads wait for the log, nobody is answered any more once
    /// as many lines wait as there is room for.
    fn wrong(&mut self, why: &str) {
        let (then, concerns) = match self.on_full {
            OnFull::Wait => ("reads wait for it", Concerns::Everybody),
            OnFull::Drop => ("its lines are lost", Concerns::Operator),
        };
        if !std::mem::replace(&mut self.is_wrong, true) {
            tracing::error!(why, "the audit log cannot be written; {then}");
        }
        self.health.wrong(PART, format!("the audit log cannot be written, and {then}: {why}"), concerns);
    }

    fn right(&mut self) {
        if std::mem::take(&mut self.is_wrong) {
            tracing::warn!("the audit log can be written again");
            self.health.right(PART);
        }
    }
}
