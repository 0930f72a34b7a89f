//! `larder remove`: removes a component from the configuration.

use std::io;

use clap::Args;
use serde_json::json;

use super::context::ContextArgs;
use super::edit::EditedFile;
use super::section::Section;
use crate::cli::confirm::confirm;
use crate::cli::error::CommandError;
use crate::cli::{Outcome, out, sanitize};
use larder_model::name::ProviderName;

/// Remove a component from the configuration and from larder.lock
///
/// Removes the section of the provider with its grants and settings. What the provider stored stays until
/// `larder forget`.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1 if it is not confirmed, or if there is no such component.")]
pub(in crate::cli) struct Remove {
    /// The provider
    #[arg(value_parser = ProviderName::parse)]
    name: ProviderName,
    /// Also remove grants and settings without confirmation
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    context: ContextArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Remove {
    pub(in crate::cli) fn run(self) -> Result<Outcome, CommandError> {
        let context = self.context.load()?;
        let team = context.one_team()?;
        let name = self.name.as_str();
        let Some(reference) = team.reference(name) else {
            return Ok(self.nothing_to_remove());
        };
        let file = EditedFile::read(&self.context.file())?;
        let section = Section {
            team: team.section(),
            name,
        };
        let edit = |reason| file.cannot_edit(reason);
        let old = file.text()?;
        let text = section.removed_from(old).map_err(edit)?;
        let others = section.other_keys(old).map_err(edit)?;
        file.check(&text)?;
        if !others.is_empty() && !self.yes {
            if !self.json {
                print_difference(old, &text)?;
            }
            let question = format!("remove {name} with {}?", others.join(", "));
            if !confirm(&question, "remove it")? {
                out::note(&format!("larder: {name} was not removed"));
                return Ok(Outcome::Negative);
            }
        }
        let mut lock = context.lock()?;
        let removed = lock.remove(team.section(), name);
        file.replace(&text)?;
        if removed.is_some() {
            context.write_lock(&lock)?;
        }
        if self.json {
            out::json(
                &json!({ "removed": true, "name": name, "reference": reference.to_string() }),
            )?;
        }
        out::note(&format!("larder: removed {name} ({reference})"));
        Ok(Outcome::Success)
    }

    fn nothing_to_remove(&self) -> Outcome {
        let name = &self.name;
        let file = self.context.file();
        out::note(&format!(
            "larder: {name} has no `component` in {}",
            file.display()
        ));
        Outcome::Negative
    }
}

fn print_difference(old: &str, new: &str) -> io::Result<()> {
    let difference = similar::TextDiff::from_lines(old, new);
    out::text(&sanitize::lines(&difference.unified_diff().to_string()))
}
