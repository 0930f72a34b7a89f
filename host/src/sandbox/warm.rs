//! Guests that wait for another call of the same caller, where their operator allows that they are used again. All of
//! it is bounded: how many wait, how long, for how many calls, and what memory they may have taken since they began.

mod shelf;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

use self::shelf::Shelf;
use super::guest::Guest;
use crate::drain::Drain;
use crate::resource::Caller;

/// Calls of one guest: at least half of these, at random, so that no provider can count on it and not all end at once.
const CALLS: u32 = 1_024;
/// How often is looked for those that have waited too long, which is half a minute.
const SWEEP: Duration = Duration::from_secs(5);
/// Bytes of memory that a guest may have taken since it began and still be kept.
const GROWTH: u64 = 32 << 20;

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
    waiting: Mutex<Waiting>,
    /// In all.
    most: usize,
    drain: Drain,
}

#[derive(Default)]
struct Waiting {
    shelf: Shelf<(Guest, OwnedSemaphorePermit)>,
    /// Whether somebody looks for those that have waited too long.
    is_swept: bool,
}

impl Warm {
    /// Of so many slots a quarter may be taken by those that wait.
    pub(super) fn new(slots: u32, drain: &Drain) -> Self {
        Self(Arc::new(Inner { waiting: Mutex::default(), most: slots as usize / 4, drain: drain.clone() }))
    }

    /// The one that was called last, with its slot.
    pub(super) fn take(&self, owner: &Owner) -> Option<(Guest, OwnedSemaphorePermit)> {
        self.0.waiting().shelf.take(owner)
    }

    /// Keeps a guest for the next call, unless there is a reason against it.
    pub(super) fn keep(&self, owner: Owner, mut guest: Guest, slot: OwnedSemaphorePermit) {
        let left = guest.left.unwrap_or_else(|| CALLS / 2 + random_below(CALLS / 2)).saturating_sub(1);
        guest.left = Some(left);
        if left == 0 || guest.grown() > GROWTH || self.0.drain.is_stopping() {
            return;
        }
        let mut waiting = self.0.waiting();
        let too_many = waiting.shelf.put(owner, (guest, slot), self.0.most);
        let begins = too_many.is_none() && !std::mem::replace(&mut waiting.is_swept, true);
        // Its end takes time that nobody should wait for.
        drop(waiting);
        drop(too_many);
        if begins {
            self.0.drain.spawn(sweep(Arc::downgrade(&self.0)));
        }
    }

    /// Ends all of a revision that is not served any more.
    pub(super) fn forget(&self, revision: u64) {
        let gone = self.0.waiting().shelf.forget(revision);
        drop(gone);
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.0.waiting().shelf.len()
    }
}

impl Inner {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Until none waits, or the house closes.
async fn sweep(inner: Weak<Inner>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        let Some(inner) = inner.upgrade() else { return };
        let mut waiting = inner.waiting();
        let gone = match inner.drain.is_stopping() {
            true => waiting.shelf.clear(),
            false => waiting.shelf.look(),
        };
        waiting.is_swept = waiting.shelf.len() > 0;
        let is_over = !waiting.is_swept;
        drop(waiting);
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
