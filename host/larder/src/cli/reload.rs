//! `larder reload`: makes a running server read its configuration again.

use clap::Args;

use super::admin_args::AdminArgs;
use super::error::CommandError;
use super::server_address::ServerAddress;
use super::{Outcome, out, sanitize};
use larder_admin::ReloadReport;
use larder_client as client;

/// Make a running server read its configuration again and scan its plugins folders
///
/// The server notices changes itself. This command waits for the result and prints it, and also reads files of secrets
/// again.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 1 if the configuration has errors, so that nothing changed, or if the server cannot be reached."
)]
pub(super) struct Reload {
    #[command(flatten)]
    admin: AdminArgs,
    /// Print the server's JSON
    #[arg(long)]
    json: bool,
}

impl Reload {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let ServerAddress { url, builder, .. } = self.admin.resolve()?;
        let reloaded: serde_json::Value = builder.reload(&url).await?;
        let ok = reloaded["ok"] == true;
        if self.json {
            out::json(&reloaded)?;
        } else {
            let reloaded = serde_json::from_value(reloaded)
                .map_err(|_| client::ClientError::NotStatus(url))?;
            show(&reloaded);
        }
        Ok(Outcome::success_if(ok))
    }
}

fn show(reloaded: &ReloadReport) {
    let ReloadReport {
        ok,
        errors,
        needs_restart,
    } = reloaded;
    errors
        .iter()
        .for_each(|error| out::note(&sanitize::line(error)));
    out::note(if *ok {
        "larder: reloaded"
    } else {
        "larder: not reloaded: fix the errors above"
    });
    for key in needs_restart {
        out::note(&sanitize::line(&format!(
            "larder: {key} changed: this takes effect after a restart"
        )));
    }
}
