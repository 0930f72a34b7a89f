//! The parts that the commands for registries use: the configuration, the store, the lock file, and the client of a
//! team.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use clap::Args;

use super::differences::Description;
use super::transfer::Transfers;
use crate::cli::error::{CommandError, RegistryCommandError};
use crate::cli::team::TeamArg;
use larder_config::{self as config, Config, Team};
use larder_model::name::{ProviderName, TeamName};
use larder_model::signature::{Attestation, FoundSignature};
use larder_registry::{
    Client, Component, Error, LOCK_FILE, LockError, LockFile, LockedComponent, PulledImage,
    Reference, Store,
};

/// The configuration and the team that a command concerns.
#[derive(Debug, Args)]
pub(super) struct ContextArgs {
    /// The configuration file [default: larder.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    #[command(flatten)]
    pub(super) team: TeamArg,
}

/// The parts that the commands use.
pub(super) struct Context {
    pub(super) config: Config,
    /// The team that `--team` names.
    team: Option<TeamName>,
    /// The store of the server. The store of a team may be a different one.
    pub(super) store: Store,
}

/// A team and its access to registries.
pub(super) struct TeamAccess<'a> {
    pub(super) name: &'a TeamName,
    pub(super) team: &'a Team,
    pub(super) client: Client,
    /// The store of the team.
    pub(super) store: Store,
}

impl ContextArgs {
    pub(super) fn load(&self) -> Result<Context, CommandError> {
        let overrides = self.team.overrides(self.config.clone(), None);
        let config = config::load(&overrides)?;
        Ok(Context {
            store: Store::open(&config.registry_store)?,
            team: self.team.team.clone(),
            config,
        })
    }

    /// The configuration file, which may not exist yet.
    pub(super) fn file(&self) -> PathBuf {
        self.config
            .clone()
            .unwrap_or_else(|| config::DEFAULT_FILE.into())
    }
}

impl Context {
    /// Returns the team that the command concerns. With several teams, it must be named.
    pub(super) fn one_team(&self) -> Result<TeamAccess<'_>, CommandError> {
        let mut teams = self.selected();
        match (teams.next(), teams.next()) {
            (Some((name, team)), None) => TeamAccess::new(name, team),
            _ => {
                let names: Vec<_> = self.config.teams.keys().map(TeamName::as_str).collect();
                Err(RegistryCommandError::SeveralTeams(names.join(", ")).into())
            }
        }
    }

    /// Returns all teams, or the team that `--team` names.
    pub(super) fn teams(&self) -> Result<Vec<TeamAccess<'_>>, CommandError> {
        self.selected()
            .map(|(name, team)| TeamAccess::new(name, team))
            .collect()
    }

    fn selected(&self) -> impl Iterator<Item = (&TeamName, &Team)> {
        self.config
            .teams
            .iter()
            .filter(|(name, _)| self.team.as_ref().is_none_or(|team| team == *name))
    }

    /// The lock file, next to the configuration file. All teams share this file.
    pub(super) fn lock_path(&self) -> PathBuf {
        let configured = self
            .config
            .teams
            .values()
            .find_map(|team| team.registry.lock_file.clone());
        configured.unwrap_or_else(|| LOCK_FILE.into())
    }

    /// Reads the lock file. The result is empty if the file does not exist.
    pub(super) fn lock(&self) -> Result<LockFile, CommandError> {
        match LockFile::read(&self.lock_path()) {
            Err(LockError::Missing(_)) => Ok(LockFile::default()),
            lock => Ok(lock?),
        }
    }

    /// Writes the lock file, and keeps its components in the stores of all teams.
    pub(super) fn write_lock(&self, lock: &LockFile) -> Result<(), CommandError> {
        let path = self.lock_path();
        lock.write(&path)?;
        for team in self.config.teams.values() {
            store_of(team, self.store.folder())?.register_lock_file(&path)?;
        }
        Ok(())
    }
}

impl<'a> TeamAccess<'a> {
    fn new(name: &'a TeamName, team: &'a Team) -> Result<Self, CommandError> {
        Ok(Self {
            name,
            team,
            store: store_of(team, &team.registry.store)?,
            client: Client::new(team.registry.access.clone())?,
        })
    }

    /// Returns the store of the team, if the store of the server is in this folder.
    pub(super) fn store_in(&self, folder: &Path) -> Result<Store, CommandError> {
        store_of(self.team, folder)
    }

