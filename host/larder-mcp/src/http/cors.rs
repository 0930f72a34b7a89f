//! Headers that let web pages of allowed origins call this server and read its responses (CORS). The `HostPolicy`
//! decides which origins are allowed.

use http::header::{self, HeaderValue};
use http::{HeaderMap, HeaderName};

use super::body::Response;

const ALLOWED_HEADERS: &str = "authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, \
                               mcp-session-id, last-event-id";
/// The prefix of the headers that repeat arguments of a tool.
const PARAMETER_PREFIX: &str = "mcp-param-";
/// Maximum number of such headers in one request. No tool has so many header parameters.
const MAX_PARAMETERS: usize = 64;
/// Maximum length of the name of such a header.
const MAX_PARAMETER_LENGTH: usize = 128;

/// Adds the CORS headers that let a page of this origin read the response.
pub(super) fn with_origin(mut response: Response, origin: Option<HeaderValue>) -> Response {
    let Some(origin) = origin else {
        return response;
    };
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    headers.insert(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("mcp-session-id, www-authenticate"),
    );
    response
}

/// Adds the CORS headers of the response to a preflight request with these headers.
pub(super) fn allow_request(headers: &mut HeaderMap, request: &HeaderMap) {
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, POST, DELETE, OPTIONS"),
    );
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        allowed_headers(request),
    );
    headers.insert(
        header::ACCESS_CONTROL_MAX_AGE,
        HeaderValue::from_static("3600"),
    );
}

/// The headers that a page may send. All requested headers of arguments are allowed: a preflight request has no
/// credential, so the tools of its caller are not known. The values of the headers are checked when a tool is called.
fn allowed_headers(request: &HeaderMap) -> HeaderValue {
    let requested = request
        .get_all(header::ACCESS_CONTROL_REQUEST_HEADERS)
        .iter();
    let names = requested
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    let parameters: Vec<_> = names.filter_map(parameter).take(MAX_PARAMETERS).collect();
    let all: Vec<_> = std::iter::once(ALLOWED_HEADERS)
        .chain(parameters.iter().map(HeaderName::as_str))
        .collect();
    // The names of headers are always valid in a value.
    HeaderValue::from_str(&all.join(", ")).unwrap_or(HeaderValue::from_static(ALLOWED_HEADERS))
}

fn parameter(name: &str) -> Option<HeaderName> {
    let name = name.trim();
    let name = HeaderName::from_bytes(name.as_bytes())
        .ok()
        .filter(|_| name.len() <= MAX_PARAMETER_LENGTH)?;
    name.as_str().starts_with(PARAMETER_PREFIX).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(requested: &str) -> String {
        let mut request = HeaderMap::new();
        request.insert(
            header::ACCESS_CONTROL_REQUEST_HEADERS,
            HeaderValue::from_str(requested).unwrap(),
        );
        let value = allowed_headers(&request);
        value
            .to_str()
            .unwrap()
            .strip_prefix(ALLOWED_HEADERS)
            .unwrap()
            .to_owned()
    }

    #[test]
    fn only_headers_of_arguments_are_added() {
        assert_eq!(
            allowed("content-type,Mcp-Param-Region, mcp-param-limit"),
            ", mcp-param-region, mcp-param-limit"
        );
        assert_eq!(
            allowed("x-mcp-param-a,cookie,mcp-param-a b,mcp-param-("),
            ""
        );
    }

    #[test]
    fn their_number_and_length_are_limited() {
        let many: Vec<_> = (0..1_000).map(|n| format!("mcp-param-{n}")).collect();
        assert_eq!(
            allowed(&many.join(",")).matches("mcp-param-").count(),
            MAX_PARAMETERS
        );
        assert_eq!(
            allowed(&format!("mcp-param-{}", "x".repeat(MAX_PARAMETER_LENGTH))),
            ""
        );
    }
}
