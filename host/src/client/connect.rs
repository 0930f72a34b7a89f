//! How a connection begins: where to, as whom, and in which revision if that matters.

use std::fmt;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::Command;

use super::child::Child;
use super::error::ClientError;
use super::http::Http;
use super::lines::Lines;
use super::revision::Revision;
use super::{Client, Transport, greeting};

/// What is settled before a connection begins. Without anything the newest revision is spoken that the server has.
///
/// ```no_run
/// # async fn connect() -> Result<(), Box<dyn std::error::Error>> {
/// use larder::client::Client;
///
/// let client = Client::connect()
///     .token("secret")
///     .header("x-request-from", "the night shift")
///     .revision("2025-11-25".parse()?)
///     .http("http://127.0.0.1:7878/mcp")
///     .await?;
/// assert_eq!(client.revision(), "2025-11-25");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Connect {
    pub(super) token: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    revision: Option<Revision>,
}

/// Without what nobody but the server should see: any header may be a key.
impl fmt::Debug for Connect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Connect")
            .field("token", &self.token.as_ref().map(|_| "…"))
            .field("headers", &headers)
            .field("revision", &self.revision)
            .finish()
    }
}

impl Connect {
    /// Sends a bearer token with each HTTP request.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Sends a header with each HTTP request.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Speaks this revision and no other.
    #[must_use]
    pub fn revision(mut self, revision: Revision) -> Self {
        self.revision = Some(revision);
        self
    }

    /// Connects to an endpoint such as `http://127.0.0.1:7878/mcp`.
    pub async fn http(self, url: &str) -> Result<Client, ClientError> {
        let http = Http::new(url, &self)?;
        greeting::greet(Transport::Http(http), self.revision).await
    }

    /// Speaks to a server that reads and writes one message per line. Tokens and headers are of no use there.
    pub async fn lines<R, W>(self, input: R, output: W) -> Result<Client, ClientError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        greeting::greet(Transport::Lines(Lines::new(input, output)), self.revision).await
    }

    /// Starts a server and speaks to it over its standard input and output. It is ended by [`Client::close`], and
    /// killed if the client is dropped. What it says on stderr goes where the command sends it.
    pub async fn spawn(self, command: Command) -> Result<Client, ClientError> {
        let (child, input, output) = Child::start(command)?;
        let lines = Lines::new(input, output).with_child(child);
        greeting::greet(Transport::Lines(lines), self.revision).await
    }
}