    /// The name of the team, if the configuration has teams.
    pub(super) fn section(&self) -> Option<&'a str> {
        self.team.quota.is_some().then_some(self.name.as_str())
    }

    /// The references of the team's providers.
    pub(super) fn references(&self) -> impl Iterator<Item = (&'a ProviderName, &'a Reference)> {
        self.team
            .registry
            .components
            .iter()
            .map(|(name, component)| (name, &component.reference))
    }

    /// The reference of a provider.
    pub(super) fn reference(&self, name: &str) -> Option<&'a Reference> {
        self.references()
            .find(|(known, _)| known.as_str() == name)
            .map(|(_, reference)| reference)
    }

    /// Pulls a component into the store.
    pub(super) async fn pull(
        &self,
        reference: &Reference,
        store: &Store,
    ) -> Result<PulledImage, Error> {
        let transfers = Transfers::new(&format!("pulling {reference}"));
        Box::pin(self.client.pull(reference, store, &transfers)).await
    }

    /// Returns the names of the trusted signers of an image in the store, or why the image must not be served.
    pub(super) fn signer(
        &self,
        component: &Component,
        store: &Store,
    ) -> Result<Result<Option<String>, String>, CommandError> {
        let manifest = store.read(&component.manifest, MAX_MANIFEST)?;
        let found = store.signatures(&component.manifest)?;
        Ok(self.signer_of(&manifest, &found))
    }

    /// Returns the names of the trusted signers, or why the subject must not be served.
    pub(super) fn signer_of(
        &self,
        subject: &Bytes,
        found: &[FoundSignature],
    ) -> Result<Option<String>, String> {
        let signers = self
            .team
            .reconcile
            .trust
            .verify(subject, found)
            .map_err(|error| error.to_string())?;
        let names: Vec<_> = signers.iter().map(ToString::to_string).collect();
        Ok((!names.is_empty()).then(|| names.join(", ")))
    }

    /// Returns the statements about an image in the store.
    pub(super) fn attestations(
        &self,
        component: &Component,
        store: &Store,
    ) -> Result<Vec<Attestation>, CommandError> {
        let manifest = store.read(&component.manifest, MAX_MANIFEST)?;
        let found = store.signatures(&component.manifest)?;
        let trust = &self.team.reconcile.trust;
        Ok(found
            .iter()
            .filter_map(|found| trust.attestation(&manifest, found))
            .collect())
    }
}

/// Requires that each of these names is a provider with a reference.
pub(super) fn require_known(
    names: &[ProviderName],
    teams: &[TeamAccess<'_>],
) -> Result<(), CommandError> {
    let has_reference = |name: &str| teams.iter().any(|team| team.reference(name).is_some());
    match names.iter().find(|name| !has_reference(name.as_str())) {
        Some(name) => Err(RegistryCommandError::NoReference(name.to_string()).into()),
        None => Ok(()),
    }
}

fn store_of(team: &Team, folder: &Path) -> Result<Store, CommandError> {
    Ok(Store::open(&team.registry.store_in(folder))?)
}

/// Returns the component of an image in the store.
pub(super) fn component_bytes(store: &Store, component: &Component) -> Result<Bytes, Error> {
    Ok(store.read(&component.component, component.size)?)
}

/// The largest manifest that is read.
const MAX_MANIFEST: u64 = 4 << 20;

/// Describes a component in the store.
pub(super) fn describe(
    store: &Store,
    component: &Component,
    team: &TeamAccess<'_>,
) -> Result<Description, CommandError> {
    let bytes = component_bytes(store, component)?;
    let version = component
        .annotations
        .get(&super::annotations::image_key("version"))
        .cloned();
    let mut description =
        Description::new(format!("sha256:{}", component.manifest), version, &bytes);
    if let Some(text) = &component.grant_request {
        let config = &team.team.reconcile;
        description.requests = match (config.parse_grant_request)(text, &config.relative_to) {
            Ok(request) => request.lines(),
            Err(problems) => [format!("NAME.toml: {problems}")].into(),
        };
    }
    Ok(description)
}

/// Returns the entry of a component for the lock file.
pub(super) fn locked(
    team: Option<&str>,
    name: &str,
    reference: &Reference,
    component: &Component,
    contract: Option<String>,
    signer: Option<String>,
) -> LockedComponent {
    LockedComponent {
        team: team.map(ToOwned::to_owned),
        name: name.to_owned(),
        reference: reference.to_string(),
        digest: component.manifest,
        component: component.component,
        size: component.size,
        signer,
        contract,
    }
}
