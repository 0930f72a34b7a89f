//! A sign-in that the user requested, and its end.

use serde_json::{Map, Value};

use super::error::ClientError;
use super::handshake::handshake;
use super::http::{HttpOptions, HttpTransport};
use super::revision::Revision;
use super::transport::Transport;

/// A successful sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The scopes that were requested.
    pub scopes: Vec<String>,
}

/// Signs in. The first request without a token shows how: the server answers it with a challenge. Some servers require
/// a token only for requests after the handshake. A server that requires none may offer a sign-in nevertheless.
pub(super) async fn log_in(
    url: &str,
    options: &HttpOptions,
    revision: Option<Revision>,
) -> Result<Login, ClientError> {
    let transport = HttpTransport::for_login(url, options)?;
    let mut client = handshake(Transport::Http(transport), revision).await?;
    let answer = client.request::<Value>("tools/list", Map::new()).await;
    match answer {
        // The answer does not matter, only that the server accepts the token.
        Ok(_) | Err(ClientError::Rpc(_)) => {}
        Err(error) => return Err(error),
    }
    let scopes = match client.credential() {
        Some(credential) => credential.ensure_signed_in().await?,
        None => Vec::new(),
    };
    client.close().await;
    Ok(Login { scopes })
}

/// Deletes and revokes the tokens of a server.
pub(super) async fn log_out(url: &str, options: &HttpOptions) -> Result<bool, ClientError> {
    HttpTransport::log_out(url, options).await
}
