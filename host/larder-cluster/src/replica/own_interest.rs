//! The URIs that this replica watches, and the changes that were not sent to the other replicas yet.

use std::collections::{HashMap, HashSet};

use super::message::{InterestBatch, MAX_HASHES, SnapshotPart};
use super::uri_hash::{HashList, SetDigest, UriHash};

/// The URIs that this replica watches.
#[derive(Debug, Default)]
pub(super) struct OwnInterest {
    hashes: HashSet<UriHash>,
    digest: SetDigest,
    /// The hashes that were added (true) or removed (false) since the last batch.
    unsent: HashMap<UriHash, bool>,
    last_batch: u64,
}

impl OwnInterest {
    pub(super) fn add(&mut self, hash: UriHash) {
        if self.hashes.insert(hash) {
            self.digest.add(hash);
            self.note(hash, true);
        }
    }

    pub(super) fn remove(&mut self, hash: UriHash) {
        if self.hashes.remove(&hash) {
            self.digest.remove(hash);
            self.note(hash, false);
        }
    }

    /// If a hash is added and removed again before a batch, it is not sent.
    fn note(&mut self, hash: UriHash, is_added: bool) {
        if self.unsent.remove(&hash).is_none() {
            self.unsent.insert(hash, is_added);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = UriHash> {
        self.hashes.iter().copied()
    }

    pub(super) fn len(&self) -> usize {
        self.hashes.len()
    }

    pub(super) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Returns the changes that must be sent to the other replicas.
    pub(super) fn take_batches(&mut self) -> Vec<InterestBatch> {
        let unsent: Vec<_> = self.unsent.drain().collect();
        let batches = unsent.chunks(MAX_HASHES).map(|chunk| {
            self.last_batch = self.last_batch.saturating_add(1);
            let (added, removed): (Vec<_>, Vec<_>) =
                chunk.iter().partition(|(_, is_added)| *is_added);
            let list = |changes: Vec<(UriHash, bool)>| {
                HashList(changes.into_iter().map(|(hash, _)| hash).collect())
            };
            InterestBatch {
                number: self.last_batch,
                added: list(added),
                removed: list(removed),
            }
        });
        batches.collect()
    }

    /// The number of the last batch, and the digest after it. All changes must have been sent.
    pub(super) fn sent(&self) -> (u64, SetDigest) {
        debug_assert!(!self.has_unsent(), "the digest contains what was not sent");
        (self.last_batch, self.digest)
    }

    /// All hashes, for a replica that missed a batch. All changes must have been sent.
    pub(super) fn snapshot(&self) -> Vec<SnapshotPart> {
        let (batch, _) = self.sent();
        let hashes: Vec<_> = self.iter().collect();
        let parts = hashes.len().div_ceil(MAX_HASHES).max(1);
        let part = |part: usize| {
            let chunk = hashes
                .iter()
                .skip(part.saturating_mul(MAX_HASHES))
                .take(MAX_HASHES)
                .copied();
            SnapshotPart {
                batch,
                part,
                parts,
                hashes: HashList(chunk.collect()),
            }
        };
        (0..parts).map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_contains_what_changed() {
        let mut own = OwnInterest::default();
        (0..3).for_each(|n| own.add(UriHash(n)));
        own.add(UriHash(0));
        own.remove(UriHash(2));
        own.remove(UriHash(9));
        let batches = own.take_batches();
        assert_eq!(batches.len(), 1);
        let mut added = batches[0].added.0.clone();
        added.sort_unstable();
        assert_eq!(
            (batches[0].number, added),
            (1, vec![UriHash(0), UriHash(1)])
        );
        assert_eq!(batches[0].removed.0, []);
        assert_eq!(own.take_batches(), []);
        own.remove(UriHash(1));
        assert_eq!(own.take_batches()[0].removed.0, [UriHash(1)]);
        assert_eq!((own.sent().0, own.sent().1.count), (2, 1));
    }

    #[test]
    fn large_sets_are_sent_in_parts() {
        let mut own = OwnInterest::default();
        assert_eq!(own.snapshot().len(), 1, "an empty set is a part too");
        (0..MAX_HASHES as u128 + 1).for_each(|n| own.add(UriHash(n)));
        assert_eq!(own.take_batches().len(), 2);
        let parts = own.snapshot();
        assert_eq!(
            (parts.len(), parts[0].batch, parts[1].hashes.0.len()),
            (2, 2, 1)
        );
    }
}
