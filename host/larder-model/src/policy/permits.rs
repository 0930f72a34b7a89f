//! Permits whose number can change while some of them are in use.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A number of permits.
#[derive(Debug)]
pub(super) struct Permits {
    semaphore: Arc<Semaphore>,
    limit: AtomicUsize,
}

impl Permits {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            semaphore: Arc::new(Semaphore::new(limit)),
            limit: AtomicUsize::new(limit),
        }
    }

    /// Returns a permit, unless all are in use.
    pub(super) fn try_take(&self) -> Option<OwnedSemaphorePermit> {
        self.semaphore.clone().try_acquire_owned().ok()
    }

    /// Waits for a permit.
    pub(super) async fn take(&self) -> Option<OwnedSemaphorePermit> {
        self.semaphore.clone().acquire_owned().await.ok()
    }

    /// The number of permits that are in use.
    pub(super) fn taken(&self) -> usize {
        self.limit
            .load(Relaxed)
            .saturating_sub(self.semaphore.available_permits())
    }

    /// Changes the number of permits. The future removes those that are in use now, as soon as they are returned.
    pub(super) fn resize(&self, limit: usize) -> impl Future<Output = ()> + Send + use<> {
        let before = self.limit.swap(limit, Relaxed);
        self.semaphore.add_permits(limit.saturating_sub(before));
        let surplus = before.saturating_sub(limit);
        let in_use = surplus.saturating_sub(self.semaphore.forget_permits(surplus));
        let semaphore = self.semaphore.clone();
        async move {
            let in_use = u32::try_from(in_use).unwrap_or(u32::MAX);
            if let Ok(returned) = semaphore.acquire_many_owned(in_use).await {
                returned.forget();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn permits_in_use_are_removed_when_they_are_returned() {
        let permits = Permits::new(3);
        let mut used: Vec<_> = (0..3).map(|_| permits.try_take().unwrap()).collect();
        let mut removed = pin!(permits.resize(1));
        let is_waiting = tokio::time::timeout(Duration::ZERO, &mut removed).await;
        assert!(is_waiting.is_err());
        used.pop();
        assert!(permits.try_take().is_none());
        used.pop();
        removed.await;
        assert!(permits.try_take().is_none() && permits.taken() == 1);
        used.pop();
        assert!(permits.try_take().is_some() && permits.taken() == 0);
        permits.resize(2).await;
        let both = [permits.try_take(), permits.try_take()];
        assert!(both.iter().all(Option::is_some) && permits.try_take().is_none());
    }
}
