//! How to connect: the transport, the token and headers, and the protocol revision.

use std::fmt;

use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::Command;

use super::child::Child;
use super::connection::Client;
use super::error::ClientError;
use super::handshake::handshake;
use super::http::{AdminEvents, HttpOptions, HttpTransport};
use super::lines::LineTransport;
use super::login::{Login, log_in, log_out};
use super::revision::Revision;
use super::sign_in::SignIn;
use super::transport::Transport;

/// Options for a connection. By default the client uses the newest revision that the server supports.
///
/// ```no_run
/// # async fn connect() -> Result<(), Box<dyn std::error::Error>> {
/// use larder_client::Client;
///
/// let client = Client::builder()
///     .token("secret")
///     .header("x-request-source", "nightly-job")
///     .revision("2025-11-25".parse()?)
///     .http("http://127.0.0.1:7878/mcp")
///     .await?;
/// assert_eq!(client.revision(), "2025-11-25");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct ClientBuilder {
    http: HttpOptions,
    revision: Option<Revision>,
}

/// The values of secrets are hidden: the token, and all headers, because any header may be a key.
impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.http.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("ClientBuilder")
            .field("token", &self.http.token.as_ref().map(|_| "…"))
            .field("headers", &headers)
            .field("revision", &self.revision)
            .finish()
    }
}

impl ClientBuilder {
    /// Sends a bearer token with each HTTP request.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.http.token = Some(token.into());
        self
    }

    /// Sends a header with each HTTP request.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.http.headers.push((name.into(), value.into()));
        self
    }

    /// Allows the token to be sent over plain HTTP to another machine, where anyone on the way can read it.
    #[must_use]
    pub fn insecure(mut self) -> Self {
        self.http.insecure = true;
        self
    }

    /// Trusts these certificates (PEM) in addition to the certificates of the system: the certificate of a private
    /// authority, or a self-signed one.
    #[must_use]
    pub fn ca(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.http.ca = Some(pem.into());
        self
    }

    /// Uses the stored tokens of the server, renews them, and signs in if that is necessary and possible. A token or a
    /// header with a credential has precedence.
    #[must_use]
    pub fn sign_in(mut self, sign_in: SignIn) -> Self {
        self.http.sign_in = Some(sign_in);
        self
    }

    /// Uses this protocol revision and no other.
    #[must_use]
    pub fn revision(mut self, revision: Revision) -> Self {
        self.revision = Some(revision);
        self
    }

    /// Connects to an endpoint such as `http://127.0.0.1:7878/mcp`, or to the Unix socket of a server, such as
    /// `unix:/run/larder.sock`.
    pub async fn http(self, url: &str) -> Result<Client, ClientError> {
        let http = HttpTransport::new(url, &self.http)?;
        handshake(Transport::Http(http), self.revision).await
    }

    /// Signs in to the server with this endpoint, and stores the tokens. Needs [`ClientBuilder::sign_in`] with a prompt.
    pub async fn log_in(self, url: &str) -> Result<Login, ClientError> {
        Box::pin(log_in(url, &self.http, self.revision)).await
    }

    /// Deletes the stored tokens of the server with this endpoint, and revokes them. Returns whether there were any.
    /// Needs [`ClientBuilder::sign_in`].
    pub async fn log_out(self, url: &str) -> Result<bool, ClientError> {
        log_out(url, &self.http).await
    }

    /// Fetches the status of the server with this admin address, such as `http://127.0.0.1:7879`.
    pub async fn status<T: DeserializeOwned>(self, admin: &str) -> Result<T, ClientError> {
        super::admin::status(admin, &self.http).await
    }

    /// Whether the server with this admin address answers the health check `livez` or `readyz` with success.
    pub async fn health(self, admin: &str, check: &str) -> Result<bool, ClientError> {
        super::admin::health(admin, check, &self.http).await
    }

    /// Makes the server with this admin address read its configuration again, and returns the result.
    pub async fn reload<T: DeserializeOwned>(self, admin: &str) -> Result<T, ClientError> {
        super::admin::reload(admin, &self.http).await
    }

    /// Makes the server with this admin address delete the stored values of a provider of a team, and returns the
    /// result.
    pub async fn forget<T: DeserializeOwned>(
        self,
        admin: &str,
        team: &str,
        provider: &str,
    ) -> Result<T, ClientError> {
        super::admin::forget(admin, team, provider, &self.http).await
    }

    /// Fetches JSON from the API of the server with this admin address. The path begins with `/api/`.
    pub async fn admin_get<T: DeserializeOwned>(
        self,
        admin: &str,
        path: &str,
    ) -> Result<T, ClientError> {
        super::admin::get(admin, path, &self.http).await
    }

    /// Sends JSON to the API of the server with this admin address, and returns the answer.
    pub async fn admin_post<T: DeserializeOwned>(
        self,
        admin: &str,
        path: &str,
        json: &serde_json::Value,
    ) -> Result<T, ClientError> {
        super::admin::post(admin, path, json, &self.http).await
    }

    /// Opens a stream of events of the server with this admin address.
    pub async fn admin_events(self, admin: &str, path: &str) -> Result<AdminEvents, ClientError> {
        super::admin::events(admin, path, &self.http).await
    }

    /// Connects to a server that reads and writes one message per line. Tokens and headers are not used.
    pub async fn lines<R, W>(self, input: R, output: W) -> Result<Client, ClientError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        handshake(
            Transport::Lines(LineTransport::new(input, output)),
            self.revision,
        )
        .await
    }

    /// Starts a server process and connects to its standard input and output. [`Client::close`] ends the process;
    /// dropping the client kills it. The command determines where the stderr of the process goes.
    pub async fn spawn(self, command: Command) -> Result<Client, ClientError> {
        let (child, input, output) = Child::start(command)?;
        let lines = LineTransport::new(input, output).with_child(child);
        handshake(Transport::Lines(lines), self.revision).await
    }
}

