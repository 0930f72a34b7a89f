//! `larder add`: adds a component from a registry to the configuration.

use std::io;

use clap::Args;
use serde_json::json;

use super::context::{ContextArgs, describe, locked};
use super::edit::EditedFile;
use super::section::Section;
use super::{default_name, examine};
use crate::cli::error::{CommandError, RegistryCommandError};
use crate::cli::inspect::Findings;
use crate::cli::{Outcome, out};
use larder_model::name::ProviderName;
use larder_registry::{LockedComponent, Reference};

/// Add a component from a registry
///
/// Pulls the component into the local store, verifies its signatures, shows what it contains and requests,
/// adds a section to the configuration file, and records the component in larder.lock. What it requests
/// still needs `larder approve`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  larder add registry.example.com/team/wiki:1.2           a tag, which `larder update` follows
  larder add registry.example.com/team/wiki@sha256:…      exactly this image
  larder add team:wiki@^1.2                               a package, in the registry of its namespace

Exit code 1 if the component cannot be pulled, is not trusted, or can never be served. Nothing is written then.")]
pub(in crate::cli) struct Add {
    /// The component
    #[arg(value_name = "REF")]
    reference: Reference,
    /// The name of the provider [default: the last part of the repository]
    #[arg(long, value_name = "NAME", value_parser = ProviderName::parse)]
    name: Option<ProviderName>,
    #[command(flatten)]
    context: ContextArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Add {
    pub(in crate::cli) async fn run(self) -> Result<Outcome, CommandError> {
        let context = self.context.load()?;
        let team = context.one_team()?;
        let name = match &self.name {
            Some(name) => name.to_string(),
            None => default_name(&self.reference),
        };
        if let Some(existing) = team.reference(&name) {
            let reference = existing.to_string();
            return Err(RegistryCommandError::AlreadyAdded { name, reference }.into());
        }
        let file = EditedFile::read(&self.context.file())?;
        let section = Section {
            team: team.section(),
            name: &name,
        };
        let text = section.with_component(file.text()?, &self.reference.to_string());
        let text = text.map_err(|reason| file.cannot_edit(reason))?;
        file.check(&text)?;
        let pulled = team.pull(&self.reference, &team.store).await?;
        let findings = examine(&team, &team.store, &name, &self.reference, &pulled).await?;
        let signer = team.signer(&pulled.component, &team.store)?;
        if !self.json {
            out::text(&findings.show())?;
        }
        if let Some(reason) = signer.as_ref().err().or(findings.refusal()) {
            self.report_refusal(&name, reason, &findings)?;
            return Ok(Outcome::Negative);
        }
        let description = describe(&team.store, &pulled.component, &team)?;
        let signer = signer.ok().flatten();
        let entry = locked(
            team.section(),
            &name,
            &self.reference,
            &pulled.component,
            description.contract,
            signer,
        );
        let mut lock = context.lock()?;
        lock.insert(entry.clone());
        file.replace(&text)?;
        context.write_lock(&lock)?;
        self.report(&name, &entry, &findings)?;
        Ok(Outcome::Success)
    }

    fn report_refusal(&self, name: &str, reason: &str, findings: &Findings) -> io::Result<()> {
        if self.json {
            out::json(&json!({ "added": false, "reason": reason, "component": findings }))?;
        }
        out::note(&format!("larder: {name} was not added: {reason}"));
        Ok(())
    }

    fn report(&self, name: &str, entry: &LockedComponent, findings: &Findings) -> io::Result<()> {
        if self.json {
            out::json(
                &json!({ "added": true, "name": name, "locked": entry, "component": findings }),
            )?;
        }
        let file = self.context.file();
        let file = file.display();
        out::note(&format!("larder: added {name} to {file} and larder.lock"));
        if let Some(reason) = &findings.rejected {
            out::note(&format!(
                "larder: {name} needs settings or grants in its section: {reason}"
            ));
        }
        Ok(())
    }
}
