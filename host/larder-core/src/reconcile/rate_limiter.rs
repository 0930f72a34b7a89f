//! Rate limit for the actions that signals of providers cause: a list refresh costs a probe and notifies the clients,
//! and a message costs a check at each other replica. Signals that arrive too soon are combined into one later action.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// The shortest time between two actions for the same key.
const MIN_INTERVAL: Duration = Duration::from_millis(500);
const NEVER: Duration = Duration::from_secs(3_600);

/// The key is a provider or a URI. The value tells when the last action started, and whether another action is waiting.
pub(super) struct RateLimiter<K>(BTreeMap<K, (Instant, bool)>);

impl<K> Default for RateLimiter<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord + Clone> RateLimiter<K> {
    /// Requests an action. Returns whether it may start now; otherwise it is due later.
    pub(super) fn request(&mut self, key: &K) -> bool {
        let now = Instant::now();
        match self.0.get_mut(key) {
            Some((last, is_waiting)) if now < *last + MIN_INTERVAL => {
                *is_waiting = true;
                false
            }
            _ => {
                self.0.insert(key.clone(), (now, false));
                true
            }
        }
    }

    /// Returns the keys whose waiting action is due, and marks them as started.
    pub(super) fn take_due(&mut self) -> Vec<K> {
        let now = Instant::now();
        let mut due = Vec::new();
        self.0.retain(|key, (last, is_waiting)| {
            let is_over = *last + MIN_INTERVAL <= now;
            if is_over && *is_waiting {
                due.push(key.clone());
                *last = now;
                *is_waiting = false;
                return true;
            }
            !is_over
        });
        due
    }

    /// Returns the time until the next waiting action is due.
    pub(super) fn next_due(&self) -> Duration {
        let now = Instant::now();
        let waiting = self.0.values().filter(|(_, is_waiting)| *is_waiting);
        waiting
            .map(|(last, _)| (*last + MIN_INTERVAL).saturating_duration_since(now))
            .min()
            .unwrap_or(NEVER)
    }
}

#[cfg(test)]
mod tests {
    use larder_model::name::ProviderName;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn repeated_requests_cause_one_refresh_now_and_one_later() {
        let mut limiter = RateLimiter::default();
        let provider = ProviderName::parse("p").unwrap();
        let started = (0..1_000).filter(|_| limiter.request(&provider)).count();
        assert_eq!((started, limiter.take_due().len()), (1, 0));
        assert!(limiter.next_due() <= MIN_INTERVAL);
        tokio::time::advance(limiter.next_due()).await;
        assert_eq!(
            (limiter.take_due(), limiter.take_due()),
            (vec![provider], vec![])
        );
    }
}
