//! `larder pull`: fills a store with components, for images and init containers.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde::Serialize;
use serde_json::json;

use super::context::{Context, ContextArgs, TeamAccess, require_known};
use crate::app::full_name;
use crate::cli::error::CommandError;
use crate::cli::{Outcome, out, table};
use larder_model::name::ProviderName;
use larder_registry::{LockFile, Reference, Store};

/// Pull components from registries into a store
///
/// Pulls what larder.lock records, and the current image of a reference that is not in it. A server can
/// then start without a registry.
#[derive(Debug, Args)]
#[command(after_help = "Example, for an image or an init container:
  larder pull --all --into /components

Exit code 1 if a component cannot be pulled. The others are pulled nevertheless.")]
pub(in crate::cli) struct Pull {
    /// The providers
    #[arg(required_unless_present = "all", conflicts_with = "all", value_parser = ProviderName::parse)]
    names: Vec<ProviderName>,
    /// Pull the components of all providers
    #[arg(long)]
    all: bool,
    /// The folder of the store [default: the store in the configuration]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    into: Option<PathBuf>,
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
    /// Whether the lock file has the component.
    locked: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<String>,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Pull {
    pub(in crate::cli) async fn run(self) -> Result<Outcome, CommandError> {
        let context = self.context.load()?;
        let folder = self.into.as_deref().unwrap_or(context.store.folder());
        let teams = context.teams()?;
        require_known(&self.names, &teams)?;
        let lock = context.lock()?;
        let mut reports = Vec::new();
        for team in &teams {
            let store = team.store_in(folder)?;
            for (name, reference) in team.references() {
                if self.all || self.names.contains(name) {
                    reports.push(pull(team, name.as_str(), reference, &lock, &store).await);
                }
            }
            keep(&context, &store, &lock)?;
        }
        if self.json {
            out::json(&json!({ "store": folder, "components": reports }))?;
        } else {
            reports.iter().for_each(Report::print);
        }
        Ok(Outcome::success_if(
            reports.iter().all(|report| report.error.is_none()),
        ))
    }
}

/// Protects the components against garbage collection while the lock file exists.
fn keep(context: &Context, store: &Store, lock: &LockFile) -> Result<(), CommandError> {
    match lock.components().next() {
        Some(_) => Ok(store.register_lock_file(&context.lock_path())?),
        None => Ok(()),
    }
}

async fn pull(
    team: &TeamAccess<'_>,
    name: &str,
    reference: &Reference,
    lock: &LockFile,
    store: &Store,
) -> Report {
    let section = team.section();
    let recorded = lock
        .get(section, name)
        .filter(|it| it.reference == reference.to_string());
    for digest in recorded
        .iter()
        .flat_map(|recorded| [recorded.digest, recorded.component])
    {
        // If the component cannot be removed, `larder verify` still reports it.
        _ = store.discard_damaged(&digest);
    }
    let wanted = match recorded {
        Some(recorded) => team
            .client
            .image_at(reference, recorded.digest)
            .await
            .map(Reference::Image),
        None => Ok(reference.clone()),
    };
    let result = match wanted {
        Ok(wanted) => team.pull(&wanted, store).await,
        Err(error) => Err(error),
    };
    let mut report = Report {
        team: section.map(ToOwned::to_owned),
        name: name.to_owned(),
        reference: reference.to_string(),
        locked: recorded.is_some(),
        image: None,
        size: 0,
        error: None,
    };
    match result {
        Ok(pulled) => {
            report.image = Some(pulled.image.to_string());
            report.size = pulled.component.size;
        }
        Err(error) => report.error = Some(error.to_string()),
    }
    report
}

impl Report {
    fn print(&self) {
        let name = full_name(self.team.as_deref(), &self.name);
        let text = match &self.image {
            Some(image) => format!("{name}: {image} ({})", table::bytes(self.size)),
            None => {
                let error = self.error.as_deref().unwrap_or_default();
                format!("{name} was not pulled: {error}")
            }
        };
        out::note(&format!("larder: {text}"));
        if !self.locked {
            out::note(&format!(
                "larder: {name} is not in larder.lock, which `larder serve --locked` needs: run `larder lock`"
            ));
        }
    }
}
