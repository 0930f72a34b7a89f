//! Guests that wait for another call of the same caller, where their operator allows that they are used again. All of
//! it is bounded: how many wait, how long, for how many calls, and what memory they may have taken since they began.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

use super::guest::Guest;
use crate::drain::Drain;
use crate::resource::Caller;

/// Calls of one guest: at least half of these, at random, so that no provider can count on it and not all end at once.
const CALLS: u32 = 1_024;
/// How often is looked for those that have waited too long.
const SWEEP: Duration = Duration::from_secs(5);
/// Over how many of these looks one waits: half a minute.
const LOOKS: u64 = 6;
/// Bytes of memory that a guest may have taken since it began and still be kept.
const GROWTH: u64 = 32 << 20;
/// Guests that wait for one caller of one provider.
const EACH: usize = 8;

/// Whose guest it is, and of which provider: a guest never has another caller, and never a newer component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Of the provider: it names the component, its grants and its settings.
    pub revision: u64,
    /// None for the host itself. Whole, as a guest may be told all of it.
    pub caller: Option<Caller>,
}

/// Those that wait. Clones are the same.
#[derive(Clone)]
pub(super) struct Warm(Arc<Inner>);

struct Inner {
    shelf: Mutex<Shelf>,
    /// In all.
    most: usize,
    drain: Drain,
}

#[derive(Default)]
struct Shelf {
    /// By revision.
    waiting: HashMap<u64, Vec<Waiting>>,
    count: usize,
    /// How often was looked for those that have waited too long.
    looks: u64,
    /// Whether somebody looks for those that have waited too long.
    is_swept: bool,
}

struct Waiting {
    caller: Option<Caller>,
    guest: Guest,
    _slot: OwnedSemaphorePermit,
    /// The looks until then: no clock is needed for each call.
    since: u64,
}

impl Warm {
    /// Of so many slots a quarter may be taken by those that wait.
    pub(super) fn new(slots: u32, drain: &Drain) -> Self {
        Self(Arc::new(Inner { shelf: Mutex::default(), most: slots as usize / 4, drain: drain.clone() }))
    }

    /// The one that was called last, with its slot.
    pub(super) fn take(&self, owner: &Owner) -> Option<(Guest, OwnedSemaphorePermit)> {
        let mut shelf = self.0.shelf();
        let waiting = shelf.waiting.get_mut(&owner.revision)?;
        let last = waiting.iter().rposition(|one| one.caller == owner.caller)?;
        let last = waiting.remove(last);
        shelf.count -= 1;
        Some((last.guest, last._slot))
    }

    /// Keeps a guest for the next call, unless there is a reason against it.
    pub(super) fn keep(&self, owner: Owner, mut guest: Guest, slot: OwnedSemaphorePermit) {
        let left = guest.left.unwrap_or_else(|| CALLS / 2 + random_below(CALLS / 2)).saturating_sub(1);
        guest.left = Some(left);
        if left == 0 || guest.grown() > GROWTH || self.0.drain.is_stopping() {
            return;
        }
        let mut shelf = self.0.shelf();
        let (is_full, since) = (shelf.count >= self.0.most, shelf.looks);
        let Owner { revision, caller } = owner;
        let waiting = shelf.waiting.entry(revision).or_default();
        if is_full || waiting.iter().filter(|one| one.caller == caller).count() >= EACH {
            // Its end takes time that nobody should wait for.
            drop(shelf);
            return drop(guest);
        }
        waiting.push(Waiting { caller, guest, _slot: slot, since });
        shelf.count += 1;
        if !std::mem::replace(&mut shelf.is_swept, true) {
            self.0.drain.spawn(sweep(Arc::downgrade(&self.0)));
        }
    }

    /// Ends all of a revision that is not served any more.
    pub(super) fn forget(&self, revision: u64) {
        let gone = self.0.shelf().remove(|of, _| of == revision);
        drop(gone);
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.0.shelf().count
    }
}

impl Inner {
    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelf {
    fn remove(&mut self, which: impl Fn(u64, &Waiting) -> bool) -> Vec<Waiting> {
        let mut gone = Vec::new();
        self.waiting.retain(|revision, waiting| {
            gone.extend(waiting.extract_if(.., |one| which(*revision, one)));
            !waiting.is_empty()
        });
        self.count -= gone.len();
        gone
    }
}

/// Until none waits, or the house closes.
async fn sweep(inner: Weak<Inner>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        let Some(inner) = inner.upgrade() else { return };
        let mut shelf = inner.shelf();
        shelf.looks += 1;
        let looks = shelf.looks;
        let gone = match inner.drain.is_stopping() {
            true => shelf.remove(|_, _| true),
            false => shelf.remove(|_, one| looks - one.since > LOOKS),
        };
        shelf.is_swept = shelf.count > 0;
        let is_over = !shelf.is_swept;
        drop(shelf);
        drop(gone);
        if is_over {
            return;
        }
    }
}

/// Where the system has no random numbers, none is as good as any.
fn random_below(most: u32) -> u32 {
    getrandom::u32().unwrap_or_default() % most.max(1)
}
