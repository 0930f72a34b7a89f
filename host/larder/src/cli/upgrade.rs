//! `larder upgrade`: brings the SDK in a project up to date.

use std::path::PathBuf;

use clap::Args;

use super::error::CommandError;
use super::{Outcome, out};
use larder_author::{FileChange, Upgrade};

/// Bring the SDK in a project to the version of this program
///
/// Prints which files change. A file that you edited is not overwritten: if this version has another one, it is written
/// beside it, as FILE.new, and the exit code is 1.
#[derive(Debug, Args)]
#[command(
    after_help = "Build and test the project afterwards, for example with `larder dev --once`."
)]
pub(super) struct UpgradeSdk {
    /// The folder of the project
    #[arg(value_name = "DIR", default_value = ".")]
    project: PathBuf,
    /// Print what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl UpgradeSdk {
    pub(super) fn run(self) -> Result<Outcome, CommandError> {
        let upgrade = Upgrade::plan(&self.project)?;
        out::text(&report(&upgrade))?;
        if !self.dry_run {
            upgrade.apply(&self.project)?;
        }
        let mut changes = upgrade.changes.values();
        let has_conflict = changes.any(|change| *change == FileChange::Conflict);
        Ok(Outcome::success_if(!has_conflict))
    }
}

/// Returns the versions, and a line for each file.
fn report(upgrade: &Upgrade) -> String {
    let from = &upgrade.from;
    let to = env!("CARGO_PKG_VERSION");
    let mut text = if from != to {
        format!("the SDK: {from} -> {to}\n")
    } else if upgrade.changes.is_empty() {
        format!("the SDK has version {to}, and no file differs\n")
    } else {
        format!("the SDK has version {to}, and these files differ\n")
    };
    for (path, change) in &upgrade.changes {
        let line = match change {
            FileChange::Add => format!("add      {path}\n"),
            FileChange::Update => format!("update   {path}\n"),
            FileChange::Remove => format!("remove   {path}\n"),
            FileChange::Conflict => {
                format!("edited   {path} (kept: merge {path}.new into it, then remove that)\n")
            }
            FileChange::KeepEdited => format!("edited   {path} (kept)\n"),
        };
        text += &line;
    }
    text
}
