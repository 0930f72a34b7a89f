//! Why a sign-in failed. Texts of servers are escaped and cut, because an error is printed on a terminal.

use std::path::PathBuf;

/// The characters of a server's text that an error shows.
const MAX_TEXT: usize = 200;

/// Why a sign-in, or the renewal of a token, failed.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// What the servers say about themselves cannot be used.
    #[error("{0}")]
    Discovery(String),
    /// A request failed, or its response cannot be used.
    #[error("{url}: {reason}")]
    Request {
        /// The URL.
        url: String,
        /// The cause.
        reason: String,
    },
    /// A response has an error status.
    #[error("{url} answers HTTP {status}")]
    Status {
        /// The URL.
        url: String,
        /// The status.
        status: u16,
    },
    /// The authorization server refused a request.
    #[error(
        "the authorization server refused {request}: {}",
        refusal_text(code, description)
    )]
    Refusal {
        /// What was refused, such as "the code".
        request: &'static str,
        /// The error code of OAuth.
        code: String,
        /// The explanation of the authorization server.
        description: Option<String>,
    },
    /// The browser returned an answer that must not be used.
    #[error("the answer in the browser is not used: {0}")]
    Redirect(&'static str),
    /// The user did not sign in in time.
    #[error("nobody signed in in time: run `larder login` again")]
    Timeout,
    /// The refresh token is not valid any more.
    #[error("the sign-in to {0} has ended: run `larder login {0}`")]
    Ended(String),
    /// A file with tokens cannot be read or written.
    #[error("cannot use {}: {reason}", path.display())]
    Store {
        /// The file.
        path: PathBuf,
        /// The cause, and what to do.
        reason: String,
    },
    /// The operating system refused something.
    #[error("cannot sign in: {0}")]
    System(String),
}

impl SignInError {
    pub(super) fn url(url: &str, reason: &str) -> Self {
        Self::Discovery(format!("the URL `{}` is not used: {reason}", shown(url)))
    }

    pub(super) fn request(url: &str, reason: impl Into<String>) -> Self {
        Self::Request {
            url: shown(url),
            reason: reason.into(),
        }
    }
}

/// Escapes and cuts a text of a server.
pub(super) fn shown(text: &str) -> String {
    text.escape_debug().take(MAX_TEXT).collect()
}

fn refusal_text(code: &str, description: &Option<String>) -> String {
    match description {
        Some(description) => format!("{} ({})", shown(description), shown(code)),
        None => shown(code),
    }
}
