//! `larder lock`: records which components the configuration names.

use std::io;

use clap::Args;
use serde_json::json;

use super::context::{Context, ContextArgs, TeamAccess, describe, locked};
use super::files::{LockedFile, locked_files};
use crate::app::full_name;
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

/// The entries that would change, and the entries that could not be recorded.
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
        // The entries of teams that `--team` excludes stay.
        let teams = context.teams()?;
        let is_selected = |name: Option<&str>| teams.iter().any(|team| team.section() == name);
        for entry in old.components() {
            if !is_selected(entry.team.as_deref()) {
                new.insert(entry.clone());
            }
        }
        for team in &teams {
            for LockedFile { entry, untrusted } in locked_files(team)? {
                let reason = untrusted.map(|reason| format!("{}: {reason}", entry.name));
                changes.failed.extend(reason);
                add(entry, &old, &mut new, &mut changes);
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

    /// Returns the entry of a reference, or why it cannot be recorded. With `--check`, returns none if the entry is
    /// missing.
    async fn entry(
        &self,
        team: &TeamAccess<'_>,
        name: &str,
        reference: &Reference,
        old: &LockFile,
    ) -> Result<Result<Option<LockedComponent>, String>, CommandError> {
        let recorded = old.get(team.section(), name);
        let is_same = |recorded: &&LockedComponent| recorded.reference == reference.to_string();
        if let Some(recorded) = recorded.filter(is_same) {
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
        let has_failed = !changes.failed.is_empty();
        let writes = !self.check && !has_failed;
        if writes {
            context.write_lock(new)?;
        }
        if self.json {
            print_json(new, changes)?;
        } else if writes {
            out::text(&table(new).show())?;
        }
        let is_outdated = self.check && !changes.is_empty();
        if is_outdated {
            changes.note();
        }
        for reason in &changes.failed {
            out::note(&format!("larder: {reason}"));
        }
        if has_failed {
            out::note("larder: larder.lock was not written");
        } else if is_outdated {
            out::note(
                "larder: larder.lock is out of date: run `larder lock`, or `larder update` for newer images",
            );
        }
        Ok(Outcome::success_if(!has_failed && !is_outdated))
    }
}

impl Changes {
    fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }

    fn note(&self) {
        let lists = [
            ("not recorded", &self.added),
            ("changed", &self.changed),
            ("no longer there", &self.removed),
        ];
        for (what, names) in lists {
            if !names.is_empty() {
                out::note(&format!("larder: {what}: {}", names.join(", ")));
            }
        }
    }
}

fn print_json(lock: &LockFile, changes: &Changes) -> io::Result<()> {
    let components: Vec<_> = lock.components().collect();
    let Changes {
        added,
        changed,
        removed,
        failed,
    } = changes;
    out::json(&json!({
        "components": components, "added": added, "changed": changed, "removed": removed, "failed": failed,
    }))
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
        let name = full_name(entry.team.as_deref(), &entry.name);
        let digest = format!("sha256:{}", entry.digest);
        let signer = entry.signer.as_deref().unwrap_or_default();
        table.row([&name, &entry.reference, &digest, &bytes(entry.size), signer]);
    }
    table
}
