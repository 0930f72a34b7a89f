//! The full-text index in the status.

use serde::{Deserialize, Serialize};

use larder_core::search_index::ProviderProgress;

/// The part of a provider in the full-text index.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IndexStatus {
    /// The number of resources whose text can be found.
    pub documents: u64,
    /// The bytes of the text of these resources.
    pub bytes: u64,
    /// The limit of the bytes of all providers of the team.
    pub max_bytes: u64,
    /// The number of resources that have to be read.
    pub pending: u64,
    /// Why the index is not complete.
    pub error: Option<String>,
}

impl IndexStatus {
    pub(super) fn of(progress: &ProviderProgress) -> Self {
        Self {
            documents: progress.documents,
            bytes: progress.bytes,
            max_bytes: progress.max_bytes,
            pending: progress.pending,
            error: progress.error.clone(),
        }
    }
}
