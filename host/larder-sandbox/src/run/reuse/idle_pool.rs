//! A pool of idle guests by [`ReuseKey`]. Idle time is counted in sweeps, so that a call need not read the
//! clock.

use std::collections::HashMap;

use super::ReuseKey;
use larder_model::resource::Caller;

/// Number of sweeps for which a guest may stay idle: half a minute, with one sweep every five seconds.
const MAX_SWEEPS: u64 = 6;
/// Maximum number of idle guests per key.
const MAX_PER_KEY: usize = 8;

pub(super) struct IdlePool<T> {
    /// Idle guests by revision. The guest whose call ended last comes last.
    by_revision: HashMap<u64, Vec<IdleEntry<T>>>,
    count: usize,
    sweeps: u64,
}

struct IdleEntry<T> {
    caller: Option<Caller>,
    item: T,
    /// The number of the sweep after which the guest became idle.
    since: u64,
}

impl<T> Default for IdlePool<T> {
    fn default() -> Self {
        Self {
            by_revision: HashMap::new(),
            count: 0,
            sweeps: 0,
        }
    }
}

impl<T> IdlePool<T> {
    /// Takes the most recently used item with this key.
    pub(super) fn take(&mut self, key: &ReuseKey) -> Option<T> {
        let idle = self.by_revision.get_mut(&key.revision)?;
        let last = idle.iter().rposition(|entry| entry.caller == key.caller)?;
        self.count -= 1;
        Some(idle.remove(last).item)
    }

    /// Adds an item. Returns the item if the pool has too many items with this key.
    pub(super) fn put(&mut self, key: ReuseKey, item: T) -> Option<T> {
        let ReuseKey { revision, caller } = key;
        let idle = self.by_revision.entry(revision).or_default();
        if idle.iter().filter(|entry| entry.caller == caller).count() >= MAX_PER_KEY {
            return Some(item);
        }
        idle.push(IdleEntry {
            caller,
            item,
            since: self.sweeps,
        });
        self.count += 1;
        None
    }

    /// Counts a sweep, and removes the items that were idle for too many sweeps.
    pub(super) fn sweep(&mut self) -> Vec<T> {
        self.sweeps += 1;
        let sweeps = self.sweeps;
        self.remove(|_, since| sweeps - since > MAX_SWEEPS)
    }

    /// Removes all items of a revision.
    pub(super) fn remove_revision(&mut self, revision: u64) -> Vec<T> {
        self.remove(|found, _| found == revision)
    }

    pub(super) fn clear(&mut self) -> Vec<T> {
        self.remove(|_, _| true)
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    fn remove(&mut self, which: impl Fn(u64, u64) -> bool) -> Vec<T> {
        let mut removed = Vec::new();
        self.by_revision.retain(|revision, idle| {
            removed.extend(
                idle.extract_if(.., |entry| which(*revision, entry.since))
                    .map(|entry| entry.item),
            );
            !idle.is_empty()
        });
        self.count -= removed.len();
        removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_model::name::Teams;

    fn key(revision: u64, subject: &str) -> ReuseKey {
        let caller = Caller {
            subject: Some(subject.into()),
            issuer: None,
            teams: Teams::default_team(),
            scopes: vec![],
        };
        ReuseKey {
            revision,
            caller: Some(caller),
        }
    }

    #[test]
    fn takes_the_most_recently_used_item_of_the_key() {
        let mut pool = IdlePool::default();
        for (key, item) in [
            (key(1, "ann"), 'a'),
            (key(1, "bob"), 'b'),
            (key(1, "ann"), 'c'),
            (key(2, "ann"), 'd'),
        ] {
            assert_eq!(pool.put(key, item), None);
        }
        let mut took = |revision, subject| pool.take(&key(revision, subject));
        assert_eq!(
            [took(1, "ann"), took(1, "ann"), took(1, "ann")],
            [Some('c'), Some('a'), None]
        );
        assert_eq!(
            [took(2, "bob"), took(3, "ann"), took(1, "bob")],
            [None, None, Some('b')]
        );
        assert_eq!(
            pool.take(&ReuseKey {
                revision: 2,
                caller: None
            }),
            None
        );
        assert_eq!(
            (pool.len(), pool.remove_revision(2), pool.len()),
            (1, vec!['d'], 0)
        );
    }

    #[test]
    fn rejects_items_beyond_the_limits() {
        let mut pool = IdlePool::default();
        let rejected = |pool: &mut IdlePool<usize>, subject| {
            (0..10).filter_map(|n| pool.put(key(1, subject), n)).count()
        };
        assert_eq!(rejected(&mut pool, "ann"), 10 - MAX_PER_KEY);
        assert_eq!(rejected(&mut pool, "bob"), 10 - MAX_PER_KEY);
        assert_eq!(
            (pool.len(), pool.clear().len(), pool.len()),
            (2 * MAX_PER_KEY, 2 * MAX_PER_KEY, 0)
        );
    }

    #[test]
    fn removes_items_that_are_idle_for_too_long() {
        let mut pool = IdlePool::default();
        pool.put(key(1, "ann"), 'a');
        for _ in 0..MAX_SWEEPS {
            assert!(pool.sweep().is_empty());
        }
        // Use restarts the idle time.
        let used = pool.take(&key(1, "ann")).unwrap();
        pool.put(key(1, "ann"), used);
        pool.put(key(2, "bob"), 'b');
        assert!(pool.sweep().is_empty());
        pool.put(key(3, "eve"), 'c');
        for _ in 1..MAX_SWEEPS {
            assert!(pool.sweep().is_empty());
        }
        let mut removed = pool.sweep();
        removed.sort_unstable();
        assert_eq!(removed, ['a', 'b']);
        assert_eq!((pool.sweep(), pool.len()), (vec!['c'], 0));
    }
}
