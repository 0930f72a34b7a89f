//! Something of which so much may be used in each second. Taking is one atomic, whoever takes.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const SECOND: u128 = 1_000_000_000;

/// Who used more than his share waits until it is paid off, but never longer than this, if nothing else is said.
const LONGEST_DEBT: Duration = Duration::from_secs(10);

/// Fills at an even rate and holds what fills it in one second. One take may go beyond what is in it, since what
/// an answer costs is known only when it is there; the next then waits.
#[derive(Debug)]
pub struct Bucket {
    began: Instant,
    per_second: u64,
    /// The nanosecond since `began` at which everything that was taken will have been filled in again.
    full_at: AtomicU64,
    longest_debt: Duration,
}

impl Bucket {
    /// A full one. A rate of nothing would be a bucket that nobody ever gets anything from.
    pub fn new(per_second: u64) -> Self {
        Self {
            began: Instant::now(),
            per_second: per_second.max(1),
            full_at: AtomicU64::new(0),
            longest_debt: LONGEST_DEBT,
        }
    }

    /// Debts are remembered for so long.
    pub fn with_longest_debt(mut self, longest: Duration) -> Self {
        self.longest_debt = longest;
        self
    }

    /// Takes that much if anything is left; else says how long it takes until something is.
    pub fn take(&self, much: u64) -> Result<(), Duration> {
        self.take_at(self.now(), much)
    }

    /// Takes what was used already, whether or not it was there.
    pub fn charge(&self, much: u64) {
        self.charge_at(self.now(), much);
    }

    /// How long it takes until something is left; none if there is something.
    pub fn empty_for(&self) -> Option<Duration> {
        debt(self.full_at.load(Relaxed), self.now())
    }

    fn take_at(&self, now: u64, much: u64) -> Result<(), Duration> {
        let taken = self.full_at.fetch_update(Relaxed, Relaxed, |full_at| match debt(full_at, now) {
            None => Some(self.after(full_at, now, much)),
            Some(_) => None,
        });
        taken.map(drop).map_err(|full_at| debt(full_at, now).unwrap_or_default())
    }

    fn charge_at(&self, now: u64, much: u64) {
        let after = |full_at| Some(self.after(full_at, now, much));
        // It always has an answer, so this cannot fail.
        let _ = self.full_at.fetch_update(Relaxed, Relaxed, after);
    }

    fn after(&self, full_at: u64, now: u64, much: u64) -> u64 {
        let time = u128::from(much) * SECOND / u128::from(self.per_second);
        let time = u64::try_from(time).unwrap_or(u64::MAX);
        let most = now.saturating_add(nanoseconds(Duration::from_secs(1) + self.longest_debt));
        full_at.max(now).saturating_add(time).min(most)
    }

    fn now(&self) -> u64 {
        nanoseconds(self.began.elapsed())
    }
}

/// It is empty while it would take longer than a second to fill.
fn debt(full_at: u64, now: u64) -> Option<Duration> {
    let beyond = full_at.saturating_sub(now).saturating_sub(nanoseconds(Duration::from_secs(1)));
    (beyond > 0).then(|| Duration::from_nanos(beyond))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn taken(bucket: &Bucket, now: u64, each: u64) -> u64 {
        (0..10_000).take_while(|_| bucket.take_at(now, each).is_ok()).count() as u64
    }

    #[test]
    fn it_holds_what_fills_it_in_a_second() {
        let bucket = Bucket::new(100);
        // The last one may go beyond what is in it.
        assert_eq!(taken(&bucket, 0, 1), 101);
        assert_eq!(taken(&bucket, 500 * MS, 1), 50);
        assert_eq!(taken(&bucket, 100_000 * MS, 1), 101, "it is full, not more than full");
    }

    #[test]
    fn who_is_refused_is_told_when_to_come_back() {
        let bucket = Bucket::new(10);
        assert_eq!(bucket.take_at(0, 15), Ok(()));
        assert_eq!(bucket.take_at(0, 1), Err(Duration::from_millis(500)));
        assert!(bucket.take_at(499 * MS, 1).is_err());
        assert!(bucket.take_at(500 * MS, 1).is_ok());
    }

    #[test]
    fn a_debt_is_paid_off_but_has_an_end() {
        let bucket = Bucket::new(10);
        bucket.charge_at(0, u64::MAX);
        assert_eq!(bucket.take_at(0, 1), Err(LONGEST_DEBT));
        let later = nanoseconds(LONGEST_DEBT);
        assert!(bucket.take_at(later - 1, 1).is_err());
        assert!(bucket.take_at(later, 1).is_ok());
        let strict = Bucket::new(10).with_longest_debt(Duration::from_secs(60));
        strict.charge_at(0, 10 + 300);
        assert_eq!(strict.take_at(0, 1), Err(Duration::from_secs(30)));
    }
}
