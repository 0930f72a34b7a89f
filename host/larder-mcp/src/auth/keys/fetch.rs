//! Fetches an issuer's keys over HTTP. Without a configured URL the URL is taken from the issuer's metadata.
//! Redirects are not followed, and size and time are limited.

use std::time::Duration;

use larder_http::{client_builder, metadata_urls, read_body, root_cause};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::auth::url::SecureUrl;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of a response. The keys of any issuer are far smaller.
const MAX_SIZE: usize = 256 << 10;

/// Why the keys could not be fetched.
#[derive(Debug, thiserror::Error)]
pub(in crate::auth) enum FetchError {
    #[error("{url}: {reason}")]
    Failed { url: String, reason: String },
    #[error("{url} has the metadata of `{issuer}` instead of the configured issuer")]
    OtherIssuer { url: String, issuer: String },
    #[error("{url} has `{jwks}` as the URL of the keys, which is not allowed: it must be https")]
    BadAddress { url: String, jwks: String },
    #[error("no metadata found: set the URL of the keys with `auth.oauth.jwks` ({})", .0.join("; "))]
    NoMetadata(Vec<String>),
}

/// A JWKS document. Keys are parsed one by one, so that an unreadable key does not affect the other keys.
#[derive(Debug, Deserialize)]
pub(in crate::auth) struct JwksDocument {
    pub(super) keys: Vec<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: String,
}

/// Fetches the keys of an issuer.
pub(in crate::auth) async fn fetch(
    issuer: &SecureUrl,
    jwks: Option<&SecureUrl>,
) -> Result<JwksDocument, FetchError> {
    let jwks = match jwks {
        Some(jwks) => jwks.clone(),
        None => discover(issuer).await?,
    };
    get(jwks.as_str(), jwks.is_local()).await
}

/// Finds the URL of the keys: first by RFC 8414, then by OpenID Connect Discovery in both forms of its URL.
async fn discover(issuer: &SecureUrl) -> Result<SecureUrl, FetchError> {
    let mut failures = Vec::new();
    for url in metadata_urls(issuer.as_str()) {
        let metadata: Metadata = match get(&url, issuer.is_local()).await {
            Ok(metadata) => metadata,
            Err(error) => {
                failures.push(error.to_string());
                continue;
            }
        };
        if metadata.issuer != issuer.as_str() {
            let issuer = metadata.issuer.escape_debug().take(200).collect();
            return Err(FetchError::OtherIssuer { url, issuer });
        }
        let jwks = metadata.jwks_uri.escape_debug().take(200).collect();
        let found = SecureUrl::parse(&metadata.jwks_uri).ok();
        // Metadata from another machine must not refer to this machine.
        let found = found.filter(|found| issuer.is_local() || !found.is_local());
        return found.ok_or(FetchError::BadAddress { url, jwks });
    }
    Err(FetchError::NoMetadata(failures))
}

async fn get<T: DeserializeOwned>(url: &str, local: bool) -> Result<T, FetchError> {
    let failed = |reason: String| FetchError::Failed {
        url: url.to_owned(),
        reason,
    };
    let bytes = bytes(url, local).await.map_err(failed)?;
    serde_json::from_slice(&bytes).map_err(|error| failed(format!("unexpected content: {error}")))
}

async fn bytes(url: &str, local: bool) -> Result<Vec<u8>, String> {
    let builder = client_builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(TIMEOUT)
        .https_only(!local);
    // A proxy is not used for this machine.
    let builder = if local { builder.no_proxy() } else { builder };
    let client = builder.build().map_err(|error| root_cause(&error))?;
    let request = client.get(url).header("accept", "application/json");
    let response = request.send().await.map_err(|error| root_cause(&error))?;
    if !response.status().is_success() {
        return Err(format!("HTTP {}", response.status().as_u16()));
    }
    read_body(response, MAX_SIZE).await
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    #[tokio::test]
    async fn a_deep_document_is_an_error() {
        let nested = "[".repeat(100_000) + &"]".repeat(100_000);
        for body in [
            format!(r#"{{"keys":[{nested}]}}"#),
            format!(r#"{{"keys":{nested}}}"#),
            nested.clone(),
        ] {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let url = format!("http://{}", listener.local_addr().unwrap());
            let serve = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                _ = stream.read(&mut [0; 4_096]).unwrap();
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
                stream.write_all((head + &body).as_bytes()).unwrap();
            });
            let error = get::<JwksDocument>(&url, true)
                .await
                .map(|_| ())
                .unwrap_err();
            assert!(matches!(error, FetchError::Failed { .. }), "{error}");
            serve.join().unwrap();
        }
    }
}
