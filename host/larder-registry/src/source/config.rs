//! The configuration of the components that a team takes from registries.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Access, LockError, LockFile, LockedComponent, Reference, ResolutionKey, Store};
use larder_model::name::ProviderName;

/// The configuration of the components that a team takes from registries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryConfig {
    /// The components, by the name of the provider.
    pub components: BTreeMap<ProviderName, RegistryComponent>,
    /// The permitted registries.
    pub access: Access,
    /// The folder of the local store of the server.
    pub store: PathBuf,
    /// Whether the team has a store of its own within the store of the server. A team with credentials of its own needs
    /// its own store, because other teams may not be permitted to pull the same images.
    pub has_own_store: bool,
    /// The lock file. It need not exist unless `is_locked` is set. `None` if there is no configuration file.
    pub lock_file: Option<PathBuf>,
    /// Whether exactly the content of the lock file is served.
    pub is_locked: bool,
    /// How often tags are checked for updates.
    pub check_interval: Duration,
    /// Distinguishes servers that share a store.
    pub server: String,
    /// The team, for the store.
    pub team: String,
    /// Whether the configuration has teams. Then the lock file contains the names of teams.
    pub has_teams: bool,
}

/// One component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryComponent {
    /// The reference.
    pub reference: Reference,
    /// What happens if the reference leads to another image.
    pub update: UpdateMode,
}

/// What happens if a tag was moved, or if a package has a newer version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UpdateMode {
    /// The update waits until the operator accepts it.
    #[default]
    Ask,
    /// The update is installed.
    Auto,
}

impl RegistryConfig {
    /// Returns the folder of the team's store, if the store of the server is in this folder.
    pub fn store_in(&self, folder: &Path) -> PathBuf {
        if self.has_own_store {
            Store::folder_of_team(folder, &self.team)
        } else {
            folder.to_owned()
        }
    }

    /// Returns this configuration with the store of another configuration, which is in use.
    #[must_use]
    pub fn with_store_of(self, running: &Self) -> Self {
        Self {
            store: running.store.clone(),
            ..self
        }
    }

    /// Returns the content of the lock file. `None` if the file does not exist and is not needed.
    pub(super) fn read_lock(&self) -> Result<Option<LockFile>, LockError> {
        let Some(path) = &self.lock_file else {
            return Ok(None);
        };
        match LockFile::read(path) {
            Err(LockError::Missing(_)) if !self.is_locked => Ok(None),
            lock => lock.map(Some),
        }
    }

    /// Returns the entry of a provider in the lock file, if the entry has the same reference.
    pub(super) fn locked<'a>(
        &self,
        lock: &'a LockFile,
        name: &ProviderName,
        reference: &Reference,
    ) -> Option<&'a LockedComponent> {
        let team = self.has_teams.then_some(self.team.as_str());
        lock.get(team, name.as_str())
            .filter(|locked| locked.reference == reference.to_string())
    }

    pub(super) fn key(&self, name: &ProviderName, reference: &Reference) -> ResolutionKey {
        ResolutionKey {
            server: self.server.clone(),
            team: self.team.clone(),
            provider: name.to_string(),
            reference: reference.to_string(),
        }
    }
}
