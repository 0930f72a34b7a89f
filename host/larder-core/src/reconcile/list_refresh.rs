//! Rate limit for list refreshes. Each "list changed" signal of a provider costs a probe and notifies the
//! clients. Signals that arrive too soon are combined into one later refresh.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use larder_model::name::ProviderName;

/// The shortest time between two refreshes of one provider.
const MIN_INTERVAL: Duration = Duration::from_millis(500);
const NEVER: Duration = Duration::from_secs(3_600);

/// By provider: when the last refresh started, and whether another one is waiting.
#[derive(Default)]
pub(super) struct ListRefreshLimiter(BTreeMap<ProviderName, (Instant, bool)>);

impl ListRefreshLimiter {
    /// Requests a refresh. Returns whether it may start now; otherwise it is due later.
    pub(super) fn request(&mut self, provider: &ProviderName) -> bool {
        let now = Instant::now();
        match self.0.get_mut(provider) {
            Some((last, is_waiting)) if now < *last + MIN_INTERVAL => {
                *is_waiting = true;
                false
            }
            _ => {
                self.0.insert(provider.clone(), (now, false));
                true
            }
        }
    }

    /// Returns the providers whose waiting refresh is due, and marks them as started.
    pub(super) fn take_due(&mut self) -> Vec<ProviderName> {
        let now = Instant::now();
        let mut due = Vec::new();
        self.0.retain(|provider, (last, is_waiting)| {
            let is_over = *last + MIN_INTERVAL <= now;
            if is_over && *is_waiting {
                due.push(provider.clone());
                (*last, *is_waiting) = (now, false);
                return true;
            }
            !is_over
        });
        due
    }

    /// Returns the time until the next waiting refresh is due.
    pub(super) fn next_due(&self) -> Duration {
        let now = Instant::now();
        let waiting = self.0.values().filter(|(_, is_waiting)| *is_waiting);
        waiting.map(|(last, _)| (*last + MIN_INTERVAL).saturating_duration_since(now)).min().unwrap_or(NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn repeated_requests_cause_one_refresh_now_and_one_later() {
        let mut limiter = ListRefreshLimiter::default();
        let provider = ProviderName::parse("p").unwrap();
        let started = (0..1_000).filter(|_| limiter.request(&provider)).count();
        assert_eq!((started, limiter.take_due().len()), (1, 0));
        assert!(limiter.next_due() <= MIN_INTERVAL);
        tokio::time::advance(limiter.next_due()).await;
        assert_eq!((limiter.take_due(), limiter.take_due()), (vec![provider], vec![]));
    }
}
