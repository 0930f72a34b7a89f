//! Reads the status of a server from its admin address. This is plain HTTP, not MCP, with the same limits.

use serde::de::DeserializeOwned;

use super::error::ClientError;
use super::http::{HttpOptions, HttpTransport};

/// Fetches the status of the server with this admin address, such as `http://127.0.0.1:7879`.
pub async fn status<T: DeserializeOwned>(admin: &str, token: Option<&str>) -> Result<T, ClientError> {
    let url = format!("{}/status", admin.trim_end_matches('/'));
    let options = HttpOptions { token: token.map(str::to_owned), ..HttpOptions::default() };
    let body = HttpTransport::new(&url, &options)?.get_body().await.map_err(|error| match error {
        ClientError::Unauthorized { url, .. } => ClientError::AdminUnauthorized { url },
        error => error,
    })?;
    serde_json::from_slice(&body).map_err(|_| ClientError::NotStatus(url))
}
