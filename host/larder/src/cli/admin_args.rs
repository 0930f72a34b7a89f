//! The options of commands that use the admin address of a server.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::error::CommandError;
use super::server_address::{ADMIN, GivenToken, ServerAddress, ServerArgs};

#[derive(Debug, Clone, Default, Args)]
pub(super) struct AdminArgs {
    /// The admin address of the server, or unix:PATH for a Unix socket [default: the address in larder.toml, or
    /// LARDER_ADMIN_URL, or http://127.0.0.1:7879]
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub(super) admin: Option<String>,
    /// The token for the admin address: that of `admin.token`, or one of the OAuth issuer with the scope of
    /// `admin.scope` [env: LARDER_ADMIN_TOKEN]
    #[arg(long)]
    token: Option<String>,
    /// A file with the token for the admin address
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    token_file: Option<PathBuf>,
    #[command(flatten)]
    pub(super) server: ServerArgs,
}

impl AdminArgs {
    /// The admin address of a configuration file.
    pub(super) fn of_config(config: Option<PathBuf>) -> Self {
        Self {
            server: ServerArgs::of_config(config),
            ..Self::default()
        }
    }

    /// Determines the address and the token.
    pub(super) fn resolve(self) -> Result<ServerAddress, CommandError> {
        let token = GivenToken {
            token: self.token,
            file: self.token_file,
        };
        self.server.resolve(&ADMIN, self.admin, token)
    }
}
