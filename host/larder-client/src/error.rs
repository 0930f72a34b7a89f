//! Errors of the client. Each text says what to do next.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::limits::MAX_MESSAGE_BYTES;
use super::sign_in::SignInError;

/// Why a request has no result.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The text is not an HTTP URL.
    #[error("`{0}` is not the URL of a server: write one such as http://127.0.0.1:7878/mcp")]
    BadUrl(String),
    /// The token cannot be sent in an HTTP header.
    #[error("the token contains characters that are not allowed in an HTTP header")]
    BadToken,
    /// The header cannot be sent.
    #[error("`{0}` is not a valid HTTP header, or its value is not")]
    BadHeader(String),
    /// The token would be sent to another machine without encryption.
    #[error(
        "{0} is plain HTTP, over which anyone on the way can read the token: use https, or allow it with `--insecure`"
    )]
    PlainHttp(String),
    /// The program does not exist or cannot be executed.
    #[error("cannot start {program}: {why}")]
    NotStarted {
        /// The program.
        program: String,
        /// The error of the operating system.
        why: String,
    },
    /// The connection could not be established.
    #[error("cannot reach {url}: {why}; is `larder serve` running?")]
    Unreachable {
        /// The URL.
        url: String,
        /// The cause.
        why: String,
    },
    /// The certificate of the server is not trusted.
    #[error("the certificate of {url} is not trusted: {why}")]
    Certificate {
        /// The URL.
        url: String,
        /// The cause of the rejection, and what to do.
        why: String,
    },
    /// The file has no certificates.
    #[error("the file with trusted certificates contains none: it must be in PEM format")]
    BadCertificates,
    /// The answer did not arrive in time.
    #[error("{0} did not answer in time")]
    TimedOut(String),
    /// The token is missing or not valid.
    #[error(
        "{url} requires a valid token (HTTP 401){}: give one with LARDER_TOKEN, `--token-file` or `--token`",
        reason(why)
    )]
    Unauthorized {
        /// The URL.
        url: String,
        /// The server's reason.
        why: Option<String>,
    },
    /// The server requires a sign-in.
    #[error(
        "{url} requires a sign-in (HTTP 401){}: run `larder login {url}`, or give a token with LARDER_TOKEN, `--token-file` or `--token`",
        reason(why)
    )]
    SignInRequired {
        /// The URL.
        url: String,
        /// The server's reason.
        why: Option<String>,
    },
    /// The token lacks scopes.
    #[error(
        "{url} requires a token with more scopes (HTTP 403): run `larder login {url}{}`",
        scope_options(scopes)
    )]
    InsufficientScope {
        /// The URL.
        url: String,
        /// The scopes that the request needs.
        scopes: Vec<String>,
    },
    /// The sign-in, or the renewal of a token, failed.
    #[error(transparent)]
    SignIn(#[from] SignInError),
    /// There is no sign-in for this kind of address.
    #[error("there is no sign-in for {0}: write the http:// or https:// URL of a server")]
    NoLogin(String),
    /// The server does not allow this client.
    #[error(
        "{url} refuses this client (HTTP 403){}: ask its operator for access",
        reason(why)
    )]
    Forbidden {
        /// The URL.
        url: String,
        /// The server's reason.
        why: Option<String>,
    },
    /// An HTTP status without a JSON-RPC message.
    #[error("{url} answers HTTP {status}: {hint}")]
    Status {
        /// The URL.
        url: String,
        /// The status.
        status: u16,
        /// The probable cause.
        hint: String,
    },
    /// The answer is not valid MCP.
    #[error("the server's answer is not valid MCP: {0}")]
    NotMcp(String),
    /// The admin address requires its own token.
    #[error(
        "{url} requires the token in `admin.token` (HTTP 401){}: give it with LARDER_ADMIN_TOKEN, `--token-file` or `--token`",
        reason(why)
    )]
    AdminUnauthorized {
        /// The URL.
        url: String,
        /// The server's reason.
        why: Option<String>,
    },
    /// The admin address refuses the request.
    #[error("{message} (HTTP {status} from {url})")]
    Admin {
        /// The URL.
        url: String,
        /// The status.
        status: u16,
        /// The server's reason.
        message: String,
    },
    /// The server has no status under this path.
    #[error(
        "there is no {0}: give the server's admin address with `--admin`; a server that is older than this command does not have this path"
    )]
    NoStatus(String),
    /// The answer is not a status document.
    #[error("{0} does not return a server status; give the server's admin address with `--admin`")]
    NotStatus(String),
    /// The server returned a JSON-RPC error.
    #[error("the server returned an error: {0}")]
    Rpc(RpcError),
    /// The caller cancelled the request.
    #[error("cancelled")]
    Cancelled,
    /// The connection ended before the answer.
    #[error("the connection ended before the answer arrived")]
    Closed,
    /// The answer exceeds the size limit.
    #[error("the answer is larger than {} MiB", MAX_MESSAGE_BYTES >> 20)]
    TooLarge,
}

impl ClientError {
    /// Returns whether the caller's input is wrong. False if the request failed.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::BadUrl(_)
                | Self::BadToken
                | Self::BadHeader(_)
                | Self::PlainHttp(_)
                | Self::BadCertificates
                | Self::NoLogin(_)
        )
    }
}

fn reason(why: &Option<String>) -> String {
    why.as_ref()
        .map(|why| format!(": {why}"))
        .unwrap_or_default()
}

/// Returns the scopes as options of a command. Users may copy the command to a shell, so only plain characters are shown.
fn scope_options(scopes: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ":./_-@+".contains(c);
    let plain = scopes.iter().filter(|scope| scope.chars().all(is_plain));
    plain.map(|scope| format!(" --scope {scope}")).collect()
}

/// A JSON-RPC error object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// The error code.
    pub code: i64,
    /// The message.
    pub message: String,
    /// Additional data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}
