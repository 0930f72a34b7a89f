//! For each reference: the image that is served, and the newest image. The source and its follower share this state.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use super::{RegistryComponent, RegistryConfig, UpdateMode};
use crate::{LockFile, Reference, Resolution, Store, StoreError};
use larder_model::name::{Digest, ProviderName};

/// What is known about all references of a team.
#[derive(Debug, Default)]
pub(super) struct Revisions(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    store: Option<Store>,
    known: BTreeMap<ProviderName, KnownReference>,
    /// Wake the followers.
    wanted: BTreeMap<ProviderName, Arc<Notify>>,
    /// Triggers a scan.
    wake: Option<Arc<Notify>>,
}

/// What is known about one reference.
#[derive(Debug, Clone)]
struct KnownReference {
    reference: String,
    /// Whether the resolution was read from the store.
    is_read: bool,
    resolution: Option<Resolution>,
    /// Why the last check failed.
    error: Option<String>,
}

impl KnownReference {
    fn new(reference: String) -> Self {
        Self {
            reference,
            is_read: false,
            resolution: None,
            error: None,
        }
    }
}

impl Inner {
    /// Returns what is known about the reference of a provider, which may be another one.
    fn known_or_new(&mut self, name: &ProviderName, reference: &str) -> &mut KnownReference {
        let known = self.known.entry(name.clone());
        known.or_insert_with(|| KnownReference::new(reference.to_owned()))
    }
}

/// The image to serve for a reference.
#[derive(Default)]
pub(super) struct Target {
    pub(super) accepted: Option<Digest>,
    pub(super) latest: Option<Digest>,
    /// The error, for operators.
    pub(super) error: Option<String>,
}

impl Target {
    pub(super) fn failed(error: String) -> Self {
        Self {
            error: Some(error),
            ..Self::default()
        }
    }
}

impl Revisions {
    pub(super) fn set_wake(&self, wake: Arc<Notify>) {
        self.lock().wake = Some(wake);
    }

    /// Returns the notification that content of this provider is missing in the store.
    pub(super) fn wanted(&self, name: &ProviderName) -> Arc<Notify> {
        self.lock().wanted.entry(name.clone()).or_default().clone()
    }

    /// Returns the store of the team. The store is opened when it is first needed. Blocks the calling thread.
    pub(super) fn store(&self, config: &RegistryConfig) -> Result<Store, StoreError> {
        let folder = config.store_in(&config.store);
        if let Some(store) = self
            .lock()
            .store
            .as_ref()
            .filter(|store| store.folder() == folder)
        {
            return Ok(store.clone());
        }
        let store = Store::open(&folder)?;
        if let Some(lock_file) = config.lock_file.as_ref().filter(|file| file.exists()) {
            store.register_lock_file(lock_file)?;
        }
        self.lock().store = Some(store.clone());
        Ok(store)
    }

    /// Determines which image to serve for a reference. Blocks the calling thread.
    pub(super) fn target(
        &self,
        config: &RegistryConfig,
        lock: Option<&LockFile>,
        name: &ProviderName,
        component: &RegistryComponent,
    ) -> Result<Target, String> {
        let reference = &component.reference;
        let pinned = reference.pinned();
        let locked = lock
            .and_then(|lock| config.locked(lock, name, reference))
            .map(|locked| locked.digest);
        if config.is_locked {
            require_locked(name, pinned, locked)?;
        }
        let known = self.known(config, name, component)?;
        let error = known.error;
        let fixed = pinned.or(locked.filter(|_| config.is_locked));
        if fixed.is_some() {
            return Ok(Target {
                accepted: fixed,
                latest: None,
                error,
            });
        }
        let resolution = with_lock(known.resolution, locked);
        if let Some(resolution) = &resolution {
            self.set(config, name, component, resolution.clone())
                .map_err(|error| error.to_string())?;
        }
        let accepted = resolution.as_ref().map(|resolution| resolution.accepted);
        Ok(Target {
            accepted,
            latest: resolution.map(|resolution| resolution.latest),
            error,
        })
    }

    /// Records the newest image of a reference, which is in the store.
    pub(super) fn found(
        &self,
        config: &RegistryConfig,
        name: &ProviderName,
        component: &RegistryComponent,
        latest: Digest,
    ) -> Result<(), StoreError> {
        let before = self.known_resolution(name);
        let before = before.unwrap_or_else(|| new_resolution(latest, None));
        let accepted = if component.update == UpdateMode::Auto {
            latest
        } else {
            before.accepted
        };
        self.set(
            config,
            name,
            component,
            Resolution {
                accepted,
                latest,
                checked: SystemTime::now(),
                ..before
            },
        )
    }

