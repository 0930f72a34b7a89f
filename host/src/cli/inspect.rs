//! `larder inspect`: what a component is, what it imports, and what it offers when it runs without any grant.

mod anatomy;
mod show;

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::check::asks::{Asks, of_file};
use super::failure::Failure;
use super::team::OfTeam;
use super::{Answer, alone, log, out};
use crate::app::{App, Provider};
use crate::config::{self, Overrides};
use crate::name::Digest;
use anatomy::Anatomy;

/// Says what a component is, what it asks for and what it offers
///
/// It is run for that, under the default limits and without any grant.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1 if the component would be rejected.")]
pub(super) struct Inspect {
    /// The component
    #[arg(value_name = "FILE.wasm")]
    file: PathBuf,
    /// Say what it would be given of what it asks for, by this configuration
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    team: OfTeam,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What was found.
#[derive(Debug, Serialize)]
struct Findings {
    file: String,
    size: u64,
    digest: String,
    #[serde(flatten)]
    anatomy: Anatomy,
    /// None where it was rejected.
    offers: Option<Provider>,
    rejected: Option<String>,
    /// What the file beside it asks for, and what it is given of that. None where it asks for nothing.
    asks: Option<Asks>,
    /// Whether a configuration was named, which says what it is given.
    #[serde(skip)]
    configured: bool,
}

impl Inspect {
    pub(super) async fn run(self) -> Result<Answer, Failure> {
        let configured = self.config.is_some() || self.team.team.is_some();
        let asks = asks(&self.file, self.config, self.team, configured)?;
        let path = self.file;
        let bytes = std::fs::read(&path).map_err(|error| Failure::Input { path: path.clone(), error })?;
        let (offers, rejected) = run_alone(&path, &bytes).await?;
        let findings = Findings {
            file: path.display().to_string(),
            size: bytes.len() as u64,
            digest: format!("sha256:{}", Digest::of(&bytes)),
            anatomy: Anatomy::of(&bytes),
            offers,
            rejected,
            asks,
            configured,
        };
        match self.json {
            true => out::json(&findings)?,
            false => out::text(&show::show(&findings, out::colour()))?,
        }
        Ok(Answer::yes_if(findings.rejected.is_none()))
    }
}

/// Where no configuration is named there is none: it only asks.
fn asks(
    file: &Path,
    config: Option<PathBuf>,
    team: OfTeam,
    configured: bool,
) -> Result<Option<Asks>, Failure> {
    let config = match configured {
        true => {
            let overrides = Overrides { config, team: team.team, ..Overrides::default() };
            config::load(&overrides)?.over_stdio()?
        }
        false => config::bare(file.parent().unwrap_or(Path::new(".")), &Overrides::default())?,
    };
    let team = config.local.teams.iter().find_map(|team| config.teams.get(team));
    Ok(team.map(|team| of_file(&team.reconcile, file)).transpose()?.flatten())
}

/// Loads it in the same way as `larder serve` would, in a folder of its own.
async fn run_alone(path: &Path, bytes: &[u8]) -> Result<(Option<Provider>, Option<String>), Failure> {
    let folder = alone::folder(path, bytes)?;
    let config = config::bare(folder.path(), &Overrides::default())?;
    log::start_quietly(&config.log);
    let app = App::build(config).await?;
    let served = app.served();
    app.finish().await;
    let offers = served.providers.into_iter().next();
    let rejected = served.rejected.into_iter().next().map(|rejected| rejected.reason);
    Ok((offers, rejected))
}
