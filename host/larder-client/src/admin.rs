//! Reads the status of a server from its admin address, and makes it
//! reload or delete the values of a provider. This is plain HTTP, not MCP, with the same limits.

use serde::de::DeserializeOwned;

use super::error::ClientError;
use super::http::{HttpOptions, HttpTransport};

/// Fetches the status of the server with this admin address.
pub(super) async fn status<T: DeserializeOwned>(
    admin: &str,
    options: &HttpOptions,
) -> Result<T, ClientError> {
    let url = format!("{}/status", admin.trim_end_matches('/'));
    let body = HttpTransport::new(&url, options)?.get_body().await.map_err(admin_error)?;
    serde_json::from_slice(&body).map_err(|_| ClientError::NotStatus(url))
}

/// Makes the server with this admin address reload, and returns the result.
pub(super) async fn reload<T: DeserializeOwned>(
    admin: &str,
    options: &HttpOptions,
) -> Result<T, ClientError> {
    let url = format!("{}/reload", admin.trim_end_matches('/'));
    let hint = "this server cannot be told to reload; send SIGHUP to its process";
    let body = HttpTransport::new(&url, options)?.post_empty(hint).await.map_err(admin_error)?;
    serde_json::from_slice(&body).map_err(|_| ClientError::NotStatus(url))
}

/// Makes the server with this admin address delete the stored values of a provider, and returns the result.
pub(super) async fn forget<T: DeserializeOwned>(
    admin: &str,
    (team, provider): (&str, &str),
    options: &HttpOptions,
) -> Result<T, ClientError> {
    let url = format!("{}/forget?team={team}&provider={provider}", admin.trim_end_matches('/'));
    let hint = "this server cannot delete values";
    let body = HttpTransport::new(&url, options)?.post_empty(hint).await.map_err(admin_error)?;
    serde_json::from_slice(&body).map_err(|_| ClientError::NotStatus(url))
}

fn admin_error(error: ClientError) -> ClientError {
    match error {
        ClientError::Unauthorized { url, .. } => ClientError::AdminUnauthorized { url },
        error => error,
    }
}
