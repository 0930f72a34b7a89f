//! `larder health`: the health check of a container or of a script.

use clap::{Args, ValueHint};

use super::error::CommandError;
use super::server_address::{ADMIN, GivenToken, ServerAddress, ServerArgs};
use super::{Outcome, out};

/// Check whether a running server is ready for requests
///
/// No token is needed. `larder status` tells more.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1 if the server is not ready, or cannot be reached.")]
pub(super) struct Health {
    /// The admin address of the server, or unix:PATH for a Unix socket [default: the address in larder.toml, or
    /// LARDER_ADMIN_URL, or http://127.0.0.1:7879]
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    admin: Option<String>,
    /// Check only whether the process answers
    #[arg(long)]
    live: bool,
    #[command(flatten)]
    server: ServerArgs,
}

impl Health {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let token = GivenToken {
            token: None,
            file: None,
        };
        let ServerAddress { url, builder, .. } = self.server.resolve(&ADMIN, self.admin, token)?;
        let is_healthy = builder
            .health(&url, if self.live { "livez" } else { "readyz" })
            .await?;
        out::note(match (is_healthy, self.live) {
            (true, false) => "larder: ready",
            (true, true) => "larder: alive",
            (false, _) => "larder: not ready: `larder status` shows why",
        });
        Ok(Outcome::success_if(is_healthy))
    }
}
