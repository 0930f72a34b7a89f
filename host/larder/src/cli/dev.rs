//! `larder dev`: builds a provider on every save, serves it, and prints what it offers or the error.

mod build;
mod build_output;
mod builder;
mod development;
mod error;
mod follow;
mod loader;
mod phases;
mod report;
mod sources;
mod tools;

use std::path::PathBuf;

use clap::Args;

use self::builder::Builder;
use self::follow::{Cause, Rebuilt, follow, rebuild};
use self::loader::Loader;
use super::error::CommandError;
use super::team::TeamArg;
use super::{Outcome, out};
use crate::app::ShutdownSignals;
use larder_config::{self as config, Overrides, Project};
use larder_mcp::ListenAddress;

/// Build a provider on every save, serve it, and print what it offers
///
/// larder-dev.toml, which `larder new` creates, has the build commands. A Rust project with a Cargo.toml needs none. If
/// it has a section [development], the component is not built on every save: a development component, which only this
/// command can use, loads the program. `--packed`, `--once` and `--plugins` build the component as it is deployed.
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
    /// Build the component as it is deployed, also if there is a development component
    #[arg(long)]
    packed: bool,
}

impl Dev {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let project = config::load_project(&self.folder)?;
        let overrides = Overrides {
            config: self.config,
            team: self.team.team,
            listen: self.listen,
            ..Overrides::default()
        };
        match (self.once, self.plugins) {
            (true, _) => Box::pin(once(&project, overrides)).await,
            (false, Some(plugins)) => {
                let loader = Loader::for_folder(&project, plugins, overrides)?;
                Box::pin(follow_for_server(&project, loader)).await
            }
            (false, None) => Box::pin(serve(&project, overrides, self.packed)).await,
        }
    }
}

/// Follows the changes for a server that runs already.
async fn follow_for_server(project: &Project, mut loader: Loader) -> Result<Outcome, CommandError> {
    let mut builder = Builder::Packed;
    let mut signals = ShutdownSignals::for_terminal();
    tokio::select! {
        ended = follow(project, &mut builder, &mut loader) => ended,
        () = signals.next() => Ok(Outcome::Success),
    }
}

async fn serve(
    project: &Project,
    overrides: Overrides,
    packed: bool,
) -> Result<Outcome, CommandError> {
    let (mut loader, app, listener) = Loader::with_server(project, overrides).await?;
    let url = listener.address()?.url("/mcp");
    out::note(&format!("larder: serves {url}"));
    let mut builder = Builder::new(project, &loader.programs()?, packed);
    if matches!(builder, Builder::Development(_)) {
        out::note(
            "larder: a development component loads the program; \
             `larder dev --once` builds the component that you deploy",
        );
    }
    // If this future is dropped, a running build is killed.
    tokio::select! {
        ended = follow(project, &mut builder, &mut loader) => ended,
        served = app.serve_http(listener) => Ok(served.map(|()| Outcome::Success)?),
    }
}

async fn once(project: &Project, overrides: Overrides) -> Result<Outcome, CommandError> {
    let mut signals = ShutdownSignals::for_terminal();
    let result = async {
        let mut loader = Loader::new(project, overrides)?;
        let rebuilt = rebuild(project, &mut Builder::Packed, &mut loader, Cause::Start).await?;
        Ok(Outcome::success_if(
            rebuilt
                == Rebuilt::Served {
                    without_problem: true,
                },
        ))
    };
    tokio::select! {
        result = result => result,
        () = signals.next() => Ok(Outcome::Negative),
    }
}
