//! What a server says of itself to its operators. Not MCP, but asked in the same way: over HTTP, with a bound on
//! everything.

use serde::de::DeserializeOwned;

use super::http::Http;
use super::{ClientError, Connect};

/// Asks for the status page of the server with this admin address, such as `http://127.0.0.1:7879`.
pub async fn status<T: DeserializeOwned>(admin: &str, token: Option<&str>) -> Result<T, ClientError> {
    let url = format!("{}/status", admin.trim_end_matches('/'));
    let connect = token.map_or_else(Connect::default, |token| Connect::default().token(token));
    let body = Http::new(&url, &connect)?.page().await.map_err(|error| match error {
        ClientError::Unauthorized { url, .. } => ClientError::NotOperator { url },
        error => error,
    })?;
    serde_json::from_slice(&body).map_err(|_| ClientError::NotStatus(url))
}
