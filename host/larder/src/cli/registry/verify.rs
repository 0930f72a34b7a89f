//! `larder verify`: checks the components in larder.lock, without a registry.

use std::fmt::Display;

use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::context::{ContextArgs, TeamAccess, component_bytes};
use super::files::{LockedFile, locked_files};
use crate::app::full_name;
use crate::cli::error::CommandError;
use crate::cli::table::Table;
use crate::cli::{Outcome, out};
use larder_model::name::ProviderName;
use larder_registry::{Component, LockFile, LockedComponent};

const WRONG_SIZE: &str = "larder.lock records another size of the component: run `larder lock`";

/// Verify what larder.lock records
///
/// Checks that the local store has each component unchanged, and that its signatures are trusted now.
#[derive(Debug, Args)]
#[command(
    after_help = "Needs no registry. Exit code 1 if a component is missing, changed, or not trusted."
)]
pub(in crate::cli) struct Verify {
    /// The providers [default: all]
    #[arg(value_parser = ProviderName::parse)]
    names: Vec<ProviderName>,
    #[command(flatten)]
    context: ContextArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Report {
    #[serde(skip_serializing_if = "Option::is_none")]
    team: Option<String>,
    name: String,
    reference: String,
    digest: String,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    signer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl Verify {
    pub(in crate::cli) fn run(self) -> Result<Outcome, CommandError> {
        let context = self.context.load()?;
        let lock = LockFile::read(&context.lock_path())?;
        let mut reports = Vec::new();
        for team in &context.teams()? {
            let section = team.section();
            let files = locked_files(team)?;
            let entries = lock.components();
            for entry in entries.filter(|entry| entry.team.as_deref() == section) {
                if self.is_named(&entry.name) {
                    reports.push(Report::new(entry, check(team, entry, &files)?));
                }
            }
            let missing = self.missing(&lock, team, &files).into_iter();
            reports.extend(
                missing.map(|(name, reference)| Report::not_recorded(section, name, reference)),
            );
        }
        self.print(&reports)
    }

    fn is_named(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|it| it.as_str() == name)
    }

    /// Returns the components that are configured and not recorded.
    fn missing(
        &self,
        lock: &LockFile,
        team: &TeamAccess<'_>,
        files: &[LockedFile],
    ) -> Vec<(String, String)> {
        let references = team
            .references()
            .map(|(name, it)| (name.to_string(), it.to_string()));
        let files = files
            .iter()
            .map(|LockedFile { entry, .. }| (entry.name.clone(), entry.reference.clone()));
        let is_recorded = |name: &str| lock.get(team.section(), name).is_some();
        let all = references.chain(files);
        all.filter(|(name, _)| self.is_named(name) && !is_recorded(name))
            .collect()
    }

    fn print(&self, reports: &[Report]) -> Result<Outcome, CommandError> {
        let ok = reports.iter().all(|report| report.ok);
        if self.json {
            out::json(&json!({ "ok": ok, "components": reports }))?;
            return Ok(Outcome::success_if(ok));
        }
        let mut table = Table::new(["PROVIDER", "RESULT", "DIGEST", "SIGNED BY"]);
        for report in reports {
            let result = if report.ok { "ok" } else { "FAILED" };
            let signer = report.signer.as_deref().unwrap_or_default();
            table.row([&report.full_name(), result, &report.digest, signer]);
        }
        out::text(&table.show())?;
        for report in reports {
            if let Some(problem) = &report.problem {
                out::note(&format!("larder: {}: {problem}", report.full_name()));
            }
        }
        Ok(Outcome::success_if(ok))
    }
}

/// Returns the trusted signers of a recorded component, or what is wrong with the component.
fn check(
    team: &TeamAccess<'_>,
    entry: &LockedComponent,
    files: &[LockedFile],
) -> Result<Result<Option<String>, String>, CommandError> {
    if entry.reference.starts_with("file:") {
        return Ok(check_file(team, entry, files));
    }
    match check_stored(team, entry) {
        Ok(component) => team.signer(&component, &team.store),
        Err(problem) => Ok(Err(problem)),
    }
}

fn check_file(
    team: &TeamAccess<'_>,
    entry: &LockedComponent,
    files: &[LockedFile],
) -> Result<Option<String>, String> {
    let mut files = files.iter();
    let Some(file) = files.find(|file| file.entry.reference == entry.reference) else {
        return Err(format!("it is not in {}", team.team.plugins.display()));
    };
    if file.entry.component != entry.component {
        return Err(
            "the file was changed: run `larder lock` if the new one is to be served".into(),
        );
    }
    if file.entry.size != entry.size {
        return Err(WRONG_SIZE.into());
    }
    match &file.untrusted {
        Some(reason) => Err(reason.clone()),
        None => Ok(file.entry.signer.clone()),
    }
}

/// Returns the component of the image, if the store has what is recorded and configured.
fn check_stored(team: &TeamAccess<'_>, entry: &LockedComponent) -> Result<Component, String> {
    match team.reference(&entry.name).map(ToString::to_string) {
        None => {
            return Err("the configuration does not name it any more: run `larder lock`".into());
        }
        Some(reference) if reference != entry.reference => {
            return Err(format!(
                "the configuration names {reference} instead: run `larder update`"
            ));
        }
        Some(_) => {}
    }
    let damaged = |error: &dyn Display| format!("{error}: run `larder pull --all`");
    let component = Component::of(&team.store, &entry.digest).map_err(|error| damaged(&error))?;
    component_bytes(&team.store, &component).map_err(|error| damaged(&error))?;
    if component.component != entry.component {
        return Err(
            "larder.lock records another component for this image: run `larder lock`".into(),
        );
    }
    if component.size != entry.size {
        return Err(WRONG_SIZE.into());
    }
    Ok(component)
}

impl Report {
    fn new(entry: &LockedComponent, result: Result<Option<String>, String>) -> Self {
        let (ok, signer, problem) = match result {
            Ok(signer) => (true, signer, None),
            Err(problem) => (false, None, Some(problem)),
        };
        Self {
            team: entry.team.clone(),
            name: entry.name.clone(),
            reference: entry.reference.clone(),
            digest: format!("sha256:{}", entry.digest),
            ok,
            signer,
            problem,
        }
    }

    fn not_recorded(team: Option<&str>, name: String, reference: String) -> Self {
        let problem = Some("larder.lock does not record it: run `larder lock`".to_owned());
        let team = team.map(ToOwned::to_owned);
        Self {
            team,
            name,
            reference,
            digest: String::new(),
            ok: false,
            signer: None,
            problem,
        }
    }

    fn full_name(&self) -> String {
        full_name(self.team.as_deref(), &self.name)
    }
}
