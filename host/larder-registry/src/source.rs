//! OCI registries as a source: the components that the configuration names by reference. The components are served from
//! the local store. A separate task calls the registries and fills the store, so a registry that does not answer does
//! not delay components in the store.

mod component;
mod config;
mod follower;
mod locked;
mod revisions;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use self::component::{KnownArtifacts, manifest_of};
pub use self::config::{RegistryComponent, RegistryConfig, UpdateMode};
pub use self::follower::RegistryFollower;
pub use self::locked::LockedFolder;
use self::revisions::{Revisions, Target};
use crate::{Error, LockFile, StoreError};
use larder_core::source::{Artifact, BlobRevision, PendingArtifact, Scan, ScanTriggers, Source};
use larder_model::name::{Digest, ProviderName};

/// How long the start waits for components that are missing in the store.
const START_WAIT: Duration = Duration::from_secs(10);
/// The time between scans while the start waits.
const START_SCAN_INTERVAL: Duration = Duration::from_millis(50);

/// The registries as a source.
pub struct RegistrySource {
    config: watch::Receiver<RegistryConfig>,
    revisions: Arc<Revisions>,
    /// The artifacts of the last scan. They stay in use if the store is damaged.
    served: BTreeMap<ProviderName, Artifact>,
    known: KnownArtifacts,
    started: Instant,
}

/// Replaces the configuration of a running source.
#[derive(Debug, Clone)]
pub struct RegistryHandle {
    config: watch::Sender<RegistryConfig>,
    revisions: Arc<Revisions>,
}

impl RegistryHandle {
    /// Creates the source of a team, its follower, and the handle. The caller must run the follower.
    pub fn new(config: RegistryConfig) -> (Self, RegistrySource, RegistryFollower) {
        let (sender, receiver) = watch::channel(config);
        let revisions = Arc::new(Revisions::default());
        let follower = RegistryFollower::new(receiver.clone(), revisions.clone());
        let served = BTreeMap::new();
        let known = KnownArtifacts::default();
        let started = Instant::now();
        let source = RegistrySource {
            config: receiver,
            revisions: revisions.clone(),
            served,
            known,
            started,
        };
        let handle = Self {
            config: sender,
            revisions,
        };
        (handle, source, follower)
    }

    /// Replaces the configuration. The next scan uses it. The caller triggers the scan.
    pub fn update(&self, config: RegistryConfig) {
        self.config.send_if_modified(|before| {
            let differs = *before != config;
            *before = config;
            differs
        });
    }

    /// The number of components whose last check at their registry failed.
    pub fn failing(&self) -> usize {
        self.revisions.failing(&self.config.borrow())
    }
}

impl Source for RegistrySource {
    fn location(&self) -> String {
        "the registries".into()
    }

    fn scan(&mut self) -> io::Result<Scan> {
        let config = self.config.borrow().clone();
        let mut scan = Scan::default();
        if config.components.is_empty() {
            self.served.clear();
            return Ok(scan);
        }
        scan.reserved = config.components.keys().map(ToString::to_string).collect();
        self.served
            .retain(|name, _| config.components.contains_key(name));
        let lock = config.read_lock().map_err(io::Error::other)?;
        for (name, component) in &config.components {
            self.scan_component(&config, lock.as_ref(), name, component, &mut scan);
        }
        scan.artifacts = self.served.values().cloned().collect();
        let is_waiting = !scan.pending.is_empty() && self.started.elapsed() < START_WAIT;
        scan.rescan_after =
            (is_waiting && scan.pending.iter().any(is_incomplete)).then_some(START_SCAN_INTERVAL);
        Ok(scan)
    }

    fn register_triggers(&mut self, triggers: &mut ScanTriggers) {
        // The periodic scan finds changes of the lock file, as in `LockedFolder`.
        self.revisions.set_wake(triggers.wake());
    }

    fn accept(&mut self, artifact: &Artifact) {
        let config = self.config.borrow().clone();
        if let (Ok(name), Some(manifest)) =
            (ProviderName::parse(&artifact.name), manifest_of(artifact))
        {
            self.revisions.accept(&config, &name, manifest);
            self.served.insert(name, artifact.clone());
        }
    }
}

impl RegistrySource {
    /// Determines which artifact to serve for one reference, and which artifact waits.
    fn scan_component(
        &mut self,
        config: &RegistryConfig,
        lock: Option<&LockFile>,
        name: &ProviderName,
        component: &RegistryComponent,
        scan: &mut Scan,
    ) {
        let origin = component.reference.to_string();
        let target = self.revisions.target(config, lock, name, component);
        let Target {
            accepted,
            latest,
            error: mut problem,
        } = target.unwrap_or_else(Target::failed);
        match accepted.map(|digest| self.find(config, name, component, digest)) {
            Some(Ok(artifact)) => _ = self.served.insert(name.clone(), artifact),
            Some(Err(StoreMiss::Blob)) | None if problem.is_none() => {
                self.revisions.wanted(name).notify_one();
                scan.pending.push(PendingArtifact::Incomplete {
                    origin: origin.clone(),
                });
            }
            Some(Err(StoreMiss::Failed(error))) => problem = problem.or(Some(error)),
            _ => {}
        }
        if let Some(digest) = latest.filter(|latest| Some(*latest) != accepted)
            && let Ok(artifact) = self.find(config, name, component, digest)
        {
            scan.pending.push(update(artifact, &origin, digest));
        }
        if let Some(problem) = problem {
            scan.unreadable.insert(origin, io::Error::other(problem));
        }
    }

    /// Returns the artifact of an image in the store.
    fn find(
        &mut self,
        config: &RegistryConfig,
        name: &ProviderName,
        component: &RegistryComponent,
        manifest: Digest,
    ) -> Result<Artifact, StoreMiss> {
        let store = self
            .revisions
            .store(config)
            .map_err(|error| StoreMiss::Failed(error.to_string()))?;
        let wanted = self.revisions.wanted(name);
        match self
            .known
            .find(&store, name, &component.reference, manifest, wanted)
        {
            Ok(artifact) => Ok(artifact),
            Err(Error::Store(StoreError::Missing(_))) => Err(StoreMiss::Blob),
            Err(error) => {
                self.revisions.discard(&store, manifest);
                Err(StoreMiss::Failed(error.to_string()))
            }
        }
    }
}

/// Why an image cannot be served from the store.
enum StoreMiss {
    /// The component must be pulled.
    Blob,
    Failed(String),
}

/// Returns the update that waits until the operator accepts it.
fn update(artifact: Artifact, origin: &str, manifest: Digest) -> PendingArtifact {
    let digest = match artifact.component.revision() {
        BlobRevision::Digest(digest) => digest,
        BlobRevision::Fingerprint(_) => manifest,
    };
    let lines = BTreeSet::from([format!("update {origin} to sha256:{manifest}")]);
    PendingArtifact::Update {
        artifact: Box::new(artifact),
        digest,
        lines,
    }
}

fn is_incomplete(pending: &PendingArtifact) -> bool {
    matches!(pending, PendingArtifact::Incomplete { .. })
}