    /// From now on, serves this image.
    pub(super) fn accept(&self, config: &RegistryConfig, name: &ProviderName, manifest: Digest) {
        let Some(component) = config.components.get(name) else {
            return;
        };
        let before = self.known_resolution(name);
        let Some(before) = before.filter(|before| before.accepted != manifest) else {
            return;
        };
        let accepted = Resolution {
            accepted: manifest,
            ..before
        };
        if let Err(error) = self.set(config, name, component, accepted) {
            tracing::warn!(provider = %name, %error, "the accepted update cannot be recorded");
        }
    }

    fn known_resolution(&self, name: &ProviderName) -> Option<Resolution> {
        self.lock().known.get(name)?.resolution.clone()
    }

    /// Records the result of a check, and triggers a scan.
    pub(super) fn checked(
        &self,
        name: &ProviderName,
        reference: &Reference,
        error: Option<String>,
    ) {
        let mut inner = self.lock();
        let reference = reference.to_string();
        let known = inner.known_or_new(name, &reference);
        if known.reference == reference {
            known.error = error;
        }
        if let Some(wake) = &inner.wake {
            wake.notify_one();
        }
    }

    /// The number of configured components whose last check failed.
    pub(super) fn failing(&self, config: &RegistryConfig) -> usize {
        let inner = self.lock();
        let known = inner
            .known
            .iter()
            .filter(|(name, known)| config.components.contains_key(*name) && known.error.is_some());
        known.count()
    }

    /// Removes a damaged manifest, so that it is pulled again.
    pub(super) fn discard(&self, store: &Store, manifest: Digest) {
        if let Err(error) = store.discard_damaged(&manifest) {
            tracing::warn!(%error, "what is damaged cannot be removed from the store");
        }
    }

    /// Returns the known resolution of a reference: from this process, or from the store.
    fn known(
        &self,
        config: &RegistryConfig,
        name: &ProviderName,
        component: &RegistryComponent,
    ) -> Result<KnownReference, String> {
        let reference = component.reference.to_string();
        let known = self
            .lock()
            .known
            .get(name)
            .filter(|known| known.reference == reference)
            .cloned();
        if let Some(known) = known.as_ref().filter(|known| known.is_read) {
            return Ok(known.clone());
        }
        let store = self.store(config).map_err(|error| error.to_string())?;
        let resolution = store.resolution(&config.key(name, &component.reference));
        let resolution = resolution.map_err(|error| error.to_string())?;
        let known = known.unwrap_or_else(|| KnownReference::new(reference));
        let known = KnownReference {
            resolution: known.resolution.or(resolution),
            is_read: true,
            ..known
        };
        self.lock().known.insert(name.clone(), known.clone());
        Ok(known)
    }

    /// Records a resolution in this process and in the store.
    fn set(
        &self,
        config: &RegistryConfig,
        name: &ProviderName,
        component: &RegistryComponent,
        resolution: Resolution,
    ) -> Result<(), StoreError> {
        let store = self.store(config)?;
        let reference = component.reference.to_string();
        {
            let mut inner = self.lock();
            let known = inner.known_or_new(name, &reference);
            // The configuration has another reference by now.
            if known.reference != reference || known.resolution.as_ref() == Some(&resolution) {
                return Ok(());
            }
            known.resolution = Some(resolution.clone());
        }
        store.set_resolution(&config.key(name, &component.reference), &resolution)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock()
    }
}

fn require_locked(
    name: &ProviderName,
    pinned: Option<Digest>,
    locked: Option<Digest>,
) -> Result<(), String> {
    if locked.is_none() {
        return Err(format!(
            "{name} with this reference is not in the lock file: run `larder lock`"
        ));
    }
    if pinned.is_some() && pinned != locked {
        return Err(format!(
            "{name} has another digest in the lock file: run `larder lock`"
        ));
    }
    Ok(())
}

/// Returns the resolution with what the lock file records.
fn with_lock(known: Option<Resolution>, locked: Option<Digest>) -> Option<Resolution> {
    match (known, locked) {
        // The lock file was changed, for example by `larder update`.
        (Some(before), Some(digest)) if before.locked != Some(digest) => Some(Resolution {
            accepted: digest,
            locked: Some(digest),
            ..before
        }),
        (None, Some(digest)) => Some(new_resolution(digest, Some(digest))),
        (resolution, _) => resolution,
    }
}

fn new_resolution(digest: Digest, locked: Option<Digest>) -> Resolution {
    Resolution {
        accepted: digest,
        latest: digest,
        locked,
        checked: SystemTime::now(),
    }
}
