//! How often one provider may speak to those who are not its callers. What one says too often must not take the
//! place of what another says.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Signals of one provider in one second, over all its calls.
const MOST: u64 = 256;

/// Counts for one revision of a provider.
#[derive(Debug)]
pub struct Pace {
    began: Instant,
    /// The second, and how many there were in it.
    now: AtomicU64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { began: Instant::now(), now: AtomicU64::new(0) }
    }
}

impl Pace {
    /// Whether one more is fine.
    pub(super) fn allows(&self) -> bool {
        self.allows_in(self.began.elapsed().as_secs())
    }

    fn allows_in(&self, second: u64) -> bool {
        let next = |seen: u64| match (seen / (MOST + 1) == second, seen % (MOST + 1)) {
            (true, MOST) => None,
            (true, _) => Some(seen + 1),
            (false, _) => Some(second * (MOST + 1) + 1),
        };
        self.now.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_has_so_many() {
        let pace = Pace::default();
        let in_second = |second| (0..1_000).filter(|_| pace.allows_in(second)).count() as u64;
        assert_eq!([in_second(0), in_second(0), in_second(1), in_second(7)], [MOST, 0, MOST, MOST]);
    }
}
