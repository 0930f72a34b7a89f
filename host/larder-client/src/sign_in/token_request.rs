//! Requests to the token endpoint, and the tokens in its responses.

use std::time::{Duration, SystemTime};

use larder_http::{TokenResponse, renewal_time};
use reqwest::StatusCode;

use super::error::SignInError;
use super::oauth_client::OauthClient;
use super::oauth_http::{OauthHttp, OauthResponse};

const FORM: &str = "application/x-www-form-urlencoded";
/// A longer lifetime counts as this one: a year.
const MAX_LIFETIME: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The token endpoint of an authorization server, as one client uses it.
pub(super) struct TokenEndpoint<'a> {
    pub(super) http: &'a OauthHttp,
    pub(super) url: &'a str,
    pub(super) client: &'a OauthClient,
}

/// Tokens of one response.
pub(super) struct Tokens {
    pub(super) access_token: String,
    pub(super) refresh_token: Option<String>,
    /// When the access token is renewed, in seconds since the epoch. `None` if its lifetime is unknown.
    pub(super) renew_at: Option<u64>,
}

impl TokenEndpoint<'_> {
    /// Requests tokens. `grant` names what is exchanged for the tokens.
    pub(super) async fn request(
        &self,
        grant: &'static str,
        parameters: &[(&str, &str)],
    ) -> Result<Tokens, SignInError> {
        let response = post_form(self.http, self.url, self.client, parameters).await?;
        if response.status != StatusCode::OK {
            return Err(response.refusal(self.url, grant));
        }
        let tokens = TokenResponse::parse(&response.body, MAX_LIFETIME);
        let tokens = tokens.map_err(|reason| SignInError::request(self.url, reason))?;
        Ok(Tokens::new(tokens))
    }
}

impl Tokens {
    fn new(response: TokenResponse) -> Self {
        Self {
            access_token: response.access_token,
            refresh_token: response.refresh_token,
            renew_at: response.lifetime.map(renewal_second),
        }
    }
}

fn renewal_second(lifetime: Duration) -> u64 {
    let now = seconds(SystemTime::now());
    now.saturating_add(renewal_time(lifetime).as_secs())
}

/// Sends a form with the credentials of the client.
pub(super) async fn post_form(
    http: &OauthHttp,
    url: &str,
    client: &OauthClient,
    parameters: &[(&str, &str)],
) -> Result<OauthResponse, SignInError> {
    let form = client.authenticate(parameters);
    http.post(url, FORM, form.body, form.authorization.as_deref())
        .await
}

/// Returns the seconds since the epoch.
pub(super) fn seconds(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}
