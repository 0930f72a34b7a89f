//! What a source has: components in one revision each, and new revisions that are not ready yet.

use std::collections::BTreeSet;

use super::Blob;
use larder_model::name::Digest;

/// A component in one revision, with what belongs to it. Two artifacts are equal if nothing has to be loaded again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// The name of the provider. It may be invalid; then the component is rejected.
    pub name: String,
    /// Where it comes from, for people: a file name, or a registry reference.
    pub origin: String,
    /// The component.
    pub component: Blob,
    /// The grants that it requests, in the format of `NAME.toml`.
    pub grant_request: Option<Blob>,
    /// Whether its publisher was verified.
    pub verification: Verification,
}

/// Whether the publisher of an artifact was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verification {
    /// The source does not verify publishers. Whoever can write to it is trusted.
    NotVerified,
    /// The source verified the publisher.
    Verified {
        /// The identity of the publisher.
        by: String,
    },
    /// The verification failed. The artifact is rejected.
    Failed {
        /// The cause, as a sentence.
        reason: String,
    },
}

/// A new artifact that must not be loaded yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PendingArtifact {
    /// It is still being written or downloaded.
    Incomplete {
        /// Where it comes from, for people.
        origin: String,
    },
    /// It takes the place of the artifact of the same name as soon as the operator has approved these lines. For
    /// example, a tag was moved to another digest.
    NeedsApproval {
        /// The new artifact.
        artifact: Box<Artifact>,
        /// The digest of its component.
        digest: Digest,
        /// What needs approval. Each line is approved separately, once and for all.
        lines: BTreeSet<String>,
    },
}
