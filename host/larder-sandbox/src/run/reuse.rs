//! Keeps idle guests for another call of the same caller, where the operator allows that. These are limited: the number
//! of idle guests, their idle time, the number of their calls, and the growth of their memory.

mod idle_pool;

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use self::idle_pool::IdlePool;
use super::guest::OpenGuest;
use larder_model::resource::Caller;
use larder_runtime::drain::Drain;
use larder_runtime::shares::{Resource, SharePermit};

/// Maximum number of calls of one guest. The actual number is random and at least half of this value, so that no
/// provider can rely on the number, and guests do not all end at the same time.
const MAX_CALLS: u32 = 1_024;
/// Interval between sweeps. A guest is dropped after half a minute without a call (see
/// `idle_pool::MAX_SWEEPS`).
const SWEEP_INTERVAL: Duration = Duration::from_secs(5);
/// A guest whose memory grew by more than this since instantiation, in bytes, is not kept.
const MAX_GROWTH: u64 = 32 << 20;

/// Identifies the calls for which a guest may be reused: calls of the same caller to the same revision of the same
/// provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReuseKey {
    /// The revision of the provider, which determines its component, grants and settings.
    pub(crate) revision: u64,
    /// The caller; none for calls that the host makes itself. All fields of the caller are compared, because a guest
    /// can see all of them.
    pub(crate) caller: Option<Caller>,
}

/// The idle guests. Clones share the same pool.
#[derive(Clone)]
pub(crate) struct ReusableGuests(Arc<Inner>);

struct Inner {
    state: Mutex<PoolState>,
    drain: Drain,
}

/// A guest that waits for another call.
struct IdleGuest {
    guest: OpenGuest,
    /// The guest's part of the places for idle guests.
    _places: SharePermit,
}

#[derive(Default)]
struct PoolState {
    pool: IdlePool<IdleGuest>,
    /// Whether a sweep task is running.
    is_sweeping: bool,
}

impl ReusableGuests {
    /// Creates an empty pool.
    pub(crate) fn new(drain: &Drain) -> Self {
        Self(Arc::new(Inner {
            state: Mutex::default(),
            drain: drain.clone(),
        }))
    }

    /// Takes the guest with this key that was idle for the shortest time.
    pub(super) fn take(&self, key: &ReuseKey) -> Option<OpenGuest> {
        let idle = self.0.lock().pool.take(key)?;
        Some(idle.guest)
    }

    /// Keeps a guest for the next call. The guest is dropped instead if it has no calls left or has grown too much, if
    /// its code was replaced, if memory is short, or if its team has used up its places for idle guests.
    pub(super) fn keep(&self, key: ReuseKey, mut guest: OpenGuest) {
        let calls_left = calls_left_after_call(&guest);
        guest.calls_left = Some(calls_left);
        let has_memory = guest.store.data().lease.memory.budget().has_plenty();
        let is_worn = calls_left == 0 || guest.memory_growth() > MAX_GROWTH;
        if is_worn || !has_memory || self.0.drain.is_stopping() {
            return;
        }
        let Some(taken) = take_idle_places(&guest) else {
            return;
        };
        let guest = IdleGuest {
            guest,
            _places: taken,
        };
        let mut state = self.0.lock();
        // This is examined with the lock: the code that replaces a provider's code first records the replacement, and
        // then drops the guests in the pool.
        let rejected = if guest.guest.has_replaced_code() {
            Some(guest)
        } else {
            state.pool.put(key, guest)
        };
        let starts_sweep = rejected.is_none() && !std::mem::replace(&mut state.is_sweeping, true);
        // Dropping a guest takes time, so the lock is released before.
        drop(state);
        drop(rejected);
        if starts_sweep {
            self.0.drain.spawn(sweep(Arc::downgrade(&self.0)));
        }
    }

    /// Drops all guests of a revision.
    pub(crate) fn discard(&self, revision: u64) {
        let removed = self.0.lock().pool.remove_revision(revision);
        drop(removed);
    }

    /// Returns a function that drops all guests of a revision.
    pub(crate) fn discarder(&self, revision: u64) -> impl Fn() + Send + Sync + 'static {
        // A guest refers to the function, and the pool to the guest.
        let inner = Arc::downgrade(&self.0);
        move || {
            if let Some(inner) = inner.upgrade() {
                Self(inner).discard(revision);
            }
        }
    }

    /// The number of idle guests.
    pub(crate) fn len(&self) -> usize {
        self.0.lock().pool.len()
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock()
    }
}

fn calls_left_after_call(guest: &OpenGuest) -> u32 {
    let initial = || MAX_CALLS / 2 + random_below(MAX_CALLS / 2);
    guest.calls_left.unwrap_or_else(initial).saturating_sub(1)
}

fn take_idle_places(guest: &OpenGuest) -> Option<SharePermit> {
    let places = guest.places();
    let shares = &guest.store.data().lease.shares;
    shares.try_take(Resource::IdleGuests, places)
}

/// Drops guests that were idle for too long. Ends when the pool is empty or the server stops.
async fn sweep(inner: Weak<Inner>) {
    loop {
        tokio::time::sleep(SWEEP_INTERVAL).await;
        let Some(inner) = inner.upgrade() else { return };
        let mut state = inner.lock();
        let removed = if inner.drain.is_stopping() {
            state.pool.clear()
        } else {
            state.pool.sweep()
        };
        state.is_sweeping = state.pool.len() > 0;
        let is_done = !state.is_sweeping;
        drop(state);
        drop(removed);
        if is_done {
            return;
        }
    }
}

/// Returns 0 if the system has no random numbers, which is sufficient here.
fn random_below(limit: u32) -> u32 {
    getrandom::u32().unwrap_or_default() % limit.max(1)
}
