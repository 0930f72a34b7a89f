//! Getting an issuer's keys over HTTP: by its metadata where their address was not written down. Nothing is
//! followed, and nothing large or slow is waited for.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::endpoint::auth::address::SecureUrl;

const CONNECT: Duration = Duration::from_secs(5);
const WHOLE: Duration = Duration::from_secs(10);
/// Far more than any issuer has keys for.
const LARGEST: usize = 256 << 10;

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error("{url}: {why}")]
    Failed { url: String, why: String },
    #[error("{url} is the metadata of `{issuer}`, not of the issuer that is configured")]
    OtherIssuer { url: String, issuer: String },
    #[error("{url} names its keys at `{jwks}`, which is not a URL that can be trusted")]
    BadAddress { url: String, jwks: String },
    #[error("no metadata was found; write where the keys are with `auth.oauth.jwks` ({})", .0.join("; "))]
    NoMetadata(Vec<String>),
}

/// A set of keys as it is sent. A key that cannot be read must not take the others along.
#[derive(Debug, Deserialize)]
pub(super) struct KeySet {
    pub(super) keys: Vec<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: String,
}

/// Asks the issuer for its keys.
pub(super) async fn fetch(issuer: &SecureUrl, jwks: Option<&SecureUrl>) -> Result<KeySet, FetchError> {
    let jwks = match jwks {
        Some(jwks) => jwks.clone(),
        None => discover(issuer).await?,
    };
    get(jwks.as_str(), jwks.is_local()).await
}

/// RFC 8414 first, then OpenID Connect in both of its ways.
async fn discover(issuer: &SecureUrl) -> Result<SecureUrl, FetchError> {
    let openid = "openid-configuration";
    let appended = format!("{}/.well-known/{openid}", issuer.as_str().trim_end_matches('/'));
    let mut places =
        vec![issuer.well_known("oauth-authorization-server"), issuer.well_known(openid), appended];
    places.dedup();
    let mut failures = Vec::new();
    for url in places {
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
        // What is elsewhere has no business on this machine.
        let found = found.filter(|found| issuer.is_local() || !found.is_local());
        return found.ok_or(FetchError::BadAddress { url, jwks });
    }
    Err(FetchError::NoMetadata(failures))
}

async fn get<T: DeserializeOwned>(url: &str, local: bool) -> Result<T, FetchError> {
    let failed = |why: String| FetchError::Failed { url: url.to_owned(), why };
    let bytes = bytes(url, local).await.map_err(failed)?;
    serde_json::from_slice(&bytes).map_err(|error| failed(format!("not what was expected: {error}")))
}

async fn bytes(url: &str, local: bool) -> Result<Vec<u8>, String> {
    // An error means that somebody has already chosen a provider, which is as good.
    _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    let builder = builder.connect_timeout(CONNECT).timeout(WHOLE).https_only(!local);
    // What runs on this machine is not behind the proxy.
    let builder = if local { builder.no_proxy() } else { builder };
    let client = builder.build().map_err(|error| innermost(&error))?;
    let request = client.get(url).header("accept", "application/json");
    let response = request.send().await.map_err(|error| innermost(&error))?;
    if !response.status().is_success() {
        return Err(format!("HTTP {}", response.status().as_u16()));
    }
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        body.extend_from_slice(&chunk.map_err(|error| innermost(&error))?);
        if body.len() > LARGEST {
            return Err(format!("the answer has more than {} KiB", LARGEST >> 10));
        }
    }
    Ok(body)
}

/// The cause that means something to people.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    if error.is_timeout() { "no answer in time".into() } else { cause.to_string() }
}
