//! Signs in to protected MCP servers with OAuth, as MCP defines it, and keeps the tokens. A [`Credential`] belongs to one
//! server: it has the tokens of the server, renews them, and signs in again if the server requires more scopes.

mod authorization;
mod challenge;
mod code_flow;
mod credential;
mod device_flow;
mod discovery;
mod error;
mod oauth_client;
mod oauth_http;
mod random;
mod redirect;
mod token_grant;
mod token_request;
mod token_store;
mod url_policy;
mod user_prompt;

use std::time::Duration;

pub(crate) use challenge::BearerChallenge;
pub(crate) use credential::{Connection, Credential};
pub use error::SignInError;
pub use oauth_client::ClientIdentity;
pub use token_store::TokenStore;
pub use url_policy::IsPublicAddress;
pub(crate) use url_policy::is_this_machine;
pub use user_prompt::{UserAction, UserPrompt};

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// How to sign in, and where the tokens are stored.
#[derive(Clone)]
pub struct SignIn {
    /// The files with the tokens.
    pub store: TokenStore,
    /// Whether an IP address is public. A public server must not name URLs with other addresses.
    pub is_public: IsPublicAddress,
    /// What the user knows about the identity of this program.
    pub identity: ClientIdentity,
    /// The authorization server to use, if the MCP server names several.
    pub issuer: Option<String>,
    /// Scopes to request in addition to those that the server names.
    pub scopes: Vec<String>,
    /// The port for the answer of the browser. By default any free port.
    pub redirect_port: Option<u16>,
    /// Whether the user signs in on another machine with a code.
    pub with_device_code: bool,
    /// How long a request to an authorization server may take.
    pub timeout: Duration,
    /// Asks the user. Without it, stored tokens are used and renewed, and nobody is asked.
    pub prompt: Option<UserPrompt>,
}

impl SignIn {
    /// Uses and renews the tokens in this store, and asks nobody.
    pub fn new(store: TokenStore, is_public: IsPublicAddress) -> Self {
        Self {
            store,
            is_public,
            identity: ClientIdentity::default(),
            issuer: None,
            scopes: Vec::new(),
            redirect_port: None,
            with_device_code: false,
            timeout: DEFAULT_TIMEOUT,
            prompt: None,
        }
    }
}
