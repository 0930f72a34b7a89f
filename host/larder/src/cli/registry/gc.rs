//! `larder gc`: deletes unused components from the local store.

use clap::Args;
use serde_json::json;

use super::context::ContextArgs;
use crate::cli::error::CommandError;
use crate::cli::{Outcome, out, table};
use larder_registry::GarbageMode;

/// Delete components from the local store that nothing uses
///
/// Keeps what lock files and running servers refer to, and what is younger than an hour.
#[derive(Debug, Args)]
pub(in crate::cli) struct Gc {
    #[command(flatten)]
    context: ContextArgs,
    /// Delete nothing: print what would be deleted
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Gc {
    pub(in crate::cli) fn run(self) -> Result<Outcome, CommandError> {
        let context = self.context.load()?;
        let (mode, what) = if self.dry_run {
            (GarbageMode::DryRun, "would delete")
        } else {
            (GarbageMode::Delete, "deleted")
        };
        let collected = context.store.collect_garbage(mode)?;
        if self.json {
            out::json(&json!({ "blobs": collected.blobs, "bytes": collected.bytes }))?
        } else {
            out::note(&format!(
                "larder: {what} {} files ({}) from {}",
                collected.blobs,
                table::bytes(collected.bytes),
                context.store.folder().display()
            ))
        }
        Ok(Outcome::Success)
    }
}
