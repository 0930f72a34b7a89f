//! A source in memory, for tests. Its clones share the content, so that a test can change what a reconciler serves.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use super::{
    Artifact, Blob, BlobRevision, Content, FetchOutcome, PendingArtifact, Scan, ScanTriggers,
    Signatures, Source,
};
use larder_model::name::Digest;

/// A source in memory.
#[derive(Clone, Default)]
pub struct MemorySource(Arc<Mutex<Shared>>);

#[derive(Default)]
struct Shared {
    content: MemoryContent,
    wake: Option<Arc<Notify>>,
}

/// What a source in memory reports.
#[derive(Debug, Default)]
pub struct MemoryContent {
    /// The artifacts, by name.
    pub artifacts: BTreeMap<String, Artifact>,
    /// New artifacts that must not be loaded yet.
    pub pending: Vec<PendingArtifact>,
    /// Why the source cannot be read.
    pub error: Option<String>,
    /// Why the source is missing.
    pub missing: Option<String>,
}

impl MemorySource {
    /// Changes the content in one step, and triggers a scan.
    pub fn change(&self, change: impl FnOnce(&mut MemoryContent)) {
        let mut shared = self.lock();
        change(&mut shared.content);
        if let Some(wake) = &shared.wake {
            wake.notify_one();
        }
    }

    /// Adds a component, or replaces the component of this name.
    pub fn put(&self, name: &str, component: impl Into<Bytes>) {
        self.change(|content| content.put(Artifact::in_memory(name, component)));
    }

    /// Removes a component.
    pub fn remove(&self, name: &str) {
        self.change(|content| _ = content.artifacts.remove(name));
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock()
    }
}

impl MemoryContent {
    /// Adds an artifact, or replaces the artifact of the same name.
    pub fn put(&mut self, artifact: Artifact) {
        self.artifacts.insert(artifact.name.clone(), artifact);
    }
}

impl Source for MemorySource {
    fn location(&self) -> String {
        "memory".into()
    }

    fn scan(&mut self) -> io::Result<Scan> {
        let MemoryContent {
            artifacts,
            pending,
            error,
            missing,
        } = &self.lock().content;
        match (error, missing) {
            (Some(error), _) => Err(io::Error::other(error.clone())),
            (None, Some(_)) => Ok(Scan {
                missing: missing.clone(),
                ..Scan::default()
            }),
            (None, None) => Ok(Scan {
                artifacts: artifacts.values().cloned().collect(),
                pending: pending.clone(),
                ..Scan::default()
            }),
        }
    }

    fn register_triggers(&mut self, triggers: &mut ScanTriggers) {
        self.lock().wake = Some(triggers.wake());
    }
}

impl Artifact {
    /// Creates an artifact from the bytes of its component.
    pub fn in_memory(name: &str, component: impl Into<Bytes>) -> Self {
        Self {
            name: name.into(),
            origin: format!("memory:{name}"),
            component: Blob::in_memory(component),
            grant_request: None,
            signatures: Signatures::default(),
        }
    }
}

impl Blob {
    /// Creates a blob from its bytes.
    pub fn in_memory(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self::new(BlobRevision::Digest(Digest::of(&bytes)), bytes)
    }
}

impl Content for Bytes {
    fn fetch(&self, limit: u64) -> io::Result<FetchOutcome> {
        let size = self.len() as u64;
        Ok(if size > limit {
            FetchOutcome::TooLarge(size)
        } else {
            FetchOutcome::Bytes(self.clone())
        })
    }
}
