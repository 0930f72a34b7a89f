//! Limits how many signals a provider may send per second, so that one provider cannot use the receiver's time for
//! itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Maximum number of signals of one provider per second, over all of its calls.
const MAX_PER_SECOND: u64 = 256;

/// The rate limit of one revision of a provider.
#[derive(Debug)]
pub(crate) struct SignalRateLimit {
    start: Instant,
    /// The current second since `start` and the number of signals in it, in one number: `second *
    /// (MAX_PER_SECOND + 1) + count`.
    window: AtomicU64,
}

impl Default for SignalRateLimit {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            window: AtomicU64::new(0),
        }
    }
}

impl SignalRateLimit {
    /// Counts a signal. Returns false if it exceeds the limit.
    pub(crate) fn allows(&self) -> bool {
        self.allows_in(self.start.elapsed().as_secs())
    }

    fn allows_in(&self, second: u64) -> bool {
        let next = |seen: u64| match (
            seen / (MAX_PER_SECOND + 1) == second,
            seen % (MAX_PER_SECOND + 1),
        ) {
            (true, MAX_PER_SECOND) => None,
            (true, _) => Some(seen + 1),
            (false, _) => Some(second * (MAX_PER_SECOND + 1) + 1),
        };
        self.window
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allows_a_number_of_signals_per_second() {
        let limit = SignalRateLimit::default();
        let in_second = |second| (0..1_000).filter(|_| limit.allows_in(second)).count() as u64;
        assert_eq!(
            [in_second(0), in_second(0), in_second(1), in_second(7)],
            [MAX_PER_SECOND, 0, MAX_PER_SECOND, MAX_PER_SECOND]
        );
    }
}
