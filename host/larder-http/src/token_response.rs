//! The response of a token endpoint of OAuth.

use std::time::Duration;

use reqwest::header::HeaderValue;
use serde::Deserialize;
use serde_json::Value;

/// A token is renewed this long before it ends, or in the last quarter of a shorter lifetime.
const MARGIN: Duration = Duration::from_secs(60);
/// The maximum size of a token. Servers refuse longer headers.
const MAX_TOKEN: usize = 32 << 10;
/// The characters of a server's text that an error shows.
const MAX_SHOWN: usize = 100;

/// The tokens in a response.
pub struct TokenResponse {
    /// A token that can be sent in a header.
    pub access_token: String,
    /// A token that can be exchanged for another access token.
    pub refresh_token: Option<String>,
    /// How long the access token is valid, if the server says so.
    pub lifetime: Option<Duration>,
}

#[derive(Deserialize)]
struct Document {
    access_token: String,
    token_type: String,
    refresh_token: Option<String>,
    expires_in: Option<Value>,
}

impl TokenResponse {
    /// Parses the body of a response. A longer lifetime counts as `max_lifetime`. Returns why there is no token that can
    /// be used, without the texts that could be tokens.
    pub fn parse(body: &[u8], max_lifetime: Duration) -> Result<Self, String> {
        let document: Document = serde_json::from_slice(body)
            .map_err(|_| "its response is not the JSON of a token".to_owned())?;
        if !document.token_type.eq_ignore_ascii_case("bearer") {
            let kind = shown(&document.token_type);
            return Err(format!("the type of its token is {kind} instead of Bearer"));
        }
        let token = document.access_token;
        let is_header = HeaderValue::try_from(&token).is_ok();
        if token.is_empty() || token.len() > MAX_TOKEN || !is_header {
            return Err("its token cannot be sent in a header".to_owned());
        }
        let lifetime = document.expires_in.as_ref().map(lifetime).transpose()?;
        Ok(Self {
            access_token: token,
            refresh_token: document.refresh_token.filter(|token| !token.is_empty()),
            lifetime: lifetime.map(|lifetime| lifetime.min(max_lifetime)),
        })
    }
}

/// Returns the time after which a token with this lifetime is renewed.
pub fn renewal_time(lifetime: Duration) -> Duration {
    let margin = Duration::from_secs(lifetime.as_secs() / 4);
    lifetime.saturating_sub(margin.min(MARGIN))
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
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

/// A text of a server, shortened and with escaped control characters.
fn shown(text: &str) -> String {
    let short: String = text.chars().take(MAX_SHOWN).collect();
    format!("{short:?}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    fn parse(response: &Value) -> Result<TokenResponse, String> {
        TokenResponse::parse(response.to_string().as_bytes(), DAY)
    }

    fn lifetime_of(value: Value) -> Result<Option<u64>, String> {
        let response = json!({ "access_token": "t", "token_type": "Bearer", "expires_in": value });
        parse(&response).map(|tokens| tokens.lifetime.map(|lifetime| lifetime.as_secs()))
    }

    #[test]
    fn limits_or_refuses_absurd_lifetimes() {
        assert_eq!(lifetime_of(json!(3_600)), Ok(Some(3_600)));
        assert_eq!(lifetime_of(json!("3600")), Ok(Some(3_600)));
        assert_eq!(lifetime_of(json!(null)), Ok(None));
        for absurd in [json!(u64::MAX), json!(1e300), json!("1e300")] {
            assert_eq!(lifetime_of(absurd), Ok(Some(DAY.as_secs())));
        }
        for (invalid, shown) in [
            (json!(0), r#""0""#),
            (json!(-5), r#""-5""#),
            (json!("soon"), r#""\"soon\"""#),
            (json!("NaN"), r#""\"NaN\"""#),
            (json!([1]), r#""[1]""#),
        ] {
            let why =
                format!("the lifetime of its token is {shown} instead of a number of seconds");
            assert_eq!(lifetime_of(invalid), Err(why));
        }
    }

    #[test]
    fn refuses_tokens_that_cannot_be_used() {
        let refusal = |token: &str, kind: &str| {
            let response = json!({ "access_token": token, "token_type": kind });
            parse(&response).err().unwrap_or_default()
        };
        assert_eq!(refusal("t", "bearer"), "");
        assert!(refusal("t", "DPoP").contains("\"DPoP\" instead of Bearer"));
        for token in ["", "token\r\nx: y", &"x".repeat(MAX_TOKEN + 1)] {
            assert!(refusal(token, "Bearer").contains("cannot be sent in a header"));
        }
        assert!(parse(&json!("hush")).is_err_and(|why| !why.contains("hush")));
    }

    #[test]
    fn tokens_are_renewed_before_they_end() {
        for (lifetime, renewal) in [(3_600, 3_540), (40, 30), (1, 1)] {
            let renewed = renewal_time(Duration::from_secs(lifetime));
            assert_eq!(renewed.as_secs(), renewal);
        }
    }
}
