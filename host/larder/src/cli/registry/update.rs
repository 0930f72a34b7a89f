//! `larder update`: installs newer images of tags and packages.

use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::context::{Context, ContextArgs, TeamAccess, describe, locked, require_known};
use super::differences::{Description, Difference};
use crate::app::full_name;
use crate::cli::confirm::confirm;
use crate::cli::error::CommandError;
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

/// The result for one component.
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
    /// The reference of the provider is a digest.
    Pinned,
    UpToDate,
    Updated,
    /// There is an update, and it was not installed.
    Available,
    Failed,
}

impl Update {
    pub(in crate::cli) async fn run(self) -> Result<Outcome, CommandError> {
        let context = self.context.load()?;
        let mut lock = context.lock()?;
        let mut reports = Vec::new();
        let teams = context.teams()?;
        require_known(&self.names, &teams)?;
        for team in &teams {
            for (name, reference) in team.references() {
                if !self.is_named(name) {
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
        let is_refused = reports.iter().any(|report| self.is_refused(report));
        Ok(Outcome::success_if(!is_refused))
    }

    fn is_named(&self, name: &ProviderName) -> bool {
        self.names.is_empty() || self.names.contains(name)
    }

    fn is_refused(&self, report: &Report) -> bool {
        match report.state {
            State::Failed => true,
            State::Available => !self.dry_run,
            State::Pinned | State::UpToDate | State::Updated => false,
        }
    }

    /// Updates one component. The lock file is written after each component, so that an error does not lose earlier
    /// updates.
    async fn update(
        &self,
        context: &Context,
        team: &TeamAccess<'_>,
        name: &str,
        reference: &Reference,
        lock: &mut LockFile,
    ) -> Result<Report, CommandError> {
        let mut report = Report {
            team: team.section().map(ToOwned::to_owned),
            name: name.to_owned(),
            reference: reference.to_string(),
            state: State::UpToDate,
            changes: vec![],
            reason: None,
        };
        let old = lock
            .get(team.section(), name)
            .filter(|old| old.reference == report.reference)
            .cloned();
        let digest = old.as_ref().map(|old| old.digest);
        if digest.is_some() && digest == reference.pinned() {
            report.state = State::Pinned;
            return Ok(report);
        }
        let component = match team.pull(reference, &team.store).await {
            Ok(pulled) => pulled.component,
            Err(error) => return Ok(report.failed(error.to_string())),
        };
        let signer = match team.signer(&component, &team.store)? {
            Ok(signer) => signer,
            Err(untrusted) => return Ok(report.failed(untrusted)),
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
            return Ok(report);
        }
        let before = old.map(|old| description_of_locked(&old, team));
        report.changes = description.differences_from(&before.unwrap_or_default());
        report.state = if self.accepts(name, reference, &report.changes)? {
            lock.insert(entry);
            context.write_lock(lock)?;
            State::Updated
        } else {
            State::Available
        };
        Ok(report)
    }

    /// Shows the changes, and requests confirmation.
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

/// Describes the component in the lock file. The component may be missing in the store.
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
    fn failed(self, reason: String) -> Self {
        Self {
            state: State::Failed,
            reason: Some(reason),
            ..self
        }
    }

    fn print(&self) {
        let name = full_name(self.team.as_deref(), &self.name);
        let text = match self.state {
            State::Pinned => format!("{name} is pinned to {}", self.reference),
            State::UpToDate => format!("{name} is up to date"),
            State::Updated => format!("updated {name}"),
            State::Available => format!("{name} was not updated"),
            State::Failed => {
                let reason = self.reason.as_deref().unwrap_or_default();
                format!("{name} was not updated: {reason}")
            }
        };
        out::note(&format!("larder: {text}"));
    }
}
