//! `larder check`: everything that would be wrong, before serving.

pub(super) mod asks;
mod component;

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use asks::Asks;

use super::failure::Failure;
use super::table::Table;
use super::team::OfTeam;
use super::{Answer, log, out};
use crate::app::{App, Served};
use crate::config::{self, Config, ConfigError, Overrides, Team};
use crate::reconcile;

/// Says everything that would be wrong, before serving
///
/// With a component, only that is loaded and asked: what it is, what it lists, and the first thing that it lists. It
/// has no grants but those that --config gives to a provider of its name.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1 if anything is wrong.")]
pub(super) struct Check {
    /// A component, to be checked alone
    #[arg(value_name = "FILE.wasm", conflicts_with = "plugins")]
    file: Option<PathBuf>,
    /// The configuration [default: larder.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The folder with the components [default: plugins]
    #[arg(long, value_name = "DIR")]
    plugins: Option<PathBuf>,
    #[command(flatten)]
    team: OfTeam,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What was found.
#[derive(Debug, Default, Serialize)]
struct Findings {
    ok: bool,
    /// Of the configuration.
    faults: Vec<String>,
    /// What each provider has beyond nothing, and what it waits for.
    asks: Vec<Asks>,
    #[serde(flatten)]
    served: Served,
}

impl Check {
    pub(super) async fn run(self) -> Result<Answer, Failure> {
        if let Some(file) = self.file {
            return component::check(&file, self.config, self.team, self.json).await;
        }
        let overrides = Overrides {
            config: self.config,
            plugins: self.plugins,
            team: self.team.team,
            ..Overrides::default()
        };
        let findings = match config::load(&overrides).and_then(Config::with_folder) {
            Ok(config) => examine(config).await?,
            Err(error) => of_configuration(&error),
        };
        match self.json {
            true => out::json(&findings)?,
            false => report(&findings)?,
        }
        Ok(Answer::yes_if(findings.ok))
    }
}

fn of_configuration(error: &ConfigError) -> Findings {
    Findings { faults: error.to_string().lines().map(str::to_owned).collect(), ..Findings::default() }
}

async fn examine(mut config: Config) -> Result<Findings, Failure> {
    log::start_quietly(&config.log);
    if let Some(only) = config.overrides.team.clone() {
        config.teams.retain(|team, _| *team == only);
    }
    let mut asks = Vec::new();
    for team in config.teams.values() {
        asks.extend(asks::of(team)?);
    }
    let faults: Vec<_> =
        for_nobody(&config).into_iter().chain(config.teams.values().flat_map(unused)).collect();
    let app = App::build(config).await?;
    let served = app.served();
    app.finish().await;
    let left_out = served.providers.iter().any(|provider| !provider.left_out.is_empty());
    let ok = asks.iter().all(Asks::is_fine)
        && faults.is_empty()
        && served.rejected.is_empty()
        && served.collisions.is_empty()
        && !left_out;
    Ok(Findings { ok, faults, asks, served })
}

/// Several teams, and nobody who may ask as a member of any.
fn for_nobody(config: &Config) -> Option<String> {
    let error = config.clone().over_http().err()?;
    config.clone().over_stdio().err()?;
    Some(error.to_string())
}

/// A misspelt section would grant nothing to anyone, and nobody would notice.
fn unused(team: &Team) -> impl Iterator<Item = String> {
    let reconcile::Config { plugins, terms, team: name, .. } = &team.reconcile;
    let section = if team.quota.is_some() { format!("team.{name}.provider") } else { "provider".into() };
    let unused = terms.keys().filter(|name| !plugins.join(format!("{name}.wasm")).exists());
    unused.map(move |name| {
        format!("[{section}.{name}] is for nobody: there is no {name}.wasm in {}", plugins.display())
    })
}

fn report(findings: &Findings) -> Result<(), Failure> {
    let Findings { ok, faults, asks, served } = findings;
    if !served.providers.is_empty() {
        let mut table = Table::new(["PROVIDER", "VERSION", "OFFERS"]);
        for provider in &served.providers {
            table.row([&provider.full_name(), provider.version.as_deref().unwrap_or(""), &provider.counts()]);
        }
        out::text(&table.show(out::colour()))?;
    }
    out::text(&asks.iter().map(Asks::show).collect::<String>())?;
    faults.iter().for_each(|fault| out::note(fault));
    asks.iter().flat_map(Asks::troubles).for_each(|trouble| out::note(&trouble));
    served.rejected.iter().for_each(|r| out::note(&format!("{} is rejected: {}", r.full_name(), r.reason)));
    for provider in &served.providers {
        provider
            .left_out
            .iter()
            .for_each(|why| out::note(&format!("{}: left out or changed: {why}", provider.full_name())));
    }
    served.collisions.iter().for_each(|collision| out::note(collision));
    if *ok {
        out::note("nothing is wrong");
    }
    Ok(())
}
