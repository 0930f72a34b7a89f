//! The response of a token endpoint, and the lifetime of its token.

use std::time::Duration;

use http::{HeaderValue, StatusCode};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;

use larder_model::policy::{MIN_SECRET_LEN, Secret};

/// The lifetime of a token for which the server does not say it.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(300);
/// A longer lifetime counts as this one.
const MAX_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// A token is renewed this long before it ends, or in the last quarter of a shorter lifetime.
const MARGIN: Duration = Duration::from_secs(60);
/// The maximum size of a token. Servers refuse longer headers.
const MAX_TOKEN: usize = 16 << 10;

/// A token with its lifetime.
#[derive(Debug, Clone)]
pub(in super::super) struct IssuedToken {
    pub(super) text: Secret,
    pub(super) issued_at: Instant,
    lifetime: Duration,
}

#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    token_type: String,
    expires_in: Option<Value>,
}

#[derive(Deserialize)]
struct ErrorResponse {
    error: String,
}

impl IssuedToken {
    /// Parses the response of a token endpoint. Returns why it contains no token that can be used.
    pub(super) fn from_response(status: StatusCode, body: &[u8]) -> Result<Self, String> {
        if status != StatusCode::OK {
            return Err(refusal(status, body));
        }
        let response: TokenResponse = serde_json::from_slice(body)
            .map_err(|_| "its response is not the JSON of a token".to_owned())?;
        if !response.token_type.eq_ignore_ascii_case("bearer") {
            let kind = shown(&response.token_type);
            return Err(format!("the type of its token is {kind} instead of Bearer"));
        }
        let token = response.access_token;
        if token.len() < MIN_SECRET_LEN {
            return Err(format!(
                "its token has fewer than {MIN_SECRET_LEN} bytes, so it cannot be recognised in responses"
            ));
        }
        if token.len() > MAX_TOKEN || HeaderValue::try_from(&token).is_err() {
            return Err("its token cannot be sent in a header".to_owned());
        }
        let lifetime = response.expires_in.as_ref().map(lifetime).transpose()?;
        Ok(Self {
            text: Secret::new(&token),
            issued_at: Instant::now(),
            lifetime: lifetime.unwrap_or(DEFAULT_LIFETIME),
        })
    }

    pub(super) fn is_valid(&self) -> bool {
        self.issued_at.elapsed() < self.lifetime
    }

    /// Whether the token ends soon.
    pub(super) fn is_due(&self) -> bool {
        let margin = MARGIN.min(self.lifetime / 4);
        self.issued_at.elapsed() >= self.lifetime - margin
    }
}

fn refusal(status: StatusCode, body: &[u8]) -> String {
    if status.is_redirection() {
        return format!("it redirects (status {status}), and redirects are not followed");
    }
    let error = serde_json::from_slice::<ErrorResponse>(body);
    let error = error.map(|response| format!(", {}", shown(&response.error)));
    format!(
        "it refuses the client (status {status}{})",
        error.unwrap_or_default()
    )
}

/// Parses a lifetime. Some servers send the number as a text.
fn lifetime(value: &Value) -> Result<Duration, String> {
    let seconds = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    let seconds = seconds.filter(|seconds| *seconds >= 1.0).ok_or_else(|| {
        let value = shown(&value.to_string());
        format!("the lifetime of its token is {value} instead of a number of seconds")
    })?;
    let lifetime = Duration::try_from_secs_f64(seconds).unwrap_or(MAX_LIFETIME);
    Ok(lifetime.min(MAX_LIFETIME))
}

/// A text of another server, shortened and with escaped control characters.
pub(super) fn shown(text: &str) -> String {
    const MAX_CHARS: usize = 100;
    let short: String = text.chars().take(MAX_CHARS).collect();
    format!("{short:?}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(response: &Value) -> Result<IssuedToken, String> {
        IssuedToken::from_response(StatusCode::OK, response.to_string().as_bytes())
    }

    fn lifetime_of(value: Value) -> Result<u64, String> {
        let response =
            json!({ "access_token": "token-1-2-3", "token_type": "Bearer", "expires_in": value });
        parse(&response).map(|token| token.lifetime.as_secs())
    }

    #[test]
    fn limits_or_refuses_absurd_lifetimes() {
        assert_eq!(lifetime_of(json!(3_600)), Ok(3_600));
        assert_eq!(lifetime_of(json!("3600")), Ok(3_600));
        assert_eq!(lifetime_of(json!(null)), Ok(300));
        for absurd in [json!(u64::MAX), json!(1e300), json!("1e300")] {
            assert_eq!(lifetime_of(absurd), Ok(24 * 60 * 60));
        }
        for invalid in [json!(0), json!(-5), json!("soon"), json!("NaN"), json!([1])] {
            let why = lifetime_of(invalid).unwrap_err();
            assert!(why.contains("instead of a number of seconds"), "{why}");
        }
    }

    #[test]
    fn refuses_tokens_that_cannot_be_used() {
        let refused = |token: &str, kind: &str| {
            parse(&json!({ "access_token": token, "token_type": kind })).unwrap_err()
        };
        let long = "x".repeat(MAX_TOKEN + 1);
        assert!(refused("token-1-2-3", "DPoP").contains("\"DPoP\" instead of Bearer"));
        assert!(refused("short", "Bearer").contains("fewer than 8 bytes"));
        for token in ["token\r\nx: y", &long] {
            assert!(refused(token, "bearer").contains("cannot be sent in a header"));
        }
        assert!(
            parse(&json!("garbage"))
                .unwrap_err()
                .contains("not the JSON")
        );
    }

    #[test]
    fn says_why_the_server_refuses_the_client() {
        let refused = |status, body: &str| {
            let status = StatusCode::from_u16(status).unwrap();
            IssuedToken::from_response(status, body.as_bytes()).unwrap_err()
        };
        assert_eq!(
            refused(401, r#"{"error":"invalid_client"}"#),
            "it refuses the client (status 401 Unauthorized, \"invalid_client\")"
        );
        assert_eq!(
            refused(500, "<html>"),
            "it refuses the client (status 500 Internal Server Error)"
        );
        assert!(refused(302, "").contains("redirects are not followed"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_due_before_it_ends() {
        for (lifetime, due, end) in [(3_600, 3_540, 3_600), (40, 30, 40)] {
            let response = json!({ "access_token": "token-1-2-3", "token_type": "bearer", "expires_in": lifetime });
            let token = parse(&response).unwrap();
            tokio::time::advance(Duration::from_secs(due - 1)).await;
            assert!(token.is_valid() && !token.is_due());
            tokio::time::advance(Duration::from_secs(1)).await;
            assert!(token.is_valid() && token.is_due());
            tokio::time::advance(Duration::from_secs(end - due)).await;
            assert!(!token.is_valid());
        }
    }
}
