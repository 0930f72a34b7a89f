//! Checks of the Host and Origin headers. They come before anything else of a request is looked at, because
//! any web page can make a browser send requests to this machine (DNS rebinding, cross-site requests).

use http::header::{self, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, StatusCode};

use super::rpc_error::{INVALID_REQUEST, RpcError, clip};

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

const ALLOWED_HEADERS: &str = "authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, \
                               mcp-session-id, last-event-id";

/// The host names and origins that requests may have.
#[derive(Debug)]
pub(super) struct OriginPolicy {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl OriginPolicy {
    pub(super) fn new(hosts: &[String], origins: &[String]) -> Self {
        let normalize = |texts: &[String]| {
            texts.iter().map(|text| text.trim_end_matches('/').to_ascii_lowercase()).collect::<Vec<_>>()
        };
        Self { hosts: normalize(hosts), origins: normalize(origins) }
    }

    /// Checks Host and Origin, and returns the origin for the CORS headers of the response.
    pub(super) fn check(&self, head: &Parts) -> Result<Option<HeaderValue>, RpcError> {
        self.check_host(head)?;
        let Some(origin) = single_header(&head.headers, &header::ORIGIN)? else { return Ok(None) };
        if !origin.to_str().is_ok_and(|origin| self.is_allowed_origin(origin)) {
            return Err(forbidden("the origin of the request is not allowed on this server".into()));
        }
        Ok(Some(origin.clone()))
    }

    /// Checks that a request names this server as its host, whatever its origin.
    pub(super) fn check_host(&self, head: &Parts) -> Result<(), RpcError> {
        // In HTTP the authority of the request line takes precedence over the Host header.
        let host = match head.uri.authority() {
            Some(authority) => Some(authority.as_str()),
            None => single_header(&head.headers, &header::HOST)?.and_then(|host| host.to_str().ok()),
        };
        if !host.is_some_and(|host| self.is_own_host(host)) {
            let host = clip(host.unwrap_or_default(), 100);
            return Err(forbidden(format!("the host `{host}` is not allowed: add it to `server.hosts`")));
        }
        Ok(())
    }

    fn is_own_host(&self, host: &str) -> bool {
        let host = host.trim();
        host_name(host).is_some_and(|name| {
            let is_configured =
                |own: &String| own.eq_ignore_ascii_case(host) || own.eq_ignore_ascii_case(name);
            LOOPBACK.iter().any(|own| own.eq_ignore_ascii_case(name)) || self.hosts.iter().any(is_configured)
        })
    }

    fn is_allowed_origin(&self, origin: &str) -> bool {
        let origin = origin.trim().to_ascii_lowercase();
        let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        let name = authority.and_then(host_name);
        name.is_some_and(|name| LOOPBACK.contains(&name)) || self.origins.contains(&origin)
    }
}

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

/// Returns the host of `host:port`, or `None` if the text does not have that form.
fn host_name(authority: &str) -> Option<&str> {
    let end = if authority.starts_with('[') {
        authority.find(']')? + 1
    } else {
        authority.bytes().position(|byte| byte == b':').unwrap_or(authority.len())
    };
    let (name, port) = authority.split_at(end);
    let digits = port.strip_prefix(':');
    let fits =
        port.is_empty() || digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    (fits && !name.is_empty()).then_some(name)
}

fn single_header<'h>(
    headers: &'h HeaderMap,
    name: &header::HeaderName,
) -> Result<Option<&'h HeaderValue>, RpcError> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    if values.next().is_some() {
        Err(forbidden(format!("the header `{name}` is repeated")))
    } else {
        Ok(value)
    }
}

fn forbidden(why: String) -> RpcError {
    RpcError::new(INVALID_REQUEST, why).with_status(StatusCode::FORBIDDEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(uri: &str, headers: &[(&str, &str)]) -> bool {
        let mut request = http::Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let origin_policy = OriginPolicy::new(
            &["Larder.example".into(), "other.example:8443".into()],
            &["https://app.example".into(), "https://slash.example/".into()],
        );
        origin_policy.check(&request.body(()).unwrap().into_parts().0).is_ok()
    }

    #[test]
    fn accepts_only_own_hosts() {
        for good in [
            "localhost",
            "LOCALHOST:1",
            "127.0.0.1:7878",
            "[::1]:80",
            "larder.example",
            "larder.example:443",
            "other.example:8443",
        ] {
            assert!(admit("/mcp", &[("host", good)]), "{good}");
        }
        for bad in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:80",
            "evil@localhost",
            "[::1",
            "[::1]evil",
            "localhost:x",
            "other.example",
            "ü",
        ] {
            assert!(!admit("/mcp", &[("host", bad)]), "{bad}");
        }
        assert!(!admit("/mcp", &[]), "no host at all");
        assert!(!admit("/mcp", &[("host", "localhost"), ("host", "evil.example")]));
        assert!(
            !admit("http://evil.example/mcp", &[("host", "localhost")]),
            "the request line takes precedence"
        );
    }

    #[test]
    fn accepts_only_local_and_configured_origins() {
        for good in [
            "http://localhost:3000",
            "https://127.0.0.1",
            "http://[::1]:1",
            "https://app.example",
            "https://slash.example",
        ] {
            assert!(admit("/mcp", &[("host", "localhost"), ("origin", good)]), "{good}");
        }
        for bad in [
            "null",
            "",
            "http://evil.example",
            "http://app.example",
            "https://app.example:444",
            "http://localhost/x",
            "ftp://localhost",
            "http://localhost.evil.example",
            "file://",
        ] {
            assert!(!admit("/mcp", &[("host", "localhost"), ("origin", bad)]), "{bad}");
        }
    }
}
