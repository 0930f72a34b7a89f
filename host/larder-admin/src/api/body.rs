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
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        let message = "send the body as `content-type: application/json`";
        return Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "bad-request",
            message,
        ));
    }
    serde_json::from_slice(body).map_err(|error| {
        ApiError::bad_request(format!("the body is not what this path takes: {error}"))
    })
}
