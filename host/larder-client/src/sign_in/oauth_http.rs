//! Requests to authorization servers and for metadata: with limits of size and time, without redirects, and only to
//! addresses that the policy allows.

use std::time::Duration;

use larder_http::{client_builder, read_body, root_cause};
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use reqwest::{Certificate, Client, RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use super::error::{SignInError, shown};
use super::url_policy::{UrlPolicy, is_this_machine};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum size of a response. Any metadata and any token are far smaller.
const MAX_SIZE: usize = 256 << 10;

/// Sends the requests of one sign-in.
#[derive(Clone)]
pub(super) struct OauthHttp {
    pub(super) policy: UrlPolicy,
    pub(super) certificates: Vec<Certificate>,
    pub(super) timeout: Duration,
}

/// A response, read to its end.
pub(super) struct OauthResponse {
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
}

impl OauthHttp {
    /// Fetches a JSON document.
    pub(super) async fn get<T: DeserializeOwned>(&self, url: &str) -> Result<T, SignInError> {
        let response = self.send(url, Client::get).await?;
        if response.status != StatusCode::OK {
            let status = response.status.as_u16();
            let url = shown(url);
            return Err(SignInError::Status { url, status });
        }
        response.json(url)
    }

    /// Sends a request with a body, and returns the response with any status that is not a redirect.
    pub(super) async fn post(
        &self,
        url: &str,
        content_type: &str,
        body: String,
        authorization: Option<&str>,
    ) -> Result<OauthResponse, SignInError> {
        self.send(url, |client, url| {
            let post = client.post(url).header(CONTENT_TYPE, content_type);
            let post = post.body(body);
            match authorization {
                Some(value) => post.header("authorization", value),
                None => post,
            }
        })
        .await
    }

    async fn send(
        &self,
        text: &str,
        request: impl FnOnce(&Client, Url) -> RequestBuilder,
    ) -> Result<OauthResponse, SignInError> {
        let url = self.policy.parse(text)?;
        let failure =
            |error: reqwest::Error| SignInError::request(text, shown(&root_cause(&error)));
        let client = self.client(&url).map_err(failure)?;
        let request = request(&client, url).header(ACCEPT, "application/json");
        let response = request.send().await.map_err(failure)?;
        let status = response.status();
        if status.is_redirection() {
            return Err(SignInError::request(text, redirect_reason(&response)));
        }
        let body = read_body(response, MAX_SIZE)
            .await
            .map_err(|reason| SignInError::request(text, reason))?;
        Ok(OauthResponse { status, body })
    }

    fn client(&self, url: &Url) -> Result<Client, reqwest::Error> {
        let builder = client_builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(self.timeout)
            .dns_resolver(self.policy.resolver(url))
            .tls_certs_merge(self.certificates.clone());
        // A proxy cannot reach the loopback addresses of this machine.
        let builder = if is_this_machine(url) {
            builder.no_proxy()
        } else {
            builder
        };
        builder.build()
    }
}

/// An error of OAuth.
#[derive(Deserialize)]
struct OauthError {
    error: String,
    error_description: Option<String>,
}

impl OauthResponse {
    /// Returns the error in a response. `request` names what was refused.
    pub(super) fn refusal(&self, url: &str, request: &'static str) -> SignInError {
        match serde_json::from_slice::<OauthError>(&self.body) {
            Ok(error) => SignInError::Refusal {
                request,
                code: error.error,
                description: error.error_description,
            },
            Err(_) => SignInError::Status {
                url: shown(url),
                status: self.status.as_u16(),
            },
        }
    }

    pub(super) fn json<T: DeserializeOwned>(&self, url: &str) -> Result<T, SignInError> {
        serde_json::from_slice(&self.body)
            .map_err(|error| SignInError::request(url, format!("unexpected content: {error}")))
    }
}

fn redirect_reason(response: &Response) -> String {
    let location = response.headers().get(LOCATION);
    let location = location.and_then(|location| location.to_str().ok());
    let location = shown(location.unwrap_or("nowhere"));
    format!("it redirects to {location}, which is not followed")
}
