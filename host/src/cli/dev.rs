//! `larder dev`: builds a provider on every save, loads it, and says what it offers or what is wrong.

mod build;
mod made;
mod report;
mod sources;
mod stage;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use self::build::build;
use self::sources::{Snapshot, Sources};
use self::stage::Stage;
use super::failure::Failure;
use super::team::OfTeam;
use super::{Answer, out};
use crate::app::{self, Stops};
use crate::config::{self, Overrides, Project};

/// Builds that were outrun by changes, one after the other, before somebody is told.
const OUTRUN: u32 = 3;
/// And before the next one waits until nothing changes any more, and goes to its end.
const ENOUGH: u32 = 10;

/// Builds a provider on every save, serves it, and says what it offers
///
/// How it is built stands in its larder-dev.toml, as `larder new` writes it; for Rust, Cargo.toml will do.
#[derive(Debug, Args)]
#[command(
    after_help = "A larder.toml in the project, or --config, grants what the provider needs; it is read once. \
What a NAME.toml of the project asks for is given; its folders are relative to the project, or with --plugins \
to the folder it is dropped into."
)]
pub(super) struct Dev {
    /// The project
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Drop the component into this folder, which another `larder serve` serves, instead of serving it here
    #[arg(long, value_name = "DIR", conflicts_with = "listen")]
    plugins: Option<PathBuf>,
    /// The address of the endpoint [default: 127.0.0.1:7878]
    #[arg(long, value_name = "ADDRESS", value_parser = config::listen)]
    listen: Option<SocketAddr>,
    /// The configuration [default: larder.toml of the project, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    team: OfTeam,
    /// Build and load once, and end; exit code 1 if anything is wrong
    #[arg(long, conflicts_with_all = ["listen", "plugins"])]
    once: bool,
}

impl Dev {
    pub(super) async fn run(self) -> Result<Answer, Failure> {
        let project = config::project(&self.folder)?;
        let (config, team, listen) = (self.config, self.team.team, self.listen);
        let given = Overrides { config, team, listen, plugins: None };
        match (self.once, self.plugins) {
            (true, _) => once(&project, given).await,
            (false, Some(plugins)) => {
                let mut stage = Stage::elsewhere(&project, plugins, given)?;
                let mut stops = Stops::of_terminal();
                tokio::select! {
                    ended = follow(&project, &mut stage) => ended,
                    () = stops.next() => Ok(Answer::Yes),
                }
            }
            (false, None) => {
                let (mut stage, app, listener) = Stage::here(&project, given).await?;
                out::note(&format!("larder: serves http://{}/mcp", listener.local_addr()?));
                // What is not waited for any more is dropped, and a build with it.
                tokio::select! {
                    ended = follow(&project, &mut stage) => ended,
                    served = app.serve_http(listener) => Ok(served.map(|()| Answer::Yes)?),
                }
            }
        }
    }
}

async fn once(project: &Project, given: Overrides) -> Result<Answer, Failure> {
    let mut stops = Stops::of_terminal();
    let round = async {
        let mut stage = Stage::alone(project, given)?;
        Ok(Answer::yes_if(round(project, &mut stage).await?))
    };
    tokio::select! {
        ended = round => ended,
        () = stops.next() => Ok(Answer::No),
    }
}

/// Builds and loads, and says how that went.
async fn round(project: &Project, stage: &mut Stage) -> Result<bool, Failure> {
    let began = Instant::now();
    if let Err(error) = build(project).await {
        out::note(&format!("larder: {error}"));
        return Ok(false);
    }
    let built = began.elapsed();
    match stage.load(project).await {
        Ok(loaded) => report::say(&project.name, built, began.elapsed(), &loaded),
        Err(error) => {
            out::note(&format!("larder: {error}"));
            Ok(false)
        }
    }
}

/// Round after round, until somebody stops it.
async fn follow(project: &Project, stage: &mut Stage) -> Result<Answer, Failure> {
    let mut sources = Sources::new(project);
    let mut base = sources.look()?;
    let mut outrun = 0;
    loop {
        if !config::project(&project.folder).is_ok_and(|now| now == *project) {
            out::note(&format!("larder: {} is not what it was; start `larder dev` anew", config::PROJECT));
        }
        out::note(&format!("larder: building {}", project.name));
        tokio::select! {
            ended = round(project, stage) => {
                ended?;
            }
            edited = sources.edited(&base), if outrun < ENOUGH => {
                edited?;
                out::note("larder: changed while it was built; once more");
            }
        }
        let now = sources.look()?;
        if now == base || outrun >= ENOUGH {
            if now != base {
                out::note(&format!(
                    "larder: {} changed during this one as well; the next one is after the next save",
                    sources::difference(&now, &base)
                ));
            }
            base = sources.changed(&now).await?;
            outrun = 0;
            continue;
        }
        outrun += 1;
        if outrun == OUTRUN {
            out::note(&restless(&now, &base));
        }
        base = if outrun < ENOUGH { now } else { calm(&mut sources).await? };
    }
}

/// Builds that never end before the next save would show nothing: the next one is made of what is there at last.
async fn calm(sources: &mut Sources) -> Result<Snapshot, Failure> {
    out::note(&format!(
        "larder: files changed during each of the last {ENOUGH} builds; the next one is when they are at rest"
    ));
    sources.at_rest().await
}

fn restless(now: &Snapshot, base: &Snapshot) -> String {
    let file = sources::difference(now, base);
    format!(
        "larder: {file} changed during each of the last builds; if the build writes it, put it under `ignore` in {}",
        config::PROJECT
    )
}

/// Why a component that was built is not loaded.
#[derive(Debug, thiserror::Error)]
enum LoadError {
    #[error("the build made no {}: {error}; is `component` in {} right?", path.display(), config::PROJECT)]
    Unbuilt { path: PathBuf, error: std::io::Error },
    #[error("cannot read {}: {error}", path.display())]
    Unreadable { path: PathBuf, error: std::io::Error },
    #[error("{0}")]
    Rejected(String),
    #[error(transparent)]
    Disk(#[from] crate::author::DiskError),
    #[error("{0}")]
    Run(#[from] app::RunError),
    #[error("it was not loaded within {0:?}")]
    Late(std::time::Duration),
}
