//! `larder up`: serves folders with built-in providers, without a configuration.

mod clients;
mod configuration;
mod folders;
mod listeners;

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::error::CommandError;
use super::{Outcome, log, out, serve};
use crate::connect::Client;
use clients::Choice;
use folders::ServedFolders;
use larder_config::{self as config, AdminAddress, Overrides};
use larder_mcp::ListenAddress;

/// Serve folders with built-in providers, without a configuration
///
/// Clients can list, read and search the files and notes in the folders, and the history of repositories. The
/// providers can read these folders and nothing else.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  larder up ~/Documents/notes ~/src/project
  larder up --print-config ~/Documents/notes > larder.toml   the same server, for `larder serve`
  larder up --connect claude-desktop ~/Documents/notes       also writes it into the configuration of a client")]
pub(super) struct Up {
    /// The folders [default: the current folder]
    #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    folders: Vec<PathBuf>,
    /// Serve one client over stdin and stdout instead of HTTP
    #[arg(long)]
    stdio: bool,
    /// The address of the endpoint [default: 127.0.0.1:7878, or the next free port]
    #[arg(long, value_name = "ADDRESS", value_parser = config::parse_listen_address, conflicts_with = "stdio")]
    listen: Option<ListenAddress>,
    /// Print the configuration for which this command stands, and serve nothing
    #[arg(long, conflicts_with_all = ["stdio", "connect", "yes"])]
    print_config: bool,
    /// Write an entry that starts this server into the configuration of a client. Can be repeated
    #[arg(long, value_name = "CLIENT", conflicts_with = "stdio")]
    connect: Vec<Client>,
    /// Write the entry for all clients that are found, without confirmation
    #[arg(long, conflicts_with_all = ["stdio", "connect"])]
    yes: bool,
}

impl Up {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let folders = ServedFolders::find(self.folders)?;
        let text = configuration::text(&folders, self.listen.as_ref());
        if self.print_config {
            out::text(&text)?;
            return Ok(Outcome::Success);
        }
        for note in folders.notes() {
            out::note(&note);
        }
        folders.report_large_ones();
        if self.stdio {
            let config = config::of_text(&text, &Overrides::default())?.over_stdio()?;
            let process_log = log::start(&config.log);
            Box::pin(serve::serve_stdio(config, process_log)).await?;
            return Ok(Outcome::Success);
        }
        let choice = Choice {
            clients: self.connect,
            is_all: self.yes,
        };
        clients::connect(&choice, &folders)?;
        serve_http(&text, self.listen).await
    }
}

fn home() -> Option<PathBuf> {
    config::variable("HOME").map(PathBuf::from)
}

async fn serve_http(text: &str, listen: Option<ListenAddress>) -> Result<Outcome, CommandError> {
    let (endpoint, admin) = listeners::bind(listen).await?;
    let page = admin.address()?.url("/");
    let overrides = Overrides {
        listen: Some(endpoint.address()?),
        admin: Some(AdminAddress(Some(admin.address()?))),
        ..Overrides::default()
    };
    let config = config::of_text(text, &overrides)?.over_http()?;
    let process_log = log::start(&config.log);
    out::note(&format!("the web page for operators: {page}"));
    serve::serve_http(config, endpoint, Some(admin), process_log).await?;
    Ok(Outcome::Success)
}
