//! What the HTTP clients of Larder share. Which URLs and addresses are allowed is the concern of the crate that sends a
//! request: they come from different people, so the rules differ.

mod issuer;
mod token_response;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Response};

pub use self::issuer::{metadata_urls, well_known};
pub use self::token_response::{TokenResponse, renewal_time};

/// Starts the configuration of a client that follows no redirects.
pub fn client_builder() -> ClientBuilder {
    // An error means that a provider is installed already.
    _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().redirect(Policy::none())
}

/// Reads a body that must not be larger than a limit. Otherwise, returns what is wrong.
pub async fn read_body(mut response: Response, limit: usize) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| root_cause(&error))? {
        body.extend_from_slice(&chunk);
        if body.len() > limit {
            return Err(format!("the response is larger than {} KiB", limit >> 10));
        }
    }
    Ok(body)
}

/// Returns the innermost cause. It is the most specific message, and contains no URL.
pub fn root_cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".into();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
