//! Requests to the token endpoint, and the tokens in its responses.

use std::time::{Duration, SystemTime};

use reqwest::StatusCode;
use reqwest::header::HeaderValue;
use serde::Deserialize;
use serde_json::Value;

use super::error::{SignInError, shown};
use super::oauth_client::OauthClient;
use super::oauth_http::{OauthHttp, OauthResponse};

const FORM: &str = "application/x-www-form-urlencoded";
/// A token is renewed this long before it ends, or in the last quarter of a shorter lifetime.
const MARGIN: Duration = Duration::from_secs(60);
/// A longer lifetime counts as this one: a year.
const MAX_LIFETIME: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// The maximum size of a token. Servers refuse longer headers.
const MAX_TOKEN: usize = 32 << 10;

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

#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    token_type: String,
    refresh_token: Option<String>,
    expires_in: Option<Value>,
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
        let response: TokenResponse = response.json(self.url)?;
        response.tokens(SystemTime::now()).map_err(|reason| {
            SignInError::request(self.url, format!("its token is not used: {reason}"))
        })
    }
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

impl TokenResponse {
    fn tokens(self, now: SystemTime) -> Result<Tokens, String> {
        if !self.token_type.eq_ignore_ascii_case("bearer") {
            let kind = shown(&self.token_type);
            return Err(format!("its type is `{kind}` instead of Bearer"));
        }
        let is_header = HeaderValue::try_from(&self.access_token).is_ok();
        if self.access_token.is_empty() || self.access_token.len() > MAX_TOKEN || !is_header {
            return Err("it cannot be sent in an HTTP header".into());
        }
        let lifetime = self.expires_in.as_ref().map(lifetime).transpose()?;
        Ok(Tokens {
            access_token: self.access_token,
            refresh_token: self.refresh_token.filter(|token| !token.is_empty()),
            renew_at: lifetime.map(|lifetime| renewal_time(now, lifetime)),
        })
    }
}

fn renewal_time(now: SystemTime, lifetime: Duration) -> u64 {
    let margin = MARGIN.as_secs().min(lifetime.as_secs() / 4);
    let lifetime = lifetime.as_secs().saturating_sub(margin);
    seconds(now).saturating_add(lifetime)
}

/// Parses a lifetime. Some authorization servers send the number as a text.
fn lifetime(value: &Value) -> Result<Duration, String> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    let number = number.filter(|seconds| *seconds >= 1.0).ok_or_else(|| {
        let value = shown(&value.to_string());
        format!("its lifetime is {value} instead of a number of seconds")
    })?;
    let lifetime = Duration::try_from_secs_f64(number).unwrap_or(MAX_LIFETIME);
    Ok(lifetime.min(MAX_LIFETIME))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(response: Value, expected: Result<Option<u64>, &str>) {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
        let parsed: TokenResponse = serde_json::from_value(response.clone()).unwrap();
        let tokens = parsed.tokens(now).map(|tokens| tokens.renew_at);
        assert_eq!(tokens, expected.map_err(str::to_owned), "{response}");
    }

    fn check_lifetime(lifetime: Value, expected: Result<Option<u64>, &str>) {
        check(
            json!({ "access_token": "t", "token_type": "Bearer", "expires_in": lifetime }),
            expected,
        );
    }

    #[test]
    fn tokens_are_renewed_before_they_end() {
        check_lifetime(json!(3_600), Ok(Some(4_540)));
        check_lifetime(json!("3600"), Ok(Some(4_540)));
        check_lifetime(json!(40), Ok(Some(1_030)));
        check_lifetime(json!(1), Ok(Some(1_001)));
        check(
            json!({ "access_token": "t", "token_type": "bearer" }),
            Ok(None),
        );
    }

    #[test]
    fn absurd_lifetimes_are_limited_or_refused() {
        let year = Ok(Some(1_000 + 365 * 24 * 3_600 - 60));
        check_lifetime(json!(u64::MAX), year);
        check_lifetime(json!(1e300), year);
        for (lifetime, shown) in [
            (json!(0), "0"),
            (json!(-5), "-5"),
            (json!("soon"), r#"\"soon\""#),
            (json!("NaN"), r#"\"NaN\""#),
            (json!([3_600]), "[3600]"),
        ] {
            let expected = format!("its lifetime is {shown} instead of a number of seconds");
            check_lifetime(lifetime, Err(&expected));
        }
    }

    #[test]
    fn only_bearer_tokens_that_fit_into_a_header_are_used() {
        check(
            json!({ "access_token": "t", "token_type": "DPoP" }),
            Err("its type is `DPoP` instead of Bearer"),
        );
        for token in ["", "a\r\nb", &"x".repeat(MAX_TOKEN + 1)] {
            check(
                json!({ "access_token": token, "token_type": "Bearer" }),
                Err("it cannot be sent in an HTTP header"),
            );
        }
    }
}
