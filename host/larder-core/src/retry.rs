//! The time between attempts after failures.

use std::time::{Duration, Instant};

/// The time after the first failure, and the longest time.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(300);

/// When to try again after failures.
#[derive(Debug, Clone, Default)]
pub(crate) struct Retry {
    failures: u32,
    at: Option<Instant>,
}

impl Retry {
    pub(crate) fn is_due(&self) -> bool {
        self.at.is_none_or(|at| at <= Instant::now())
    }

    /// Returns when the next attempt is due; now, or in the past, if there was no failure.
    pub(crate) fn at(&self) -> Instant {
        self.at.unwrap_or_else(Instant::now)
    }

    pub(crate) fn is_first_failure(&self) -> bool {
        self.failures == 1
    }

    pub(crate) fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// Waits twice as long as after the last failure, and at least as long as this.
    pub(crate) fn failed(&mut self, at_least: Duration) {
        let time = FIRST
            .saturating_mul(1 << self.failures.min(16))
            .min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        self.at = Some(Instant::now() + time.max(at_least));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_longer_after_each_failure() {
        let mut retry = Retry::default();
        assert!(retry.is_due());
        let mut last = Duration::ZERO;
        for _ in 0..40 {
            retry.failed(Duration::ZERO);
            let wait = retry.at().saturating_duration_since(Instant::now());
            assert!(
                wait <= LONGEST && wait + Duration::from_millis(100) > last,
                "{wait:?} after {last:?}"
            );
            last = wait;
        }
        retry.failed(Duration::from_secs(1_000));
        assert!(retry.at() > Instant::now() + LONGEST * 2);
        retry.succeeded();
        assert!(retry.is_due());
    }
}
