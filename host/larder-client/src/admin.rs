//! Reads the status of a server from its admin address, and makes it
//! reload or delete the values of a provider. This is plain HTTP, not MCP, with the same limits.

use serde::de::DeserializeOwned;

use super::error::ClientError;
use super::http::{AdminEvents, HttpOptions, HttpTransport};

/// Fetches the status of the server with this admin address.
pub(super) async fn status<T: DeserializeOwned>(
    admin: &str,
    options: &HttpOptions,
) -> Result<T, ClientError> {
    get(admin, "/api/status", options).await.map_err(|error| match error {
        ClientError::Admin { url, status: 404, .. } | ClientError::Status { url, status: 404, .. } => {
            ClientError::NoStatus(url)
        }
        error => error,
    })
}

/// Fetches a health check. Only status 503 means that the server is not healthy.
pub(super) async fn health(admin: &str, check: &str, options: &HttpOptions) -> Result<bool, ClientError> {
    let url = format!("{}/{check}", admin.trim_end_matches('/'));
    match HttpTransport::new(&url, options)?.get_body().await {
        Ok(_) => Ok(true),
        Err(ClientError::Status { status: 503, .. }) => Ok(false),
        Err(error) => Err(admin_error(error)),
    }
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

/// Fetches JSON from a path of the API, such as `/api/approvals`.
pub(super) async fn get<T: DeserializeOwned>(
    admin: &str,
    path: &str,
    options: &HttpOptions,
) -> Result<T, ClientError> {
    let url = format!("{}{path}", admin.trim_end_matches('/'));
    let body = HttpTransport::new(&url, options)?.call_admin(None).await?;
    serde_json::from_slice(&body).map_err(|_| ClientError::NotStatus(url))
}

/// Sends JSON to a path of the API, and returns the answer.
pub(super) async fn post<T: DeserializeOwned>(
    admin: &str,
    path: &str,
    json: &serde_json::Value,
    options: &HttpOptions,
) -> Result<T, ClientError> {
    let url = format!("{}{path}", admin.trim_end_matches('/'));
    let body = HttpTransport::new(&url, options)?.call_admin(Some(json.to_string())).await?;
    serde_json::from_slice(&body).map_err(|_| ClientError::NotStatus(url))
}

/// Opens the stream of events of a path of the API.
pub(super) async fn events(
    admin: &str,
    path: &str,
    options: &HttpOptions,
) -> Result<AdminEvents, ClientError> {
    let url = format!("{}{path}", admin.trim_end_matches('/'));
    HttpTransport::new(&url, options)?.open_admin_events().await
}

fn admin_error(error: ClientError) -> ClientError {
    match error {
        ClientError::Unauthorized { url, why } => ClientError::AdminUnauthorized { url, why },
        error => error,
    }
}
