//! Who may knock: the names under which this server is called, and the web pages that may call it. Checked before
//! anything else of a request is looked at, since a page of anyone's can make a browser send requests to this machine.

use http::header::{self, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, StatusCode};

use super::refusal::{REQUEST, Refusal, clip};

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

const ALLOWED_HEADERS: &str = "authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, \
                               mcp-session-id, last-event-id";

/// The names and origins that are welcome.
#[derive(Debug)]
pub(super) struct Door {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Door {
    pub(super) fn new(hosts: &[String], origins: &[String]) -> Self {
        let lower = |texts: &[String]| {
            texts.iter().map(|text| text.trim_end_matches('/').to_ascii_lowercase()).collect::<Vec<_>>()
        };
        Self { hosts: lower(hosts), origins: lower(origins) }
    }

    /// Whether a request may come in, and the origin to name in the answer.
    pub(super) fn admit(&self, head: &Parts) -> Result<Option<HeaderValue>, Refusal> {
        self.is_called_by_name(head)?;
        let Some(origin) = sole(&head.headers, &header::ORIGIN)? else { return Ok(None) };
        if !origin.to_str().is_ok_and(|origin| self.is_welcome(origin)) {
            return Err(forbidden("the origin of the request is not allowed on this server".into()));
        }
        Ok(Some(origin.clone()))
    }

    /// Whether a request means this server, whatever page sent it.
    pub(super) fn is_called_by_name(&self, head: &Parts) -> Result<(), Refusal> {
        // By HTTP the authority in the request line counts more than the header.
        let host = match head.uri.authority() {
            Some(authority) => Some(authority.as_str()),
            None => sole(&head.headers, &header::HOST)?.and_then(|host| host.to_str().ok()),
        };
        if !host.is_some_and(|host| self.is_ours(host)) {
            let host = clip(host.unwrap_or_default(), 100);
            return Err(forbidden(format!("the host `{host}` is not one of this server's names")));
        }
        Ok(())
    }

    fn is_ours(&self, host: &str) -> bool {
        let host = host.trim();
        name_of(host).is_some_and(|name| {
            let is_ours = |ours: &String| ours.eq_ignore_ascii_case(host) || ours.eq_ignore_ascii_case(name);
            LOOPBACK.iter().any(|own| own.eq_ignore_ascii_case(name)) || self.hosts.iter().any(is_ours)
        })
    }

    fn is_welcome(&self, origin: &str) -> bool {
        let origin = origin.trim().to_ascii_lowercase();
        let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        let name = authority.and_then(name_of);
        name.is_some_and(|name| LOOPBACK.contains(&name)) || self.origins.contains(&origin)
    }
}

/// What a browser must read before it lets its page see the answer.
pub(super) fn allow_origin(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    headers.insert(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("mcp-session-id, www-authenticate"),
    );
}

/// The answer to a browser that asks what it may send.
pub(super) fn allow_request(headers: &mut HeaderMap) {
    headers
        .insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE, OPTIONS"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(ALLOWED_HEADERS));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("3600"));
}

/// The host of `host:port`; none when it is not of that shape.
fn name_of(authority: &str) -> Option<&str> {
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

fn sole<'h>(headers: &'h HeaderMap, name: &header::HeaderName) -> Result<Option<&'h HeaderValue>, Refusal> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    if values.next().is_some() {
        Err(forbidden(format!("the header `{name}` is repeated")))
    } else {
        Ok(value)
    }
}

fn forbidden(why: String) -> Refusal {
    Refusal::new(REQUEST, why).with_status(StatusCode::FORBIDDEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(uri: &str, headers: &[(&str, &str)]) -> bool {
        let mut request = http::Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let door = Door::new(
            &["Larder.example".into(), "other.example:8443".into()],
            &["https://app.example".into(), "https://slash.example/".into()],
        );
        door.admit(&request.body(()).unwrap().into_parts().0).is_ok()
    }

    #[test]
    fn only_names_of_this_server_are_answered() {
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
        assert!(!admit("http://evil.example/mcp", &[("host", "localhost")]), "the request line counts more");
    }

    #[test]
    fn only_pages_of_this_machine_or_named_ones_may_call() {
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
