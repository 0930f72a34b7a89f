//! What a source has: components in one revision each, and new revisions that are not ready yet.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::{Blob, Fetched};
use larder_model::name::Digest;
use larder_model::signature::{
    BUNDLE_EXTENSION, FoundSignature, MAX_SIGNATURE_SIZE, Reason, Signature,
};

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
    /// Its signatures, which are verified when it is loaded.
    pub signatures: Signatures,
}

/// The signatures that a source found. Nobody has verified them.
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
}

/// A new artifact that must not be loaded yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PendingArtifact {
    /// It is still being written or downloaded.
    Incomplete {
        /// Where it comes from, for people.
        origin: String,
    },
    /// It takes the place of the artifact of the same name as soon as the operator has approved these lines.
    NeedsApproval {
        /// The new artifact.
        artifact: Box<Artifact>,
        /// The digest of its component.
        digest: Digest,
        /// What needs approval. Each line is approved separately, once and for all.
        lines: BTreeSet<String>,
    },
    /// It takes the place of the artifact of the same name as soon as the operator has accepted it, whether or not grant
    /// requests need an approval.
    Update {
        /// The new artifact.
        artifact: Box<Artifact>,
        /// The digest of its component.
        digest: Digest,
        /// What the operator accepts: from where to where the reference was moved.
        lines: BTreeSet<String>,
    },
}

impl Signatures {
    /// Returns all signatures; those in files are read. Blocks the calling thread.
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
        Ok(Fetched::Bytes(bytes)) if name.ends_with(BUNDLE_EXTENSION) => {
            Ok(Signature::Bundle(bytes))
        }
        Ok(Fetched::Bytes(bytes)) => Ok(Signature::Detached(bytes)),
        Ok(Fetched::TooLarge(size)) => {
            Err(format!("it has {size} bytes; the limit is {MAX_SIGNATURE_SIZE}").into())
        }
        Err(error) => Err(Reason::temporary(format!("it cannot be read: {error}"))),
    }
}
