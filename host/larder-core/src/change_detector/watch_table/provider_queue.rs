//! The checks of one provider: the batch size, and the pauses between batches.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use larder_model::uri::Uri;

/// Limit of URIs in one batch.
pub(super) const BATCH_SIZE: usize = 256;
/// After this many failed batches in a row, the other checks wait for a retry.
const MAX_FAILED_BATCHES: u32 = 8;
/// After its batches, a provider is paused for this multiple of the time that the batches took.
const PAUSE_FACTOR: u32 = 3;
/// The longest pause of a failing provider.
pub(super) const MAX_PAUSE: Duration = Duration::from_secs(5 * 60);

#[derive(Debug, Default)]
pub(super) struct ProviderQueue {
    pub(super) due: HashSet<Uri>,
    pub(super) busy: bool,
    busy_time: Duration,
    answered: bool,
    failed: bool,
    /// How often the batch size was reduced, each time to a quarter, because batches were too large for one
    /// call.
    size_reductions: u32,
    pub(super) batch_too_large: bool,
    /// Batches in a row without any answer.
    failed_batches: u32,
    pub(super) paused_until: Option<Instant>,
    /// Checks without an answer. They are due again at `retry_at`. Ticks have no influence on that, because they may be
    /// disabled.
    pub(super) unanswered: HashSet<Uri>,
    pub(super) retry_at: Option<Instant>,
    /// Batches in a row that left checks unanswered.
    retries: u32,
}

impl ProviderQueue {
    pub(super) fn batch_size(&self) -> usize {
        (BATCH_SIZE >> (2 * self.size_reductions)).max(1)
    }

    pub(super) fn is_needed(&self) -> bool {
        self.busy
            || !self.due.is_empty()
            || !self.unanswered.is_empty()
            || self.paused_until.is_some()
    }

    /// Replaces what is due, unless the provider is paused or busy.
    pub(super) fn start_round(&mut self, due: HashSet<Uri>, now: Instant) {
        let is_paused = self.paused_until.is_some_and(|until| now < until);
        if !is_paused && !self.busy && self.due.is_empty() {
            self.due = due;
        }
    }

    pub(super) fn count_answer(&mut self, is_failure: bool) {
        if is_failure {
            self.failed = true;
        } else {
            self.answered = true;
        }
    }

    /// Ends a batch.
    pub(super) fn finish_batch(&mut self, duration: Duration, now: Instant) {
        self.busy = false;
        self.busy_time += duration;
        self.update_counters();
        if !self.due.is_empty() {
            return;
        }
        let pause = (self.busy_time * PAUSE_FACTOR)
            .max(backoff(self.failed_batches))
            .min(MAX_PAUSE);
        self.paused_until = Some(now + pause);
        self.busy_time = Duration::ZERO;
        if self.unanswered.is_empty() {
            self.retry_at = None;
            self.retries = 0;
        } else if self.retry_at.is_none() {
            self.retry_at = Some(now + self.next_retry_delay(pause));
        }
    }

    /// Counts a retry. Returns its delay, which is longer each time.
    fn next_retry_delay(&mut self, pause: Duration) -> Duration {
        self.retries = self.retries.saturating_add(1);
        pause.max(backoff(self.retries) / 2).min(MAX_PAUSE)
    }

    /// Updates the batch size and the failure count from the answers of a batch.
    fn update_counters(&mut self) {
        let answered = std::mem::take(&mut self.answered);
        let failed = std::mem::take(&mut self.failed);
        if std::mem::take(&mut self.batch_too_large) {
            self.size_reductions = (self.size_reductions + 1).min(4);
        } else if answered && !failed {
            self.size_reductions = self.size_reductions.saturating_sub(1);
        }
        if answered {
            self.failed_batches = 0;
        } else if failed {
            self.failed_batches = self.failed_batches.saturating_add(1);
        }
        if self.failed_batches >= MAX_FAILED_BATCHES {
            self.unanswered.extend(self.due.drain());
        }
    }
}

/// Returns an exponential delay in seconds.
fn backoff(times: u32) -> Duration {
    if times == 0 {
        Duration::ZERO
    } else {
        Duration::from_secs(1 << times.min(10))
    }
}
