//! Limits the calls to one provider that run at the same time, and the calls that wait.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::threads::queue_timer::QueueTimer;
use larder_model::policy::Limits;

/// The concurrency limit of one revision of a provider.
#[derive(Debug)]
pub(super) struct ConcurrencyLimit {
    running: Arc<Semaphore>,
    waiting: Semaphore,
}

impl ConcurrencyLimit {
    pub(super) fn new(limits: &Limits) -> Self {
        let of = |count: u32| Semaphore::new(count as usize);
        Self {
            running: Arc::new(of(limits.concurrency)),
            waiting: of(limits.queue_length),
        }
    }

    /// Waits for a permit. Returns none at once if the queue is full. Returns none on timeout.
    pub(super) async fn acquire(&self, queue_timer: &QueueTimer) -> Option<OwnedSemaphorePermit> {
        // Waiting calls take precedence: the semaphore is fair, so this fails while a call waits.
        if let Ok(permit) = self.running.clone().try_acquire_owned() {
            return Some(permit);
        }
        let _queue_permit = self.waiting.try_acquire().ok()?;
        queue_timer
            .wait(self.running.clone().acquire_owned())
            .await?
            .ok()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use larder_runtime::metrics::ProviderMetrics;

    fn queue_timer(timeout: Duration) -> QueueTimer {
        QueueTimer::new(Arc::new(ProviderMetrics::default()), timeout)
    }

    #[tokio::test]
    async fn rejects_calls_when_the_queue_is_full() {
        let limit = ConcurrencyLimit::new(&Limits {
            concurrency: 1,
            queue_length: 1,
            ..Limits::default()
        });
        let hour = queue_timer(Duration::from_secs(3600));
        let now = queue_timer(Duration::ZERO);
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
}
