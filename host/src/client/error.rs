//! Why the client has no answer. Each text says what to do next.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Not an address of HTTP.
    #[error("`{0}` is not a URL of a server: write one such as http://127.0.0.1:7878/mcp")]
    BadUrl(String),
    /// A token that no header can carry.
    #[error("the token holds characters that no HTTP header can carry")]
    BadToken,
    /// A header that cannot be sent.
    #[error("`{0}` is not a header that can be sent")]
    BadHeader(String),
    /// There is no such program, or it may not be run.
    #[error("cannot start {program}: {why}")]
    NotStarted {
        /// The program.
        program: String,
        /// What the system said.
        why: String,
    },
    /// Nobody answers.
    #[error("cannot reach {url}: {why}; is `larder serve` running?")]
    Unreachable {
        /// Where.
        url: String,
        /// What the system said.
        why: String,
    },
    /// The answer did not come in time.
    #[error("{0} did not answer in time")]
    TimedOut(String),
    /// A token is needed, or another one.
    #[error(
        "{url} wants a valid token (HTTP 401){}: give one with LARDER_TOKEN, `--token-file` or `--token`",
        reason(why)
    )]
    Unauthorized {
        /// Where.
        url: String,
        /// What the server says of it.
        why: Option<String>,
    },
    /// This client may not ask, whatever it does.
    #[error("{url} refuses this client (HTTP 403){}: ask its operator for what is missing", reason(why))]
    Forbidden {
        /// Where.
        url: String,
        /// What the server says of it.
        why: Option<String>,
    },
    /// The endpoint is elsewhere.
    #[error("{url} answers HTTP {status}: {hint}")]
    Status {
        /// Where.
        url: String,
        /// The status.
        status: u16,
        /// What it may mean.
        hint: String,
    },
    /// An answer that is not MCP.
    #[error("the server's answer is not MCP: {0}")]
    NotMcp(String),
    /// Operators show a token of their own.
    #[error(
        "{url} wants the token that belongs to `admin.token` (HTTP 401): give it with LARDER_ADMIN_TOKEN or `--token`"
    )]
    NotOperator {
        /// Where.
        url: String,
    },
    /// Not what a status page says.
    #[error("what {0} answers is not the status of a server; give its admin address with `--admin`")]
    NotStatus(String),
    /// The server says no.
    #[error("the server says: {0}")]
    Refused(Refusal),
    /// Whoever asked does not want the answer any more.
    #[error("cancelled")]
    Cancelled,
    /// The connection ended first.
    #[error("the connection ended before the answer came")]
    Closed,
    /// More than a client takes.
    #[error("the answer is larger than {} MiB", super::http::LARGEST >> 20)]
    TooLarge,
}

impl ClientError {
    /// Whether the question was asked wrongly, as opposed to answered with no.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::BadUrl(_) | Self::BadToken | Self::BadHeader(_))
    }
}

fn reason(why: &Option<String>) -> String {
    why.as_ref().map(|why| format!(": {why}")).unwrap_or_default()
}

/// An error as a server writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct Refusal {
    /// Its number.
    pub code: i64,
    /// Its text.
    pub message: String,
    /// What belongs to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}
