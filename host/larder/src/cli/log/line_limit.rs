//! Limits the bytes per second that the process writes to its log. Warnings and errors of the host have a reserve, so
//! that the lines about providers cannot suppress them. Suppressed lines are counted and reported.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::time::sleep;
use tracing::{Level, Metadata};

use larder_model::policy::TokenBucket;
use larder_runtime::drain::Drain;
use larder_runtime::log_limit::SUMMARY_INTERVAL;

/// The limit of the process. Clones share the same limit.
#[derive(Clone)]
pub(in crate::cli) struct LineLimit(Arc<State>);

struct State {
    general: TokenBucket,
    reserve: TokenBucket,
    suppressed_lines: AtomicU64,
    suppressed_bytes: AtomicU64,
}

impl State {
    fn count_suppressed(&self, bytes: u64) {
        self.suppressed_lines.fetch_add(1, Relaxed);
        self.suppressed_bytes.fetch_add(bytes, Relaxed);
    }
}

impl LineLimit {
    /// Creates the limit. A quarter of the limit is the reserve.
    pub(super) fn new(bytes_per_second: u64) -> Self {
        let reserve = bytes_per_second / 4;
        Self(Arc::new(State {
            general: TokenBucket::new(bytes_per_second - reserve),
            reserve: TokenBucket::new(reserve),
            suppressed_lines: AtomicU64::new(0),
            suppressed_bytes: AtomicU64::new(0),
        }))
    }

    /// Takes the bytes of a line in its written form. Returns false if the line must not be written.
    pub(super) fn admits(&self, may_use_reserve: bool, bytes: usize) -> bool {
        let state = &self.0;
        let bytes = bytes as u64;
        let admits = state.general.take(bytes).is_ok()
            || (may_use_reserve && state.reserve.take(bytes).is_ok());
        if !admits {
            state.count_suppressed(bytes);
        }
        admits
    }

    /// Starts a task that reports suppressed lines, once per interval and at the end.
    pub(in crate::cli) fn start_reports(self, drain: &Drain) {
        let stop = drain.clone();
        drain.spawn(async move {
            while stop
                .run_until_stopping(sleep(SUMMARY_INTERVAL))
                .await
                .is_some()
            {
                self.report();
            }
            self.report();
        });
    }

    fn report(&self) {
        let lines = self.0.suppressed_lines.swap(0, Relaxed);
        let bytes = self.0.suppressed_bytes.swap(0, Relaxed);
        if lines > 0 {
            tracing::warn!(
                lines,
                bytes,
                "log lines suppressed, because they exceed `server.log.bytes_per_second`"
            );
        }
    }
}

/// Whether a line is a warning or an error of the host. Lines about a provider contain its name, and the provider may
/// be their cause.
pub(super) fn may_use_reserve(line: &Metadata<'_>) -> bool {
    *line.level() <= Level::WARN && line.fields().field("provider").is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_about_providers_cannot_use_the_reserve() {
        let limit = LineLimit::new(4_000);
        let admitted = |may_use_reserve| {
            (0..1_000)
                .filter(|_| limit.admits(may_use_reserve, 100))
                .count()
        };
        // The last line may exceed the remaining bytes.
        assert!((30..40).contains(&admitted(false)));
        assert!((10..15).contains(&admitted(true)));
        assert!(limit.0.suppressed_lines.load(Relaxed) > 1_900);
    }
}
