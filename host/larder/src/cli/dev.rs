//! `larder dev`: builds a provider on every save, serves it, and prints what it offers or the error.

mod build;
mod build_output;
mod loader;
mod report;
mod sources;
mod tools;

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use self::build::build;
use self::loader::Loader;
use self::sources::{Snapshot, Sources};
use super::error::CommandError;
use super::team::TeamArg;
use super::{Outcome, guest_stderr, out};
use crate::app::{self, ShutdownSignals};
use crate::config::{self, Overrides, Project};
use larder_mcp::ListenAddress;

/// How many builds in a row are interrupted by changes before a warning.
const INTERRUPTIONS_BEFORE_WARNING: u32 = 3;
/// How many builds in a row are interrupted by changes before the next one waits until the files stop
/// changing, and is not interrupted.
const MAX_INTERRUPTIONS: u32 = 10;

/// Build a provider on every save, serve it, and print what it offers
///
/// larder-dev.toml, which `larder new` creates, has the build commands. A Rust project with a Cargo.toml
/// needs none.
#[derive(Debug, Args)]
#[command(
    after_help = "Grants come from larder.toml in the project, or --config, which is read once at the start. \
Requests in the project's NAME.toml are approved automatically. Its relative folders begin at the project, \
or with --plugins at that folder."
)]
pub(super) struct Dev {
    /// The project folder
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Write the component into this folder, for another `larder serve`, instead of serving it
    #[arg(long, value_name = "DIR", conflicts_with = "listen")]
    plugins: Option<PathBuf>,
    /// The address of the endpoint, or unix:PATH for a Unix socket [default: 127.0.0.1:7878]
    #[arg(long, value_name = "ADDRESS", value_parser = config::parse_listen_address)]
    listen: Option<ListenAddress>,
    /// The configuration file [default: larder.toml in the project, if it exists]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    team: TeamArg,
    /// Build and load once, then exit; exit code 1 if there is a problem
    #[arg(long, conflicts_with_all = ["listen", "plugins"])]
    once: bool,
}

impl Dev {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let project = config::load_project(&self.folder)?;
        let (config, team, listen) = (self.config, self.team.team, self.listen);
        let overrides = Overrides { config, team, listen, ..Overrides::default() };
        match (self.once, self.plugins) {
            (true, _) => once(&project, overrides).await,
            (false, Some(plugins)) => {
                let mut loader = Loader::for_folder(&project, plugins, overrides)?;
                let mut signals = ShutdownSignals::for_terminal();
                tokio::select! {
                    ended = follow(&project, &mut loader) => ended,
                    () = signals.next() => Ok(Outcome::Success),
                }
            }
            (false, None) => {
                let (mut loader, app, listener) = Loader::with_server(&project, overrides).await?;
                out::note(&format!("larder: serves {}", listener.address()?.url()));
                // The other future is dropped, which kills a running build.
                tokio::select! {
                    ended = follow(&project, &mut loader) => ended,
                    served = app.serve_http(listener) => Ok(served.map(|()| Outcome::Success)?),
                }
            }
        }
    }
}

async fn once(project: &Project, overrides: Overrides) -> Result<Outcome, CommandError> {
    let mut signals = ShutdownSignals::for_terminal();
    let result = async {
        let mut loader = Loader::new(project, overrides)?;
        Ok(Outcome::success_if(build_and_load(project, &mut loader).await?))
    };
    tokio::select! {
        result = result => result,
        () = signals.next() => Ok(Outcome::Negative),
    }
}

/// Builds and loads the component, and prints the result. Returns whether there was no problem.
async fn build_and_load(project: &Project, loader: &mut Loader) -> Result<bool, CommandError> {
    let began = Instant::now();
    if let Err(error) = build(project).await {
        out::note(&format!("larder: {error}"));
        return Ok(false);
    }
    let built = began.elapsed();
    match loader.load(project).await {
        Ok(loaded) => report::print(&project.name, built, began.elapsed(), &loaded),
        Err(error) => {
            out::note(&format!("larder: {error}"));
            if let LoadError::Rejected { stderr, .. } = &error {
                guest_stderr::note(project.name.as_str(), stderr);
            }
            Ok(false)
        }
    }
}

/// Builds and loads after every change. Only errors end it.
async fn follow(project: &Project, loader: &mut Loader) -> Result<Outcome, CommandError> {
    let mut sources = Sources::new(project);
    let mut base = sources.snapshot()?;
    let mut interruptions = 0;
    loop {
        if !config::load_project(&project.folder).is_ok_and(|now| now == *project) {
            out::note(&format!("larder: {} has changed; restart `larder dev`", config::PROJECT_FILE));
        }
        // Its NAME.toml may have changed.
        if sources.set_written(&loader.writable_folders(project)) {
            base = sources.snapshot()?;
        }
        out::note(&format!("larder: building {}", project.name));
        tokio::select! {
            ended = build_and_load(project, loader) => {
                ended?;
            }
            edited = sources.wait_for_edit(&base), if interruptions < MAX_INTERRUPTIONS => {
                edited?;
                out::note("larder: files changed during the build; building again");
            }
        }
        let now = sources.snapshot()?;
        if now == base || interruptions >= MAX_INTERRUPTIONS {
            if now != base {
                out::note(&format!(
                    "larder: {} changed during this build as well; the next build starts after the next save",
                    sources::difference(&now, &base)
                ));
            }
            base = sources.wait_for_change(&now).await?;
            interruptions = 0;
            continue;
        }
        interruptions += 1;
        if interruptions == INTERRUPTIONS_BEFORE_WARNING {
            out::note(&interruption_warning(&now, &base));
        }
        base = if interruptions < MAX_INTERRUPTIONS { now } else { wait_until_idle(&mut sources).await? };
    }
}

/// Waits until the files stop changing. Otherwise a build that takes longer than the time between two saves
/// would never finish.
async fn wait_until_idle(sources: &mut Sources) -> Result<Snapshot, CommandError> {
    out::note(&format!(
        "larder: files changed during each of the last {MAX_INTERRUPTIONS} builds; \
         waiting until they stop changing"
    ));
    sources.wait_until_idle().await
}

fn interruption_warning(now: &Snapshot, base: &Snapshot) -> String {
    let file = sources::difference(now, base);
    format!(
        "larder: {file} changed during each of the last builds; if the build writes it, add it to `ignore` in {}",
        config::PROJECT_FILE
    )
}

/// Why the output of a build was not loaded.
#[derive(Debug, thiserror::Error)]
enum LoadError {
    #[error(
        "the build did not create {}: {error}; check `component` in {}",
        path.display(),
        config::PROJECT_FILE
    )]
    NoComponent { path: PathBuf, error: std::io::Error },
    #[error("cannot read {}: {error}", path.display())]
    Unreadable { path: PathBuf, error: std::io::Error },
    #[error("{reason}")]
    Rejected {
        reason: String,
        /// The end of what the guest wrote to stderr.
        stderr: String,
    },
    #[error(transparent)]
    Disk(#[from] larder_author::DiskError),
    #[error("{0}")]
    Run(#[from] app::RunError),
    #[error("the component was not loaded within {0:?}")]
    TimedOut(std::time::Duration),
}