/// How to connect.
impl Client {
    /// Returns a builder for connections that need a protocol revision or HTTP headers.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// Connects to an endpoint such as `http://127.0.0.1:7878/mcp`, with a bearer token if there is one.
    pub async fn http(url: &str, token: Option<&str>) -> Result<Self, ClientError> {
        let builder = Self::builder();
        token
            .into_iter()
            .fold(builder, |builder, token| builder.token(token))
            .http(url)
            .await
    }

    /// Connects to a server that reads and writes one message per line.
    pub async fn lines<R, W>(input: R, output: W) -> Result<Self, ClientError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Self::builder().lines(input, output).await
    }

    /// Starts a server process and connects to its standard input and output: see [`ClientBuilder::spawn`].
    ///
    /// ```no_run
    /// # async fn start() -> Result<(), larder_client::ClientError> {
    /// let mut larder = tokio::process::Command::new("larder");
    /// larder.args(["serve", "--stdio", "--config", "/path/to/larder.toml"]);
    /// let mut client = larder_client::Client::spawn(larder).await?;
    /// println!("{:?}", client.templates(&Default::default(), None).await?);
    /// client.close().await;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn spawn(command: Command) -> Result<Self, ClientError> {
        Self::builder().spawn(command).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_secrets() {
        let builder = Client::builder().token("sesame").header("x-key", "crowbar");
        let shown = format!(
            "{builder:?} {:?}",
            HttpTransport::new("https://x/mcp", &builder.http).unwrap()
        );
        assert!(
            shown.contains("x-key") && !shown.contains("sesame"),
            "{shown}"
        );
        assert!(!shown.contains("crowbar"), "{shown}");
    }

    #[tokio::test]
    async fn reports_a_refused_connection() {
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let url = format!("http://127.0.0.1:{port}/mcp");
        let error = Client::http(&url, None).await.unwrap_err();
        let expected =
            format!("cannot reach {url}: connection refused; is `larder serve` running?");
        assert_eq!(error.to_string(), expected);
    }
}
