//! Responses in plain text and in JSON.

use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde::Serialize;

/// A response in plain text.
pub(super) fn text(status: StatusCode, text: String) -> Response {
    (status, [(CONTENT_TYPE, "text/plain; charset=utf-8")], text + "\n").into_response()
}

/// A response in JSON.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_string(value) {
        Ok(json) => (status, [(CONTENT_TYPE, "application/json")], json + "\n").into_response(),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}
