//! Responses of the endpoint: results in JSON, errors, and responses without content.

use http::header::{self, HeaderValue};
use http::{HeaderMap, StatusCode};

use super::PATH;
use super::body::{Body, Response};
use super::cors;
use super::sse;
use crate::outgoing::waiting_bytes::ChargedResponse;
use crate::wire::error_message::error;
use crate::wire::json_writer::object;
use crate::wire::message::Id;
use crate::wire::rpc_error::{INVALID_REQUEST, RpcError};

/// The response to the request with this id.
pub(super) fn charged_json(id: &Id, response: ChargedResponse) -> Response {
    match response {
        ChargedResponse {
            refused: Some(rpc_error),
            ..
        } => error_response(Some(id), &rpc_error),
        large if large.is_large() => json(StatusCode::OK, Body::of_parts([large.into()])),
        small => json(StatusCode::OK, small.bytes),
    }
}

pub(super) fn json(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    response
}

pub(super) fn error_response(id: Option<&Id>, rpc_error: &RpcError) -> Response {
    let mut response = json(rpc_error.status, error(id, rpc_error));
    if let Some(seconds) = rpc_error.retry_after {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if rpc_error.status == StatusCode::NOT_IMPLEMENTED {
        // Another recipient may find the end of this request at another byte.
        response
            .headers_mut()
            .insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    if let Some(refusal) = rpc_error.refusal {
        response.extensions_mut().insert(refusal);
    }
    response
}

pub(super) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// The response to a preflight request with these headers.
pub(super) fn preflight(request: &HeaderMap) -> Response {
    let mut response = empty(StatusCode::NO_CONTENT);
    response.headers_mut().insert(
        header::ALLOW,
        HeaderValue::from_static("GET, POST, DELETE, OPTIONS"),
    );
    cors::allow_request(response.headers_mut(), request);
    response
}

pub(super) fn not_allowed(allowed: &'static str) -> Response {
    let rpc_error = RpcError::new(
        INVALID_REQUEST,
        format!("the method is not allowed here: use {allowed}"),
    );
    let mut response = error_response(None, &rpc_error.with_status(StatusCode::METHOD_NOT_ALLOWED));
    response
        .headers_mut()
        .insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}

pub(super) fn not_found() -> Response {
    let body = object(|o| {
        o.text("error", "nothing is served at this path");
        o.text("endpoint", PATH);
    });
    json(StatusCode::NOT_FOUND, body)
}

/// The response to a cancelled request: its client expects none, and an event stream can end without one.
pub(super) fn cancelled() -> Response {
    sse::events(futures_util::stream::empty())
}
