//! Headers that let web pages of allowed origins call this server and read its responses (CORS). Which origins
//! are allowed is decided by the `HostPolicy`.

use http::HeaderMap;
use http::header::{self, HeaderValue};

const ALLOWED_HEADERS: &str = "authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, \
                               mcp-session-id, last-event-id";

/// Adds the CORS headers that let a page of this origin read the response.
pub(super) fn allow_origin(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    headers.insert(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("mcp-session-id, www-authenticate"),
    );
}

/// Adds the CORS headers of a preflight response.
pub(super) fn allow_request(headers: &mut HeaderMap) {
    headers
        .insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE, OPTIONS"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(ALLOWED_HEADERS));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("3600"));
}
