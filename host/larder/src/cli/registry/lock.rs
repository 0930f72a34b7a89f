//! `larder lock`: records which components the configuration names.

use clap::Args;
use serde_json::json;

use super::context::{Context, ContextArgs, TeamAccess, describe, locked};
use super::files::locked_files;
use crate::cli::error::CommandError;
use crate::cli::table::{Table, bytes};
use crate::cli::{Outcome, out};
use larder_registry::{LockFile, LockedComponent, Reference};

/// Record in larder.lock which components are served
///
/// Adds what is missing: the current images of references, and the files in the plugins folder. Removes
/// what the configuration no longer names. What is recorded already stays: `larder update` changes it.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 1 if a component cannot be pulled or is not trusted; then nothing is written. \
With --check, exit code 1 if larder.lock would change."
)]
pub(in crate::cli) struct Lock {
    /// Only check whether larder.lock records what the configuration names. Needs no registry
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    context: ContextArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What would change, or could not be recorded.
#[derive(Debug, Default)]
struct Changes {
    added: Vec<String>,
    changed: Vec<String>,
    removed: Vec<String>,
    failed: Vec<String>,
}

impl Lock {
    pub(in crate::cli) async fn run(self) -> Result<Outcome, CommandError> {
        let context = self.context.load()?;
        let old = context.lock()?;
        let mut new = LockFile::default();
        let mut changes = Changes::default();
        // Those of teams that `--team` leaves out stay.
        let teams = context.teams()?;
        let is_selected = |entry: &LockedComponent| {
            teams
                .iter()
                .any(|team| team.section().map(|team| team.as_str()) == entry.team.as_deref())
        };
        old.components()
            .filter(|entry| !is_selected(entry))
            .for_each(|entry| _ = new.insert(entry.clone()));
        for team in &teams {
            for file in locked_files(team)? {
                let reason = file
                    .untrusted
                    .map(|reason| format!("{}: {reason}", file.entry.name));
                changes.failed.extend(reason);
                add(file.entry, &old, &mut new, &mut changes);
            }
            for (name, reference) in team.references() {
                let name = name.as_str();
                match self.entry(team, name, reference, &old).await? {
                    Ok(Some(entry)) => add(entry, &old, &mut new, &mut changes),
                    Ok(None) => changes.added.push(name.to_owned()),
                    Err(reason) => changes.failed.push(format!("{name}: {reason}")),
                }
            }
        }
        let gone = old
            .components()
            .filter(|entry| new.get(entry.team.as_deref(), &entry.name).is_none());
        changes.removed.extend(gone.map(|entry| entry.name.clone()));
        changes.removed.retain(|name| !changes.added.contains(name));
        self.finish(&context, &new, &changes)
    }

    /// Returns the entry of a reference, or why it cannot be recorded. With `--check`, None if it is not recorded.
    async fn entry(
        &self,
        team: &TeamAccess<'_>,
        name: &str,
        reference: &Reference,
        old: &LockFile,
    ) -> Result<Result<Option<LockedComponent>, String>, CommandError> {
        let recorded = old.get(team.section().map(|team| team.as_str()), name);
        if let Some(recorded) =
            recorded.filter(|recorded| recorded.reference == reference.to_string())
        {
            return Ok(Ok(Some(recorded.clone())));
        }
        if self.check {
            return Ok(Ok(None));
        }
        let component = match team.pull(reference, &team.store).await {
            Ok(pulled) => pulled.component,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let signer = match team.signer(&component, &team.store)? {
            Ok(signer) => signer,
            Err(untrusted) => return Ok(Err(untrusted)),
        };
        let contract = describe(&team.store, &component, team)?.contract;
        Ok(Ok(Some(locked(
            team.section(),
            name,
            reference,
            &component,
            contract,
            signer,
        ))))
    }

    fn finish(
        &self,
        context: &Context,
        new: &LockFile,
        changes: &Changes,
    ) -> Result<Outcome, CommandError> {
        let Changes {
            added,
            changed,
            removed,
            failed,
        } = changes;
        let is_unchanged = added.is_empty() && changed.is_empty() && removed.is_empty();
        if !self.check && failed.is_empty() {
            context.write_lock(new)?;
        }
        if self.json {
            let components: Vec<_> = new.components().collect();
            out::json(&json!({
                "components": components, "added": added, "changed": changed, "removed": removed, "failed": failed,
            }))?;
        } else if !self.check && failed.is_empty() {
            out::text(&table(new).show())?;
        }
        let lists = [
            ("not recorded", added),
            ("changed", changed),
            ("no longer there", removed),
        ];
        for (what, names) in lists
            .into_iter()
            .filter(|(_, names)| self.check && !names.is_empty())
        {
            out::note(&format!("larder: {what}: {}", names.join(", ")));
        }
        failed
            .iter()
            .for_each(|reason| out::note(&format!("larder: {reason}")));
        if !failed.is_empty() {
            out::note("larder: larder.lock was not written");
        } else if self.check && !is_unchanged {
            out::note(
                "larder: larder.lock is out of date: run `larder lock`, or `larder update` for newer images",
            );
        }
        Ok(Outcome::success_if(
            failed.is_empty() && (!self.check || is_unchanged),
        ))
    }
}

fn add(entry: LockedComponent, old: &LockFile, new: &mut LockFile, changes: &mut Changes) {
    match old.get(entry.team.as_deref(), &entry.name) {
        None => changes.added.push(entry.name.clone()),
        Some(before) if *before != entry => changes.changed.push(entry.name.clone()),
        Some(_) => {}
    }
    new.insert(entry);
}

fn table(lock: &LockFile) -> Table<5> {
    let mut table = Table::new(["PROVIDER", "REFERENCE", "DIGEST", "SIZE", "SIGNED BY"]);
    for entry in lock.components() {
        let name = entry.team.as_ref().map_or_else(
            || entry.name.clone(),
            |team| format!("{team}/{}", entry.name),
        );
        let digest = format!("sha256:{}", entry.digest);
        let signer = entry.signer.as_deref().unwrap_or_default();
        table.row([&name, &entry.reference, &digest, &bytes(entry.size), signer]);
    }
    table
}
