//! Which other replicas watch a URI.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::uri_hash::{SetDigest, UriHash};
use crate::replica_id::ReplicaId;

/// The interest of all other replicas.
#[derive(Debug, Default)]
pub(super) struct InterestIndex(HashMap<UriHash, SmallVec<[ReplicaId; 2]>>);

impl InterestIndex {
    pub(super) fn watchers(&self, hash: UriHash) -> &[ReplicaId] {
        self.0.get(&hash).map_or(&[], SmallVec::as_slice)
    }

    pub(super) fn add(&mut self, replica: ReplicaId, hash: UriHash, digest: &mut SetDigest) {
        let watchers = self.0.entry(hash).or_default();
        if !watchers.contains(&replica) {
            watchers.push(replica);
            digest.add(hash);
        }
    }

    pub(super) fn remove(&mut self, replica: ReplicaId, hash: UriHash, digest: &mut SetDigest) {
        let Some(watchers) = self.0.get_mut(&hash) else {
            return;
        };
        let Some(at) = watchers.iter().position(|watcher| *watcher == replica) else {
            return;
        };
        watchers.swap_remove(at);
        digest.remove(hash);
        if watchers.is_empty() {
            self.0.remove(&hash);
        }
    }

    /// Removes everything that a replica watches.
    pub(super) fn clear(&mut self, replica: ReplicaId, digest: &mut SetDigest) {
        if digest.count > 0 {
            self.0.retain(|_, watchers| {
                watchers.retain(|watcher| *watcher != replica);
                !watchers.is_empty()
            });
        }
        *digest = SetDigest::default();
    }
}
