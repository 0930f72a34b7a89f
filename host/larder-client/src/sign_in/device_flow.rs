//! The device flow (RFC 8628): the user signs in on another machine that has a browser.

use std::time::Duration;

use reqwest::StatusCode;
use serde::Deserialize;
use tokio::time::Instant;

use super::error::SignInError;
use super::token_grant::TokenGrant;
use super::token_request::{TokenEndpoint, Tokens, post_form};
use super::user_prompt::{UserAction, UserPrompt};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// The longest time that the user has to enter the code.
const MAX_LIFETIME: u64 = 30 * 60;
/// The longest interval between two requests.
const MAX_INTERVAL: u64 = 60;
/// How much the interval grows if the authorization server asks for it.
const SLOWER: u64 = 5;

#[derive(Deserialize)]
struct DeviceAuthorization {
    device_code: String,
    user_code: String,
    verification_uri: String,
    verification_uri_complete: Option<String>,
    expires_in: u64,
    #[serde(default = "default_interval")]
    interval: u64,
}

fn default_interval() -> u64 {
    5
}

impl TokenGrant<'_> {
    /// Lets the user sign in on another machine.
    pub(super) async fn with_device_code(
        &self,
        prompt: &UserPrompt,
    ) -> Result<Tokens, SignInError> {
        let device = self.device_authorization().await?;
        let policy = &self.endpoint.http.policy;
        let url = policy.parse(&device.verification_uri)?;
        let complete = device.verification_uri_complete.as_deref();
        let complete = complete.map(|url| policy.parse(url)).transpose()?;
        prompt(UserAction::EnterCode {
            url: url.as_str(),
            code: &device.user_code,
            url_with_code: complete.as_ref().map(|url| url.as_str()),
        });
        self.poll(&device).await
    }

    async fn device_authorization(&self) -> Result<DeviceAuthorization, SignInError> {
        let Some(url) = &self.server.device_authorization_endpoint else {
            return Err(self
                .server
                .unsupported("does not support device codes: sign in without `--device`"));
        };
        let TokenEndpoint { http, client, .. } = self.endpoint;
        let scope = self.scopes.join(" ");
        let mut parameters = vec![("resource", self.resource)];
        if !scope.is_empty() {
            parameters.push(("scope", &scope));
        }
        let response = post_form(http, url, client, &parameters).await?;
        if response.status != StatusCode::OK {
            return Err(response.refusal(url, "the request for a device code"));
        }
        response.json(url)
    }

    async fn poll(&self, device: &DeviceAuthorization) -> Result<Tokens, SignInError> {
        let lifetime = device.expires_in.min(MAX_LIFETIME);
        let end = Instant::now().checked_add(Duration::from_secs(lifetime));
        let mut interval = device.interval.clamp(1, MAX_INTERVAL);
        let parameters = [
            ("grant_type", GRANT),
            ("device_code", device.device_code.as_str()),
            ("resource", self.resource),
        ];
        while end.is_some_and(|end| Instant::now() < end) {
            tokio::time::sleep(Duration::from_secs(interval)).await;
            match self.endpoint.request("the device code", &parameters).await {
                Err(SignInError::Refusal { code, .. }) if code == "authorization_pending" => {}
                Err(SignInError::Refusal { code, .. }) if code == "slow_down" => {
                    interval = interval.saturating_add(SLOWER).min(MAX_INTERVAL);
                }
                result => return result,
            }
        }
        Err(SignInError::Timeout)
    }
}
