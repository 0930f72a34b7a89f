//! Responses in plain text and in JSON.

use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use serde::Serialize;

/// The response if too many clients wait for the metrics or the status.
pub(super) fn overloaded() -> Response {
    let message = "too many clients: try again in a second";
    let response = text(StatusCode::SERVICE_UNAVAILABLE, message.into());
    with_retry(response, 1)
}

/// Tells the client after how many seconds it can try again.
pub(super) fn with_retry(mut response: Response, seconds: u64) -> Response {
    let seconds = HeaderValue::from(seconds);
    response.headers_mut().insert(RETRY_AFTER, seconds);
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

/// The response to an action that needs a token if other machines can reach the address.
pub(super) fn token_required() -> Response {
    let message =
        "other machines can reach this address, so `admin.token` has to be configured for this";
    text(StatusCode::FORBIDDEN, message.into())
}

/// The status of the report about an action.
pub(super) fn report_status(is_success: bool) -> StatusCode {
    if is_success {
        StatusCode::OK
    } else {
        StatusCode::UNPROCESSABLE_ENTITY
    }
}
