//! `larder gc`: deletes unused components from the local store.

use clap::Args;
use serde_json::json;

use super::context::ContextArgs;
use crate::cli::error::CommandError;
use crate::cli::{Outcome, out, table};

/// Delete components from the local store that nothing uses
///
/// Keeps what lock files and running servers refer to, and what is younger than an hour.
#[derive(Debug, Args)]
pub(in crate::cli) struct Gc {
    #[command(flatten)]
    context: ContextArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Gc {
    pub(in crate::cli) fn run(self) -> Result<Outcome, CommandError> {
        let context = self.context.load()?;
        let collected = context.store.collect_garbage()?;
        if self.json {
            out::json(&json!({ "blobs": collected.blobs, "bytes": collected.bytes }))?
        } else {
            out::note(&format!(
                "larder: deleted {} files ({}) from {}",
                collected.blobs,
                table::bytes(collected.bytes),
                context.store.folder().display()
            ))
        }
        Ok(Outcome::Success)
    }
}
