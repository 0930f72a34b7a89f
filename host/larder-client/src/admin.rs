//! Requests to the admin address of a server: its status, a reload, and the deletion of the values of a provider. These
//! requests are plain HTTP instead of MCP, with the same limits.

use serde::de::DeserializeOwned;

use super::error::ClientError;
use super::http::{AdminEvents, HttpOptions, HttpTransport};

/// Fetches the status of the server with this admin address.
pub(super) async fn status<T: DeserializeOwned>(
    admin: &str,
    options: &HttpOptions,
) -> Result<T, ClientError> {
    let status = get(admin, "/api/status", options).await;
    status.map_err(status_error)
}

fn status_error(error: ClientError) -> ClientError {
    match error {
        ClientError::Admin {
            url, status: 404, ..
        }
        | ClientError::Status {
            url, status: 404, ..
        } => ClientError::NoStatus(url),
        error => error,
    }
}

/// Fetches a health check. Only status 503 means that the server is not healthy.
pub(super) async fn health(
    admin: &str,
    check: &str,
    options: &HttpOptions,
) -> Result<bool, ClientError> {
    match HttpTransport::for_admin(admin, &format!("/{check}"), options)?
        .get_body()
        .await
    {
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
    let hint = "this server cannot be told to reload; send SIGHUP to its process";
    let transport = HttpTransport::for_admin(admin, "/reload", options)?;
    post_empty(&transport, hint).await
}

/// Makes the server with this admin address delete the stored values of a provider, and returns the result.
pub(super) async fn forget<T: DeserializeOwned>(
    admin: &str,
    team: &str,
    provider: &str,
    options: &HttpOptions,
) -> Result<T, ClientError> {
    let path = format!("/forget?team={team}&provider={provider}");
    let hint = "this server cannot delete values";
    let transport = HttpTransport::for_admin(admin, &path, options)?;
    post_empty(&transport, hint).await
}

async fn post_empty<T: DeserializeOwned>(
    transport: &HttpTransport,
    hint: &'static str,
) -> Result<T, ClientError> {
    let body = transport.post_empty(hint).await.map_err(admin_error)?;
    parse(transport, &body)
}

/// Fetches JSON from a path of the API, such as `/api/approvals`.
pub(super) async fn get<T: DeserializeOwned>(
    admin: &str,
    path: &str,
    options: &HttpOptions,
) -> Result<T, ClientError> {
    call(admin, path, None, options).await
}

/// Sends JSON to a path of the API, and returns the answer.
pub(super) async fn post<T: DeserializeOwned>(
    admin: &str,
    path: &str,
    json: &serde_json::Value,
    options: &HttpOptions,
) -> Result<T, ClientError> {
    call(admin, path, Some(json.to_string()), options).await
}

async fn call<T: DeserializeOwned>(
    admin: &str,
    path: &str,
    json: Option<String>,
    options: &HttpOptions,
) -> Result<T, ClientError> {
    let transport = HttpTransport::for_admin(admin, path, options)?;
    let body = transport.call_admin(json).await?;
    parse(&transport, &body)
}

/// Opens the stream of events of a path of the API.
pub(super) async fn events(
    admin: &str,
    path: &str,
    options: &HttpOptions,
) -> Result<AdminEvents, ClientError> {
    HttpTransport::for_admin(admin, path, options)?
        .open_admin_events()
        .await
}

fn parse<T: DeserializeOwned>(transport: &HttpTransport, body: &[u8]) -> Result<T, ClientError> {
    serde_json::from_slice(body).map_err(|_| ClientError::NotStatus(transport.url()))
}

fn admin_error(error: ClientError) -> ClientError {
    match error {
        ClientError::Unauthorized { url, why } => ClientError::AdminUnauthorized { url, why },
        error => error,
    }
}
