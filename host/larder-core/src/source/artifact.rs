//! What a source contains: components in one revision each, and new revisions that are not ready yet.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::{Blob, FetchOutcome};
use larder_model::name::Digest;
use larder_model::signature::{
    BUNDLE_EXTENSION, FoundSignature, MAX_SIGNATURE_SIZE, Reason, Signature,
};

/// A component in one revision, with its grant request and signatures. Two artifacts are equal if nothing has to be
/// loaded again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// The name of the provider. If the name is invalid, the component is rejected.
    pub name: String,
    /// The origin of the artifact, for people: a file name, or a registry reference.
    pub origin: String,
    /// The component.
    pub component: Blob,
    /// The grants that the component requests, in the format of `NAME.toml`.
    pub grant_request: Option<Blob>,
    /// The signatures, which are verified when the component is loaded.
    pub signatures: Signatures,
}

/// The signatures that a source found. They are not verified.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signatures {
    /// What was signed.
    pub subject: SignedSubject,
    /// The signatures in a registry.
    pub found: Vec<FoundSignature>,
    /// The files with signatures in a folder, by name.
    pub files: Vec<(String, Blob)>,
}

/// What was signed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SignedSubject {
    /// The component.
    #[default]
    Component,
    /// The manifest in a registry. The source has verified that it contains the digest of the component.
    Manifest(Bytes),
    /// The program, of which the component is a part. No signature of the component is needed.
    Program,
}

/// A new artifact that must not be loaded yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PendingArtifact {
    /// The artifact is still being written or downloaded.
    Incomplete {
        /// The origin of the artifact, for people.
        origin: String,
    },
    /// The artifact replaces the artifact of the same name as soon as the operator has approved these lines.
    NeedsApproval {
        /// The new artifact.
        artifact: Box<Artifact>,
        /// The digest of the artifact's component.
        digest: Digest,
        /// The lines that need approval. Each line is approved separately and permanently.
        lines: BTreeSet<String>,
    },
    /// The artifact replaces the artifact of the same name as soon as the operator has accepted it. This also applies
    /// if grant requests need no approval.
    Update {
        /// The new artifact.
        artifact: Box<Artifact>,
        /// The digest of the artifact's component.
        digest: Digest,
        /// What the operator accepts: the old and the new target of the reference.
        lines: BTreeSet<String>,
    },
}

impl Signatures {
    /// Returns all signatures. Signatures in files are read. Blocks the calling thread.
    pub fn read(&self) -> Vec<FoundSignature> {
        let files = self.files.iter().map(|(origin, file)| {
            let signature = read_file(origin, file);
            FoundSignature {
                origin: origin.clone(),
                signature,
            }
        });
        self.found.iter().cloned().chain(files).collect()
    }
}

fn read_file(name: &str, file: &Blob) -> Result<Signature, Reason> {
    match file.fetch(MAX_SIGNATURE_SIZE) {
        Ok(FetchOutcome::Bytes(bytes)) if name.ends_with(BUNDLE_EXTENSION) => {
            Ok(Signature::Bundle(bytes))
        }
        Ok(FetchOutcome::Bytes(bytes)) => Ok(Signature::Detached(bytes)),
        Ok(FetchOutcome::TooLarge(size)) => {
            Err(format!("it has {size} bytes; the limit is {MAX_SIGNATURE_SIZE}").into())
        }
        Err(error) => Err(Reason::temporary(format!("it cannot be read: {error}"))),
    }
}
