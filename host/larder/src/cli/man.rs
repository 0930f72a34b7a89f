//! `larder man`: the manual pages, generated from the command line.

use std::path::PathBuf;

use clap::{Args, CommandFactory as _, ValueHint};

use super::error::CommandError;
use super::{Cli, Outcome};

/// Write the manual pages into a folder
#[derive(Debug, Args)]
#[command(after_help = "Example: larder man ~/.local/share/man/man1")]
pub(super) struct Man {
    /// The folder; it is created if it does not exist
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
}

impl Man {
    pub(super) fn run(self) -> Result<Outcome, CommandError> {
        let written = std::fs::create_dir_all(&self.folder)
            .and_then(|()| clap_mangen::generate_to(Cli::command(), &self.folder));
        written.map_err(CommandError::file(&self.folder))?;
        Ok(Outcome::Success)
    }
}
