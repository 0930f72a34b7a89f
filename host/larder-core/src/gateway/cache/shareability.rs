//! Predicts whether the response for a URI can be shared, from the last response for it. The predictions are
//! in a hash table of fixed size. A wrong prediction costs time or an extra call, never a wrong response:
//! each response is checked again before it is used.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{CacheRequest, CachedResponse};

const SLOTS: usize = 4_096;

/// Who can use the next response for a URI. The prediction is made from the last response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shareability {
    /// There was no response yet.
    Unknown,
    /// The whole team.
    Team,
    /// Only the same caller.
    Caller,
    /// No other read can use it.
    NotCacheable,
}

/// Each slot holds the hash of a revision and URI; the hash's last two bits are replaced by the prediction.
#[derive(Debug)]
pub(super) struct ShareabilityTable {
    slots: Box<[AtomicU64]>,
    hasher: RandomState,
}

impl Default for ShareabilityTable {
    fn default() -> Self {
        Self {
            slots: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(),
            hasher: RandomState::new(),
        }
    }
}

impl ShareabilityTable {
    pub(super) fn get(&self, request: &CacheRequest<'_>) -> Shareability {
        use Shareability::{Caller, NotCacheable, Team, Unknown};
        let (slot, hash) = self.slot(request);
        match slot.load(Ordering::Relaxed) {
            word if word & !3 != hash => Unknown,
            word => [Unknown, Team, Caller, NotCacheable][(word & 3) as usize],
        }
    }

    pub(super) fn record(&self, request: &CacheRequest<'_>, response: Option<&CachedResponse>) {
        let prediction = match response {
            Some(CachedResponse { caller: None, .. }) => 1,
            Some(CachedResponse {
                caller: Some(_), ..
            }) => 2,
            None => 3,
        };
        let (slot, hash) = self.slot(request);
        slot.store(hash | prediction, Ordering::Relaxed);
    }

    fn slot(&self, request: &CacheRequest<'_>) -> (&AtomicU64, u64) {
        let hash = self.hasher.hash_one((request.revision, request.uri));
        (&self.slots[(hash >> 32) as usize % SLOTS], hash & !3)
    }
}
