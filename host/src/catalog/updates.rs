//! When which URI was last said to differ, in a table of fixed size: what was learnt before that must not be
//! used any more. Two URIs in one place cost a needless question, never a stale answer.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::uri::Uri;

/// Places in the table.
const PLACES: usize = 4_096;

/// A moment, counted in updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

#[derive(Debug)]
pub(super) struct Updates {
    count: AtomicU64,
    last: Box<[AtomicU64]>,
    hasher: RandomState,
}

impl Default for Updates {
    fn default() -> Self {
        let last = (0..PLACES).map(|_| AtomicU64::new(0)).collect();
        Self { count: AtomicU64::new(0), last, hasher: RandomState::new() }
    }
}

impl Updates {
    pub(super) fn now(&self) -> Moment {
        Moment(self.count.load(Ordering::SeqCst))
    }

    /// A moment between the two steps counts as after the update: the content differs already.
    pub(super) fn note(&self, uri: &Uri) {
        let moment = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        self.place(uri).fetch_max(moment, Ordering::SeqCst);
    }

    pub(super) fn none_since(&self, moment: Moment, uri: &Uri) -> bool {
        // Mostly there was no update at all.
        self.now() == moment || self.place(uri).load(Ordering::SeqCst) <= moment.0
    }

    // Keyed by chance: no provider can choose URIs that share a place with another's.
    fn place(&self, uri: &Uri) -> &AtomicU64 {
        let hash = self.hasher.hash_one(uri);
        &self.last[(hash % PLACES as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_learnt_before_an_update_is_void() {
        let updates = Updates::default();
        let (one, other) = (Uri::parse("x:1").unwrap(), Uri::parse("x:2").unwrap());
        let before = updates.now();
        updates.note(&one);
        let after = updates.now();
        assert!(!updates.none_since(before, &one));
        assert!(updates.none_since(after, &one));
        // Unless they share a place, which is one chance in thousands.
        let apart = !std::ptr::eq(updates.place(&one), updates.place(&other));
        assert_eq!(updates.none_since(before, &other), apart);
    }
}
