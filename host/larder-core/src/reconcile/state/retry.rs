//! When failed loads and failed list refreshes are tried again.

use std::time::Duration;

use larder_provider::LoadError;
use tokio::time::Instant;

/// First delay before a component is loaded again whose load succeeded and whose probe failed. The delay doubles each
/// time.
const LOAD_DELAY: Duration = Duration::from_secs(15);
const MAX_DELAY: Duration = Duration::from_secs(600);
/// Like [`LOAD_DELAY`], for a list refresh. The previous lists are served in the meantime.
const LIST_DELAY: Duration = Duration::from_millis(500);
/// Stands for "no retry".
const NEVER: Duration = Duration::from_secs(3_600);

/// The next attempt, and the delay before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retry {
    at: Instant,
    delay: Duration,
}

impl Retry {
    /// Returns when to load a rejected component again.
    pub(super) fn of_load(before: Option<Self>, error: &LoadError) -> Option<Self> {
        error
            .is_temporary()
            .then(|| Self::after(before, LOAD_DELAY))
    }

    /// Returns when to refresh a list again. A failed probe may succeed later. A retry does not help if the lists
    /// violate the contract.
    pub(super) fn of_list_refresh(before: Option<Self>, error: &LoadError) -> Option<Self> {
        matches!(error, LoadError::Probe { .. }).then(|| Self::after(before, LIST_DELAY))
    }

    fn after(before: Option<Self>, first: Duration) -> Self {
        let delay = before.map_or(first, |before| (before.delay * 2).min(MAX_DELAY));
        Self {
            at: Instant::now() + delay,
            delay,
        }
    }

    pub(super) fn due_at(&self) -> Instant {
        self.at
    }

    pub(super) fn is_due(&self) -> bool {
        self.at <= Instant::now()
    }

    /// Records an attempt. Unless its result arrives earlier, the next attempt is due after the same delay.
    pub(super) fn postpone(&mut self) {
        self.at = Instant::now() + self.delay;
    }
}

/// Returns the time until the first of these retries.
pub(super) fn time_until_first(retries: impl Iterator<Item = Retry>) -> Duration {
    let now = Instant::now();
    retries
        .map(|retry| retry.at.saturating_duration_since(now))
        .min()
        .unwrap_or(NEVER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verification(is_temporary: bool) -> LoadError {
        LoadError::Verification {
            reason: "it was logged in the future".into(),
            is_temporary,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_signature_that_may_be_trusted_later_is_verified_after_growing_delays() {
        let mut retry = None;
        for seconds in [15, 30, 60, 120, 240, 480, 600, 600] {
            retry = Retry::of_load(retry, &verification(true));
            assert_eq!(
                time_until_first(retry.into_iter()),
                Duration::from_secs(seconds)
            );
        }
    }

    #[test]
    fn a_wrong_signature_is_not_verified_again() {
        assert!(Retry::of_load(None, &verification(false)).is_none());
    }
}
