//! The times of the last updates of URIs, in a table of fixed size. Content that was read before an update must not be
//! served from a cache. A hash collision causes an unnecessary call, but no outdated content.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use larder_model::uri::Uri;

/// Slots in the table.
const SLOTS: usize = 4_096;

/// A logical time: the number of updates so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogicalTime(u64);

#[derive(Debug)]
pub(super) struct UpdateTimes {
    count: AtomicU64,
    last: Box<[AtomicU64]>,
    hasher: RandomState,
}

impl Default for UpdateTimes {
    fn default() -> Self {
        Self {
            count: AtomicU64::new(0),
            last: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(),
            hasher: RandomState::new(),
        }
    }
}

impl UpdateTimes {
    pub(super) fn now(&self) -> LogicalTime {
        LogicalTime(self.count.load(Ordering::SeqCst))
    }

    /// A read that starts between the two steps already gets the new content. Its time counts as after the update.
    pub(super) fn record(&self, uri: &Uri) {
        let time = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        self.slot(uri).fetch_max(time, Ordering::SeqCst);
    }

    /// Records an update of every URI.
    pub(super) fn record_all(&self) {
        let time = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        self.last
            .iter()
            .for_each(|slot| _ = slot.fetch_max(time, Ordering::SeqCst));
    }

    pub(super) fn unchanged_since(&self, time: LogicalTime, uri: &Uri) -> bool {
        // The common case: there was no update at all.
        self.now() == time || self.slot(uri).load(Ordering::SeqCst) <= time.0
    }

    // A random hash key prevents a provider from choosing URIs that collide with the URIs of another provider.
    fn slot(&self, uri: &Uri) -> &AtomicU64 {
        let hash = self.hasher.hash_one(uri);
        &self.last[(hash % SLOTS as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_invalidates_earlier_reads() {
        let updates = UpdateTimes::default();
        let one = Uri::parse("x:1").unwrap();
        let other = Uri::parse("x:2").unwrap();
        let before = updates.now();
        updates.record(&one);
        let after = updates.now();
        assert!(!updates.unchanged_since(before, &one));
        assert!(updates.unchanged_since(after, &one));
        // The two URIs differ in the table unless they collide, which has a probability of 1 in 4096.
        let apart = !std::ptr::eq(updates.slot(&one), updates.slot(&other));
        assert_eq!(updates.unchanged_since(before, &other), apart);
        updates.record_all();
        assert!(!updates.unchanged_since(after, &one) && !updates.unchanged_since(after, &other));
    }
}
