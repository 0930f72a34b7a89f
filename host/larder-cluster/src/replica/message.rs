//! The messages between replicas. Unknown fields are ignored, so that replicas of different versions can exchange
//! messages during an upgrade.

use serde::{Deserialize, Serialize};

use super::uri_hash::{HashList, SetDigest};

/// The number of hashes in one message, of less than 512 KiB.
pub(super) const MAX_HASHES: usize = 16 << 10;

/// The value in the bucket of leases: shows that a replica is alive, and what it sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lease {
    /// The version of the program.
    pub(crate) version: String,
    /// How long the replica is alive without another message.
    pub(crate) milliseconds: u64,
    /// The number of the last batch of interest.
    pub(crate) batch: u64,
    /// The digest of the watched URIs after this batch.
    pub(crate) watched: SetDigest,
    /// The number of events that were sent.
    pub(crate) events: u64,
}

/// A change of the URIs that a replica watches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InterestBatch {
    /// Counts the batches of a replica from 1.
    pub(crate) number: u64,
    #[serde(default)]
    pub(crate) added: HashList,
    #[serde(default)]
    pub(crate) removed: HashList,
}

/// A part of the URIs that a replica watches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SnapshotPart {
    /// The last batch that the snapshot contains.
    pub(crate) batch: u64,
    /// Counts the parts from 0.
    pub(crate) part: usize,
    pub(crate) parts: usize,
    pub(crate) hashes: HashList,
}
