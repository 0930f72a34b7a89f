//! Limits and measures how long one call waits before it runs. A call may wait for a permit of its provider, for a
//! permit of its team, and for a slot of the server. One timeout covers all waits, and the sum of the waits is recorded
//! as one number.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use larder_runtime::deadline::with_deadline;
use larder_runtime::metrics::ProviderMetrics;

/// The queueing time of one call. It is recorded when this value is dropped, also if the call was not admitted.
#[derive(Debug)]
pub(crate) struct QueueTimer {
    metrics: Arc<ProviderMetrics>,
    /// When the call first had to wait; empty until then.
    started: OnceLock<Instant>,
    timeout: Duration,
}

impl QueueTimer {
    /// Creates a timer that starts when the call first has to wait.
    pub(crate) fn new(metrics: Arc<ProviderMetrics>, timeout: Duration) -> Self {
        Self {
            metrics,
            started: OnceLock::new(),
            timeout,
        }
    }

    /// Returns the remaining time, for a wait that enforces the timeout itself. Starts the timer.
    pub(crate) fn remaining(&self) -> Duration {
        self.timeout
            .saturating_sub(self.started.get_or_init(Instant::now).elapsed())
    }

    /// Awaits a future within the remaining time. Returns none on timeout. A future that is ready at once
    /// always succeeds.
    pub(crate) async fn wait<T>(&self, what: impl Future<Output = T>) -> Option<T> {
        with_deadline(
            || *self.started.get_or_init(Instant::now) + self.timeout,
            what,
        )
        .await
    }

    fn waited(&self) -> Duration {
        self.started.get().map_or(Duration::ZERO, Instant::elapsed)
    }
}

impl Drop for QueueTimer {
    fn drop(&mut self) {
        self.metrics.waits.observe(self.waited());
    }
}
