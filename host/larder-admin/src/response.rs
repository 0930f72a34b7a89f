//! Responses in plain text and in JSON.

use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use serde::Serialize;

/// The response if too many clients wait for the metrics or the status.
pub(super) fn overloaded() -> Response {
    let mut response = text(
        StatusCode::SERVICE_UNAVAILABLE,
        "too many clients: try again in a second".into(),
    );
    response
        .headers_mut()
        .insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// A response in plain text.
pub(super) fn text(status: StatusCode, text: String) -> Response {
    (
        status,
        [(CONTENT_TYPE, "text/plain; charset=utf-8")],
        text + "\n",
    )
        .into_response()
}

/// A response in JSON.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_string(value) {
        Ok(json) => (status, [(CONTENT_TYPE, "application/json")], json + "\n").into_response(),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}
