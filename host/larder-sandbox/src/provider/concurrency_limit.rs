//! Limits the calls to one provider that run at the same time, and those that wait.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::queue_timer::QueueTimer;
use larder_model::policy::Limits;

/// Interval of the log line about rejected calls: one line per call would cost more than the rejection
/// itself.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// The concurrency limit of one revision of a provider.
#[derive(Debug)]
pub(super) struct ConcurrencyLimit {
    running: Semaphore,
    waiting: Semaphore,
    rejected: Mutex<RejectedCalls>,
}

#[derive(Debug, Default)]
struct RejectedCalls {
    last_logged: Option<Instant>,
    /// Calls that were rejected since then.
    count: u64,
}

impl ConcurrencyLimit {
    pub(super) fn new(limits: &Limits) -> Self {
        let of = |count: u32| Semaphore::new(count as usize);
        Self { running: of(limits.concurrency), waiting: of(limits.queue_length), rejected: Mutex::default() }
    }

    /// Waits for a permit. Returns none at once if the queue is full, and otherwise on timeout.
    pub(super) async fn acquire(&self, queue_timer: &QueueTimer) -> Option<SemaphorePermit<'_>> {
        // Waiting calls come first: the semaphore is fair, so this fails as long as a call waits.
        if let Ok(permit) = self.running.try_acquire() {
            return Some(permit);
        }
        let _queue_permit = self.waiting.try_acquire().ok()?;
        queue_timer.wait(self.running.acquire()).await?.ok()
    }

    /// Counts a rejected call. Returns the number of rejected calls since the last log line, if the next one
    /// is due.
    pub(super) fn count_rejected(&self) -> Option<u64> {
        let mut rejected = self.rejected.lock().unwrap_or_else(PoisonError::into_inner);
        rejected.count += 1;
        if rejected.last_logged.is_some_and(|last_logged| last_logged.elapsed() < LOG_INTERVAL) {
            return None;
        }
        rejected.last_logged = Some(Instant::now());
        Some(std::mem::take(&mut rejected.count))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use larder_runtime::metrics::ProviderMetrics;

    fn queue_timer(timeout: Duration) -> QueueTimer {
        QueueTimer::new(Arc::new(ProviderMetrics::default()), timeout)
    }

    #[tokio::test]
    async fn rejects_calls_when_the_queue_is_full() {
        let limit = ConcurrencyLimit::new(&Limits { concurrency: 1, queue_length: 1, ..Limits::default() });
        let (hour, now) = (queue_timer(Duration::from_secs(3600)), queue_timer(Duration::ZERO));
        let permit = limit.acquire(&hour).await.unwrap();
        let mut second = Box::pin(limit.acquire(&hour));
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        // The queue is full, so another call is rejected at once.
        assert!(limit.acquire(&hour).await.is_none());
        drop(permit);
        drop(second.await.unwrap());
        let permit = limit.acquire(&hour).await.unwrap();
        assert!(limit.acquire(&now).await.is_none(), "it timed out");
        let mut third = Box::pin(limit.acquire(&hour));
        assert!(
            futures_util::poll!(third.as_mut()).is_pending(),
            "the call that timed out has left the queue"
        );
        drop(third);
        drop(permit);
        assert!(limit.acquire(&now).await.is_some());
    }

    #[test]
    fn logs_rejected_calls_together() {
        let limit = ConcurrencyLimit::new(&Limits::default());
        assert_eq!(limit.count_rejected(), Some(1));
        for _ in 0..2 {
            limit.rejected.lock().unwrap().last_logged = Some(Instant::now() + LOG_INTERVAL);
            assert_eq!(limit.count_rejected(), None);
        }
        limit.rejected.lock().unwrap().last_logged = None;
        assert_eq!(limit.count_rejected(), Some(3));
    }
}
