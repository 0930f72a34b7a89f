//! `larder update`: installs newer images of tags and packages.

use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::context::{Context, ContextArgs, TeamAccess, describe, locked};
use super::differences::{Description, Difference};
use crate::cli::confirm::confirm;
use crate::cli::error::{CommandError, RegistryCommandError};
use crate::cli::{Outcome, out};
use larder_model::name::ProviderName;
use larder_registry::{Component, LockFile, LockedComponent, Reference};

/// Update components from registries
///
/// Looks for newer images of tags and packages, shows what they change, and records them in larder.lock.
/// What a new revision requests beyond the old one still needs `larder approve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 1 if a component cannot be updated, or if an update is not confirmed."
)]
pub(in crate::cli) struct Update {
    /// The providers [default: all with a reference]
    #[arg(value_parser = ProviderName::parse)]
    names: Vec<ProviderName>,
    /// Update without confirmation
    #[arg(long)]
    yes: bool,
    /// Only show the updates
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    #[command(flatten)]
    context: ContextArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What happened to one component.
#[derive(Debug, Serialize)]
struct Report {
    #[serde(skip_serializing_if = "Option::is_none")]
    team: Option<String>,
    name: String,
    reference: String,
    state: State,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<Difference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// Its reference is a digest.
    Pinned,
    UpToDate,
    Updated,
    /// There is an update, which was not installed.
    Available,
    Failed,
}

impl Update {
    pub(in crate::cli) async fn run(self) -> Result<Outcome, CommandError> {
        let context = self.context.load()?;
        let mut lock = context.lock()?;
        let mut reports = Vec::new();
        let teams = context.teams()?;
        self.require_known(&teams)?;
        for team in &teams {
            for (name, reference) in team.references() {
                if !self.names.is_empty() && !self.names.contains(name) {
                    continue;
                }
                let report = self
                    .update(&context, team, name.as_str(), reference, &mut lock)
                    .await?;
                if !self.json {
                    report.print();
                }
                reports.push(report);
            }
        }
        if self.json {
            out::json(&json!({ "components": reports }))?;
        }
        let is_refused = |report: &Report| match report.state {
            State::Failed => true,
            State::Available => !self.dry_run,
            State::Pinned | State::UpToDate | State::Updated => false,
        };
        Ok(Outcome::success_if(!reports.iter().any(is_refused)))
    }

    fn require_known(&self, teams: &[TeamAccess<'_>]) -> Result<(), CommandError> {
        let is_known = |name: &&ProviderName| {
            teams
                .iter()
                .any(|team| team.reference(name.as_str()).is_some())
        };
        match self.names.iter().find(|name| !is_known(name)) {
            Some(name) => Err(RegistryCommandError::NoReference(name.to_string()).into()),
            None => Ok(()),
        }
    }

    /// Updates one component. The lock file is written after each, so that an error loses nothing.
    async fn update(
        &self,
        context: &Context,
        team: &TeamAccess<'_>,
        name: &str,
        reference: &Reference,
        lock: &mut LockFile,
    ) -> Result<Report, CommandError> {
        let section = team.section().map(|team| team.as_str());
        let report = |state, changes, reason| Report {
            team: section.map(ToOwned::to_owned),
            name: name.to_owned(),
            reference: reference.to_string(),
            state,
            changes,
            reason,
        };
        let old = lock
            .get(section, name)
            .filter(|old| old.reference == reference.to_string())
            .cloned();
        if let (Some(old), Some(pinned)) = (&old, reference.pinned())
            && old.digest == pinned
        {
            return Ok(report(State::Pinned, vec![], None));
        }
        let component = match team.pull(reference, &team.store).await {
            Ok(pulled) => pulled.component,
            Err(error) => return Ok(report(State::Failed, vec![], Some(error.to_string()))),
        };
        let signer = match team.signer(&component, &team.store)? {
            Ok(signer) => signer,
            Err(untrusted) => return Ok(report(State::Failed, vec![], Some(untrusted))),
        };
        let description = describe(&team.store, &component, team)?;
        let entry = locked(
            team.section(),
            name,
            reference,
            &component,
            description.contract.clone(),
            signer,
        );
        if old.as_ref() == Some(&entry) {
            return Ok(report(State::UpToDate, vec![], None));
        }
        let before = old
            .map(|old| description_of_locked(&old, team))
            .unwrap_or_default();
        let changes = description.differences_from(&before);
        if !self.accepts(name, reference, &changes)? {
            let changes = if self.json { changes } else { vec![] };
            return Ok(report(State::Available, changes, None));
        }
        lock.insert(entry);
        context.write_lock(lock)?;
        let changes = if self.json { changes } else { vec![] };
        Ok(report(State::Updated, changes, None))
    }

    /// Shows the changes, and asks.
    fn accepts(
        &self,
        name: &str,
        reference: &Reference,
        changes: &[Difference],
    ) -> Result<bool, CommandError> {
        if !self.json {
            let shown: String = changes
                .iter()
                .map(|change| format!("  {}", change.show()))
                .collect();
            out::text(&format!("{name} ({reference})\n{shown}"))?;
        }
        Ok(self.yes || (!self.dry_run && confirm(&format!("update {name}?"), "update")?))
    }
}

/// Describes what is in the lock file. The store may not have it.
fn description_of_locked(old: &LockedComponent, team: &TeamAccess<'_>) -> Description {
    let component = Component::of(&team.store, &old.digest).map_err(CommandError::from);
    let described = component.and_then(|component| describe(&team.store, &component, team));
    described.unwrap_or_else(|_| Description {
        digest: format!("sha256:{}", old.digest),
        size: old.size,
        contract: old.contract.clone(),
        ..Description::default()
    })
}

impl Report {
    fn print(&self) {
        let Self {
            team,
            name,
            reference,
            state,
            reason,
            ..
        } = self;
        let name = team
            .as_ref()
            .map_or_else(|| name.clone(), |team| format!("{team}/{name}"));
        let text = match state {
            State::Pinned => format!("{name} is pinned to {reference}"),
            State::UpToDate => format!("{name} is up to date"),
            State::Updated => format!("updated {name}"),
            State::Available => format!("{name} was not updated"),
            State::Failed => format!(
                "{name} was not updated: {}",
                reason.as_deref().unwrap_or_default()
            ),
        };
        out::note(&format!("larder: {text}"));
    }
}
