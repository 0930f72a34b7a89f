//! `larder inspect`: shows what a component imports and requests, and what it offers without any grant.

mod component_info;
mod interfaces;
mod render;

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::check::grants::{GrantReport, of_file};
use super::error::CommandError;
use super::team::TeamArg;
use super::{Outcome, guest_stderr, log, out, temp_plugins};
use crate::app::{App, Interfaces, Provider};
use crate::config::{self, Overrides};
use component_info::ComponentInfo;
use larder_model::name::Digest;

/// Show what a component imports, requests and offers
///
/// Runs the component with the default limits and without any grant.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1 if the component would be rejected.")]
pub(super) struct Inspect {
    /// The component
    #[arg(value_name = "FILE.wasm")]
    file: PathBuf,
    /// Show which of its requests this configuration would grant
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    team: TeamArg,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The results, as printed with `--json`.
#[derive(Debug, Serialize)]
struct Findings {
    file: String,
    size: u64,
    digest: String,
    #[serde(flatten)]
    info: ComponentInfo,
    /// None if it was rejected.
    offers: Option<Provider>,
    #[serde(flatten)]
    interfaces: Interfaces,
    rejected: Option<String>,
    /// The end of what the guest wrote to stderr, if it misbehaved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stderr: Vec<String>,
    /// What its NAME.toml requests, and which of that is granted. None if it requests nothing.
    grants: Option<GrantReport>,
    /// Whether a configuration was given, which determines what is granted.
    #[serde(skip)]
    configured: bool,
}

impl Inspect {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let configured = self.config.is_some() || self.team.team.is_some();
        let grants = grants(&self.file, self.config, self.team, configured)?;
        let path = self.file;
        let bytes =
            std::fs::read(&path).map_err(|error| CommandError::Input { path: path.clone(), error })?;
        let Loaded { offers, interfaces, rejected, stderr } = run_alone(&path, &bytes).await?;
        let findings = Findings {
            file: path.display().to_string(),
            size: bytes.len() as u64,
            digest: format!("sha256:{}", Digest::of(&bytes)),
            info: ComponentInfo::of(&bytes),
            offers,
            interfaces,
            rejected,
            stderr: guest_stderr::lines(&stderr),
            grants,
            configured,
        };
        match self.json {
            true => out::json(&findings)?,
            false => out::text(&render::render(&findings, out::colour()))?,
        }
        Ok(Outcome::success_if(findings.rejected.is_none()))
    }
}

/// Returns the grant report. Without a configuration it only contains requests.
fn grants(
    file: &Path,
    config: Option<PathBuf>,
    team: TeamArg,
    configured: bool,
) -> Result<Option<GrantReport>, CommandError> {
    let config = match configured {
        true => {
            let overrides = Overrides { config, team: team.team, ..Overrides::default() };
            config::load(&overrides)?.over_stdio()?
        }
        false => config::without_file(file.parent().unwrap_or(Path::new(".")), &Overrides::default())?,
    };
    let team = config.local_caller.teams.iter().find_map(|team| config.teams.get(team));
    Ok(team.map(|team| of_file(&team.reconcile, file)).transpose()?.flatten())
}

/// What loading a component showed.
struct Loaded {
    offers: Option<Provider>,
    interfaces: Interfaces,
    rejected: Option<String>,
    /// The end of what the guest wrote to stderr, if it misbehaved.
    stderr: String,
}

/// Loads a component as `larder serve` would, in a temporary folder.
async fn run_alone(path: &Path, bytes: &[u8]) -> Result<Loaded, CommandError> {
    let folder = temp_plugins::create(path, bytes)?;
    let config = config::without_file(folder.path(), &Overrides::default())?;
    log::start_quietly(&config.log);
    let app = App::build(config).await?;
    let (served, interfaces) = (app.served(), app.interfaces().await);
    let mut stderr = app.take_last_stderr();
    app.finish().await;
    let (offers, rejected) = (served.providers.into_iter().next(), served.rejected.into_iter().next());
    let rejected = rejected.map(|rejected| {
        stderr = rejected.stderr;
        rejected.reason
    });
    Ok(Loaded { offers, interfaces, rejected, stderr })
}
