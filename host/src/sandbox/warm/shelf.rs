//! Who waits, for whom, and how long. It counts looks instead of time: no clock is needed for each call.

use std::collections::HashMap;

use super::Owner;
use crate::resource::Caller;

/// Over how many looks one waits: with one each five seconds, half a minute.
const LOOKS: u64 = 6;
/// How many wait for one caller of one revision.
const EACH: usize = 8;

pub(super) struct Shelf<T> {
    /// By revision, the one that was used last at the end.
    waiting: HashMap<u64, Vec<Waiting<T>>>,
    count: usize,
    looks: u64,
}

struct Waiting<T> {
    caller: Option<Caller>,
    what: T,
    /// The looks until then.
    since: u64,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self { waiting: HashMap::new(), count: 0, looks: 0 }
    }
}

impl<T> Shelf<T> {
    /// Of this owner's the one that was used last.
    pub(super) fn take(&mut self, owner: &Owner) -> Option<T> {
        let waiting = self.waiting.get_mut(&owner.revision)?;
        let last = waiting.iter().rposition(|one| one.caller == owner.caller)?;
        self.count -= 1;
        Some(waiting.remove(last).what)
    }

    /// Puts it there, unless there are so many already or too many of this owner's: then it comes back.
    pub(super) fn put(&mut self, owner: Owner, what: T, most: usize) -> Option<T> {
        let Owner { revision, caller } = owner;
        if self.count >= most {
            return Some(what);
        }
        let waiting = self.waiting.entry(revision).or_default();
        if waiting.iter().filter(|one| one.caller == caller).count() >= EACH {
            return Some(what);
        }
        waiting.push(Waiting { caller, what, since: self.looks });
        self.count += 1;
        None
    }

    /// One more look: what waited over enough of them is handed out.
    pub(super) fn look(&mut self) -> Vec<T> {
        self.looks += 1;
        let looks = self.looks;
        self.remove(|_, since| looks - since > LOOKS)
    }

    /// All of a revision.
    pub(super) fn forget(&mut self, revision: u64) -> Vec<T> {
        self.remove(|of, _| of == revision)
    }

    pub(super) fn clear(&mut self) -> Vec<T> {
        self.remove(|_, _| true)
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    fn remove(&mut self, which: impl Fn(u64, u64) -> bool) -> Vec<T> {
        let mut gone = Vec::new();
        self.waiting.retain(|revision, waiting| {
            gone.extend(waiting.extract_if(.., |one| which(*revision, one.since)).map(|one| one.what));
            !waiting.is_empty()
        });
        self.count -= gone.len();
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Teams;

    fn of(revision: u64, subject: &str) -> Owner {
        let caller =
            Caller { subject: Some(subject.into()), issuer: None, teams: Teams::sole(), scopes: vec![] };
        Owner { revision, caller: Some(caller) }
    }

    #[test]
    fn each_has_its_own_and_the_last_comes_first() {
        let mut shelf = Shelf::default();
        for (owner, what) in
            [(of(1, "ann"), 'a'), (of(1, "bob"), 'b'), (of(1, "ann"), 'c'), (of(2, "ann"), 'd')]
        {
            assert_eq!(shelf.put(owner, what, 100), None);
        }
        let mut took = |revision, subject| shelf.take(&of(revision, subject));
        assert_eq!([took(1, "ann"), took(1, "ann"), took(1, "ann")], [Some('c'), Some('a'), None]);
        assert_eq!([took(2, "bob"), took(3, "ann"), took(1, "bob")], [None, None, Some('b')]);
        assert_eq!(shelf.take(&Owner { revision: 2, caller: None }), None);
        assert_eq!((shelf.len(), shelf.forget(2), shelf.len()), (1, vec!['d'], 0));
    }

    #[test]
    fn no_more_wait_than_may() {
        let mut shelf = Shelf::default();
        let came_back = |shelf: &mut Shelf<usize>, subject, most| {
            (0..10).filter_map(|n| shelf.put(of(1, subject), n, most)).count()
        };
        assert_eq!(came_back(&mut shelf, "ann", 100), 10 - EACH);
        assert_eq!(came_back(&mut shelf, "bob", EACH + 3), 7);
        assert_eq!((shelf.len(), shelf.clear().len(), shelf.len()), (EACH + 3, EACH + 3, 0));
        assert_eq!(came_back(&mut shelf, "bob", 1), 9, "there is room again, for one");
    }

    #[test]
    fn nobody_waits_forever() {
        let mut shelf = Shelf::default();
        shelf.put(of(1, "ann"), 'a', 100);
        for _ in 0..LOOKS {
            assert!(shelf.look().is_empty());
        }
        // Whoever was used since waits anew.
        let used = shelf.take(&of(1, "ann")).unwrap();
        shelf.put(of(1, "ann"), used, 100);
        shelf.put(of(2, "bob"), 'b', 100);
        assert!(shelf.look().is_empty());
        shelf.put(of(3, "eve"), 'c', 100);
        for _ in 1..LOOKS {
            assert!(shelf.look().is_empty());
        }
        let mut gone = shelf.look();
        gone.sort_unstable();
        assert_eq!(gone, ['a', 'b']);
        assert_eq!((shelf.look(), shelf.len()), (vec!['c'], 0));
    }
}
