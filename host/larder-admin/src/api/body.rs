//! Bodies of requests.

use axum::body::Bytes;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap};
use serde::de::DeserializeOwned;

use super::response::ApiError;

/// Maximum size of the body of a request. An access token and a URI fit.
pub(super) const MAX_BODY: usize = 64 << 10;

/// Parses a body. The request must declare the body as JSON, because a form of another web page cannot do that.
pub(super) fn parse<T: DeserializeOwned>(headers: &HeaderMap, body: &Bytes) -> Result<T, ApiError> {
    if !is_json(headers) {
        return Err(not_json());
    }
    serde_json::from_slice(body).map_err(invalid_body)
}

fn is_json(headers: &HeaderMap) -> bool {
    let media_type = content_type(headers).split(';').next();
    media_type.is_some_and(|text| text.trim().eq_ignore_ascii_case("application/json"))
}

fn content_type(headers: &HeaderMap) -> &str {
    let kind = headers.get(CONTENT_TYPE);
    kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default()
}

fn not_json() -> ApiError {
    let message = "send the body as `content-type: application/json`";
    ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "bad-request", message)
}

fn invalid_body(error: serde_json::Error) -> ApiError {
    ApiError::bad_request(format!("the body is not what this path takes: {error}"))
}
