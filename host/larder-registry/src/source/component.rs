//! A component in the store as an artifact.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::Notify;

use crate::{Component, Error, Reference, Store, StoreError};
use larder_core::source::{
    Artifact, Blob, BlobRevision, Content, FetchOutcome, Signatures, SignedSubject,
};
use larder_model::name::{Digest, ProviderName};
use larder_runtime::file_fingerprint::FileFingerprint;

/// The maximum size of a manifest, in bytes.
const MAX_MANIFEST: u64 = 4 << 20;

/// A component in the store.
struct StoredComponent {
    store: Store,
    digest: Digest,
    size: u64,
    /// Wakes the follower, which pulls a damaged component again.
    wanted: Arc<Notify>,
}

/// A small text, such as a grant request.
struct Text(Bytes);

/// The artifacts of images that were found before. A scan, which runs every few seconds, only determines whether they
/// are unchanged.
#[derive(Default)]
pub(super) struct KnownArtifacts(BTreeMap<ProviderName, Vec<KnownArtifact>>);

struct KnownArtifact {
    reference: Reference,
    manifest: Digest,
    /// Names in the store are derived from the content, so content does not change. Only attachments can be added.
    attachments: Option<FileFingerprint>,
    artifact: Artifact,
}

/// The artifact that is served, and the artifact that waits.
const MAX_KNOWN: usize = 2;

impl KnownArtifacts {
    /// Returns the artifact of an image in the store.
    pub(super) fn find(
        &mut self,
        store: &Store,
        name: &ProviderName,
        reference: &Reference,
        manifest: Digest,
        wanted: Arc<Notify>,
    ) -> Result<Artifact, Error> {
        let attachments = FileFingerprint::of(&store.attachments_file(&manifest)).ok();
        let known = self.0.entry(name.clone()).or_default();
        let is_same = |known: &&KnownArtifact| {
            known.manifest == manifest
                && known.attachments == attachments
                && known.reference == *reference
        };
        if let Some(known) = known.iter().find(is_same)
            && let BlobRevision::Digest(digest) = known.artifact.component.revision()
            && store.contains(&digest)
        {
            return Ok(known.artifact.clone());
        }
        let component = Component::of(store, &manifest)?;
        let artifact = artifact(store, name, reference, &component, wanted)?;
        known.retain(|known| known.manifest != manifest);
        known.truncate(MAX_KNOWN - 1);
        let reference = reference.clone();
        known.insert(
            0,
            KnownArtifact {
                reference,
                manifest,
                attachments,
                artifact: artifact.clone(),
            },
        );
        Ok(artifact)
    }
}

/// Returns the artifact of a component in the store.
fn artifact(
    store: &Store,
    name: &ProviderName,
    reference: &Reference,
    component: &Component,
    wanted: Arc<Notify>,
) -> Result<Artifact, Error> {
    let signatures = Signatures {
        subject: SignedSubject::Manifest(store.read(&component.manifest, MAX_MANIFEST)?),
        found: store.signatures(&component.manifest)?,
        files: Vec::new(),
    };
    let digest = component.component;
    let size = component.size;
    let content = StoredComponent {
        store: store.clone(),
        digest,
        size,
        wanted,
    };
    Ok(Artifact {
        name: name.to_string(),
        origin: reference.to_string(),
        component: Blob::new(BlobRevision::Digest(digest), content),
        grant_request: component.grant_request.as_deref().map(text_blob),
        signatures,
    })
}

fn text_blob(text: &str) -> Blob {
    let text = Bytes::copy_from_slice(text.as_bytes());
    Blob::new(BlobRevision::Digest(Digest::of(&text)), Text(text))
}

/// Returns the digest of the manifest of an artifact.
pub(super) fn manifest_of(artifact: &Artifact) -> Option<Digest> {
    match &artifact.signatures.subject {
        SignedSubject::Manifest(manifest) => Some(Digest::of(manifest)),
        SignedSubject::Component | SignedSubject::Program => None,
    }
}

impl Content for StoredComponent {
    fn fetch(&self, limit: u64) -> io::Result<FetchOutcome> {
        if self.size > limit {
            return Ok(FetchOutcome::TooLarge(self.size));
        }
        match self.store.read(&self.digest, limit) {
            Ok(bytes) => Ok(FetchOutcome::Bytes(bytes)),
            Err(error) => {
                if let StoreError::Damaged(_) = error {
                    // If this fails too, the error below says what to do.
                    _ = self.store.discard_damaged(&self.digest);
                }
                self.wanted.notify_one();
                Err(io::Error::other(error))
            }
        }
    }
}

impl Content for Text {
    fn fetch(&self, limit: u64) -> io::Result<FetchOutcome> {
        let size = self.0.len() as u64;
        Ok(if size > limit {
            FetchOutcome::TooLarge(size)
        } else {
            FetchOutcome::Bytes(self.0.clone())
        })
    }
}
