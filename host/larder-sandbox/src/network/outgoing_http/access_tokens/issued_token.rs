//! The response of a token endpoint, and the lifetime of its token.

use std::time::Duration;

use http::StatusCode;
use larder_http::{TokenResponse, renewal_time};
use serde::Deserialize;
use tokio::time::Instant;

use larder_model::policy::{MIN_SECRET_LEN, Secret};

/// The lifetime of a token for which the server does not say it.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(300);
/// A longer lifetime counts as this one.
const MAX_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// A token with its lifetime.
#[derive(Debug, Clone)]
pub(in super::super) struct IssuedToken {
    pub(super) text: Secret,
    pub(super) issued_at: Instant,
    lifetime: Duration,
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
        let response = TokenResponse::parse(body, MAX_LIFETIME)?;
        let token = response.access_token;
        if token.len() < MIN_SECRET_LEN {
            return Err(format!(
                "its token has fewer than {MIN_SECRET_LEN} bytes, so it cannot be recognised in responses"
            ));
        }
        Ok(Self {
            text: Secret::new(&token),
            issued_at: Instant::now(),
            lifetime: response.lifetime.unwrap_or(DEFAULT_LIFETIME),
        })
    }

    pub(super) fn is_valid(&self) -> bool {
        self.issued_at.elapsed() < self.lifetime
    }

    /// Whether the token ends soon.
    pub(super) fn is_due(&self) -> bool {
        self.issued_at.elapsed() >= renewal_time(self.lifetime)
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

/// A text of another server, shortened and with escaped control characters.
pub(super) fn shown(text: &str) -> String {
    const MAX_CHARS: usize = 100;
    let short: String = text.chars().take(MAX_CHARS).collect();
    format!("{short:?}")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn parse(response: &Value) -> Result<IssuedToken, String> {
        IssuedToken::from_response(StatusCode::OK, response.to_string().as_bytes())
    }

    #[test]
    fn a_token_has_a_lifetime_and_can_be_recognised() {
        let response = |token: &str, lifetime: Value| {
            parse(&json!({ "access_token": token, "token_type": "Bearer", "expires_in": lifetime }))
        };
        let lifetime = |value| response("token-1-2-3", value).unwrap().lifetime.as_secs();
        assert_eq!(lifetime(json!(null)), 300);
        assert_eq!(lifetime(json!(1e300)), 24 * 60 * 60);
        let why = response("short", json!(300)).unwrap_err();
        assert!(why.contains("fewer than 8 bytes"), "{why}");
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
