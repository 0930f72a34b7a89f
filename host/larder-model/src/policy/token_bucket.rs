//! A rate limiter that allows debt. Taking tokens is one atomic operation.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const SECOND: u128 = 1_000_000_000;

/// Default upper bound for the time until a debt is paid off.
const MAX_DEBT: Duration = Duration::from_secs(10);

/// Refills at a constant rate and holds the tokens of one second. A caller may take more tokens than are left, because
/// the cost of a response is known only afterwards. Then the next caller waits.
#[derive(Debug)]
pub struct TokenBucket {
    started: Instant,
    per_second: AtomicU64,
    /// The nanosecond since `started` at which all taken tokens will be refilled.
    full_at: AtomicU64,
    max_debt: Duration,
}

impl TokenBucket {
    /// Creates a full bucket. A rate of zero is raised to one.
    pub fn new(per_second: u64) -> Self {
        Self {
            started: Instant::now(),
            per_second: AtomicU64::new(per_second.max(1)),
            full_at: AtomicU64::new(0),
            max_debt: MAX_DEBT,
        }
    }

    /// Sets the longest time until a debt is paid off.
    pub(crate) fn with_max_debt(mut self, max: Duration) -> Self {
        self.max_debt = max;
        self
    }

    /// Changes the rate. The number of missing tokens stays the same.
    pub(crate) fn set_rate(&self, per_second: u64) {
        self.set_rate_at(self.now(), per_second);
    }

    fn set_rate_at(&self, now: u64, per_second: u64) {
        let per_second = per_second.max(1);
        let before = self.per_second.swap(per_second, Relaxed);
        let limit = self.latest_full_at(now);
        let rescaled = |full_at: u64| {
            let missing = u128::from(full_at.saturating_sub(now)) * u128::from(before);
            let time = u64::try_from(missing / u128::from(per_second)).unwrap_or(u64::MAX);
            Some(now.saturating_add(time).min(limit))
        };
        // The closure always returns a value, so this cannot fail.
        let _ = self.full_at.fetch_update(Relaxed, Relaxed, rescaled);
    }

    fn per_second(&self) -> u128 {
        self.per_second.load(Relaxed).into()
    }

    /// Takes tokens if any are left. Otherwise returns the time until tokens are left.
    pub fn take(&self, tokens: u64) -> Result<(), Duration> {
        self.take_at(self.now(), tokens)
    }

    /// Takes tokens for resources that were already used, also if too few tokens are left.
    pub fn charge(&self, tokens: u64) {
        self.charge_at(self.now(), tokens);
    }

    /// Whether no tokens are missing.
    pub fn is_full(&self) -> bool {
        self.full_at.load(Relaxed) <= self.now()
    }

    /// The number of missing tokens: tokens that were taken and are not refilled yet. If the number exceeds the rate,
    /// there is a debt.
    pub(crate) fn used(&self) -> u64 {
        let missing = u128::from(self.full_at.load(Relaxed).saturating_sub(self.now()));
        u64::try_from(missing * self.per_second() / SECOND).unwrap_or(u64::MAX)
    }

    /// Returns the time until tokens are left; none if tokens are left now.
    pub(crate) fn empty_for(&self) -> Option<Duration> {
        debt(self.full_at.load(Relaxed), self.now())
    }

    fn take_at(&self, now: u64, tokens: u64) -> Result<(), Duration> {
        let taken =
            self.full_at
                .fetch_update(Relaxed, Relaxed, |full_at| match debt(full_at, now) {
                    None => Some(self.after(full_at, now, tokens)),
                    Some(_) => None,
                });
        taken
            .map(drop)
            .map_err(|full_at| debt(full_at, now).unwrap_or_default())
    }

    fn charge_at(&self, now: u64, tokens: u64) {
        let after = |full_at| Some(self.after(full_at, now, tokens));
        // The closure always returns a value, so this cannot fail.
        let _ = self.full_at.fetch_update(Relaxed, Relaxed, after);
    }

    fn after(&self, full_at: u64, now: u64, tokens: u64) -> u64 {
        let time = u128::from(tokens) * SECOND / self.per_second();
        let time = u64::try_from(time).unwrap_or(u64::MAX);
        full_at
            .max(now)
            .saturating_add(time)
            .min(self.latest_full_at(now))
    }

    fn latest_full_at(&self, now: u64) -> u64 {
        now.saturating_add(nanoseconds(Duration::from_secs(1) + self.max_debt))
    }

    fn now(&self) -> u64 {
        nanoseconds(self.started.elapsed())
    }
}

/// The bucket is empty if refilling it takes longer than a second.
fn debt(full_at: u64, now: u64) -> Option<Duration> {
    let beyond = full_at
        .saturating_sub(now)
        .saturating_sub(nanoseconds(Duration::from_secs(1)));
    (beyond > 0).then(|| Duration::from_nanos(beyond))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn taken(bucket: &TokenBucket, now: u64, each: u64) -> u64 {
        (0..10_000)
            .take_while(|_| bucket.take_at(now, each).is_ok())
            .count() as u64
    }

    #[test]
    fn holds_the_tokens_of_one_second() {
        let bucket = TokenBucket::new(100);
        // The last take may cause a debt.
        assert_eq!(taken(&bucket, 0, 1), 101);
        assert_eq!(taken(&bucket, 500 * MS, 1), 50);
        assert_eq!(
            taken(&bucket, 100_000 * MS, 1),
            101,
            "it holds no more than one second"
        );
    }

    #[test]
    fn rejection_returns_the_time_to_wait() {
        let bucket = TokenBucket::new(10);
        assert_eq!(bucket.take_at(0, 15), Ok(()));
        assert_eq!(bucket.take_at(0, 1), Err(Duration::from_millis(500)));
        assert!(bucket.take_at(499 * MS, 1).is_err());
        assert!(bucket.take_at(500 * MS, 1).is_ok());
    }

    #[test]
    fn a_higher_rate_pays_off_a_debt_sooner() {
        let bucket = TokenBucket::new(10);
        bucket.charge_at(0, 60);
        assert_eq!(bucket.take_at(0, 1), Err(Duration::from_secs(5)));
        bucket.set_rate_at(0, 30);
        assert_eq!(bucket.take_at(0, 1), Err(Duration::from_secs(1)));
        bucket.set_rate_at(0, 1);
        assert_eq!(bucket.take_at(0, 1), Err(MAX_DEBT));
    }

    #[test]
    fn debt_is_bounded() {
        let bucket = TokenBucket::new(10);
        bucket.charge_at(0, u64::MAX);
        assert_eq!(bucket.take_at(0, 1), Err(MAX_DEBT));
        let later = nanoseconds(MAX_DEBT);
        assert!(bucket.take_at(later - 1, 1).is_err());
        assert!(bucket.take_at(later, 1).is_ok());
        let strict = TokenBucket::new(10).with_max_debt(Duration::from_secs(60));
        strict.charge_at(0, 10 + 300);
        assert_eq!(strict.take_at(0, 1), Err(Duration::from_secs(30)));
    }
}
