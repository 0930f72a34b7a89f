//! The headers that say which media types a client sends and accepts.

use http::{HeaderMap, StatusCode, header};

use crate::wire::rpc_error::{INVALID_REQUEST, RpcError};

/// Requires that the client accepts JSON responses.
pub(super) fn check_accept(headers: &HeaderMap) -> Result<(), RpcError> {
    if accepts(headers, &["application/json", "application/*"]) {
        return Ok(());
    }
    Err(not_acceptable("application/json, text/event-stream"))
}

/// Whether the client accepts one of these media types. Without an Accept header it accepts every type.
pub(super) fn accepts(headers: &HeaderMap, types: &[&str]) -> bool {
    let mut values = headers.get_all(header::ACCEPT).iter().peekable();
    if values.peek().is_none() {
        return true;
    }
    values
        .flat_map(|value| split_trimmed(value.as_bytes(), b','))
        .any(|range| {
            let mut parts = split_trimmed(range, b';');
            let media_type = parts.next().unwrap_or_default();
            let is_accepted = media_type == b"*/*"
                || types
                    .iter()
                    .any(|accepted| media_type.eq_ignore_ascii_case(accepted.as_bytes()));
            is_accepted && !parts.any(has_zero_weight)
        })
}

/// Whether a media range parameter is a weight of zero, which means "not acceptable".
fn has_zero_weight(parameter: &[u8]) -> bool {
    let weight = parameter
        .strip_prefix(b"q=")
        .and_then(|weight| std::str::from_utf8(weight).ok());
    weight
        .and_then(|weight| weight.parse::<f32>().ok())
        .is_some_and(|weight| weight <= 0.0)
}

/// Splits at a separator and trims the parts.
fn split_trimmed(value: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    value
        .split(move |byte| *byte == separator)
        .map(<[u8]>::trim_ascii)
}

/// Requires `application/json` without compression: an HTML form on any web page can send other types without a
/// preflight request.
pub(super) fn check_content_type(headers: &HeaderMap) -> Result<(), RpcError> {
    let unsupported = |why| {
        Err(RpcError::new(INVALID_REQUEST, why).with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE))
    };
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    if codings.any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return unsupported("the body must not be compressed");
    }
    let media_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| split_trimmed(value.as_bytes(), b';').next());
    if media_type.is_some_and(|media_type| media_type.eq_ignore_ascii_case(b"application/json")) {
        return Ok(());
    }
    unsupported("the content type must be application/json")
}

/// Returns the length of the body, if it is known. A body without a length must be chunked, and must have no other
/// transfer coding: hyper decodes only the chunked coding.
pub(super) fn content_length(headers: &HeaderMap) -> Result<Option<u64>, RpcError> {
    // hyper omits the length of a chunked request. After a request with both a length and a transfer coding, hyper
    // closes the connection.
    if let Some(length) = headers.get(header::CONTENT_LENGTH) {
        return Ok(length.to_str().ok().and_then(|length| length.parse().ok()));
    }
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, None) => Ok(None),
        (Some(coding), None)
            if coding
                .as_bytes()
                .trim_ascii()
                .eq_ignore_ascii_case(b"chunked") =>
        {
            Ok(None)
        }
        _ => {
            let why = "the only transfer coding that is supported is `chunked`";
            Err(RpcError::new(INVALID_REQUEST, why).with_status(StatusCode::NOT_IMPLEMENTED))
        }
    }
}

/// The error for a client that does not accept the media type of the response.
pub(super) fn not_acceptable(required: &str) -> RpcError {
    let why = format!("the client must accept {required}");
    RpcError::new(INVALID_REQUEST, why).with_status(StatusCode::NOT_ACCEPTABLE)
}

#[cfg(test)]
mod tests;
