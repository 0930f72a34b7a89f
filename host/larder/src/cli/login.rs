//! `larder login` and `larder logout`: the sign-in to a protected server, and its end.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::error::CommandError;
use super::server_address::{ServerArgs, read_token};
use super::{Outcome, out, sign_in};
use larder_client::{ClientIdentity, SignIn};
use larder_config as config;

/// Sign in to a server that requires it, and store its tokens
#[derive(Debug, Args)]
#[command(
    after_help = "The tokens are in the state folder of this user ($XDG_STATE_HOME/larder/sign-ins, or \
~/.local/state/larder/sign-ins). Other commands use and renew them for this URL, unless another token is given.

Examples:
  larder login https://docs.example.com/mcp
  larder login https://docs.example.com/mcp --device           on a machine without a browser
  larder login https://docs.example.com/mcp --client-id larder --client-secret-file secret"
)]
pub(super) struct Login {
    /// The endpoint of the server
    #[arg(value_hint = ValueHint::Url)]
    url: String,
    /// Sign in with a code on another machine that has a browser
    #[arg(long, conflicts_with_all = ["no_browser", "redirect_port"])]
    device: bool,
    /// Only print the address of the page, and do not open a browser
    #[arg(long)]
    no_browser: bool,
    /// The port for the answer of the browser, if the authorization server allows only one [default: any free port]
    #[arg(long, value_name = "PORT")]
    redirect_port: Option<u16>,
    /// Request this scope in addition to those that the server names; can be repeated
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// The authorization server to use, if the server names several
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    issuer: Option<String>,
    #[command(flatten)]
    identity: IdentityArgs,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Client")]
struct IdentityArgs {
    /// The id of a client that is registered at the authorization server [default: this program registers itself]
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// A file with the secret of that client [default: LARDER_CLIENT_SECRET, or no secret]
    #[arg(long, value_name = "FILE", requires = "client_id")]
    client_secret_file: Option<PathBuf>,
    /// The URL of a client ID metadata document, for authorization servers that support it
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, conflicts_with = "client_id")]
    client_metadata: Option<String>,
}

/// Delete the stored tokens of a server, and revoke them
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1 if there are none.")]
pub(super) struct Logout {
    /// The endpoint of the server
    #[arg(value_hint = ValueHint::Url)]
    url: String,
    #[command(flatten)]
    server: ServerArgs,
}

impl Login {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let sign_in = SignIn {
            identity: self.identity.read()?,
            issuer: self.issuer,
            scopes: self.scopes,
            redirect_port: self.redirect_port,
            with_device_code: self.device,
            prompt: Some(sign_in::prompt(!self.no_browser)),
            ..sign_in::stored().ok_or(CommandError::NoStateFolder)?
        };
        let builder = self.server.builder()?.sign_in(sign_in);
        let login = builder.log_in(&self.url).await?;
        let scopes = match login.scopes.join(" ") {
            none if none.is_empty() => String::new(),
            scopes => format!(" with the scopes {scopes}"),
        };
        out::note(&format!("larder: signed in to {}{scopes}", self.url));
        if config::env_token("LARDER_TOKEN").is_some() {
            out::note("larder: commands use the token in LARDER_TOKEN instead, until it is unset");
        }
        Ok(Outcome::Success)
    }
}

impl Logout {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let sign_in = sign_in::stored().ok_or(CommandError::NoStateFolder)?;
        let builder = self.server.builder()?.sign_in(sign_in);
        let was_signed_in = builder.log_out(&self.url).await?;
        let result = if was_signed_in {
            format!("larder: signed out of {}", self.url)
        } else {
            format!("larder: no tokens are stored for {}", self.url)
        };
        out::note(&result);
        Ok(Outcome::success_if(was_signed_in))
    }
}

impl IdentityArgs {
    fn read(self) -> Result<ClientIdentity, CommandError> {
        let secret = match &self.client_secret_file {
            Some(path) => Some(read_token(path)?),
            None => config::env_token("LARDER_CLIENT_SECRET").filter(|_| self.client_id.is_some()),
        };
        Ok(ClientIdentity {
            id: self.client_id,
            secret,
            metadata_url: self.client_metadata,
        })
    }
}
