//! Access checks of the admin listener. A web page can make a browser on this machine send requests here
//! under a host name of the page's choice (DNS rebinding), so host names are checked; an IP address as the
//! host is safe.

use std::net::IpAddr;

use http::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, ORIGIN};
use http::uri::{Authority, Uri};
use http::{Request, StatusCode};

use larder_model::name::Digest;

pub(super) struct AccessPolicy {
    hosts: Vec<String>,
    token: Option<Digest>,
}

impl AccessPolicy {
    pub(super) fn new(hosts: &[String], token: Option<Digest>) -> Self {
        Self { hosts: hosts.iter().map(|host| host.to_ascii_lowercase()).collect(), token }
    }

    /// Checks the Host and Origin headers.
    pub(super) fn check_origin<B>(&self, request: &Request<B>) -> Result<(), (StatusCode, &'static str)> {
        let host = match request.uri().authority() {
            Some(authority) => Some(authority.as_str()),
            None => single_header(request.headers(), &HOST),
        };
        if !host.and_then(host_name).is_some_and(|host| self.is_own_host(&host)) {
            return Err((StatusCode::FORBIDDEN, "the host is not allowed: add it to `admin.hosts`"));
        }
        if request.headers().contains_key(ORIGIN) {
            let origin =
                single_header(request.headers(), &ORIGIN).and_then(|origin| origin.parse::<Uri>().ok());
            let name = origin.as_ref().and_then(Uri::authority).and_then(|host| host_name(host.as_str()));
            if !name.is_some_and(|name| is_loopback(&name)) {
                return Err((StatusCode::FORBIDDEN, "the origin of the request is not allowed here"));
            }
        }
        Ok(())
    }

    /// Whether the request has the token, if one is required.
    pub(super) fn is_authorized<B>(&self, request: &Request<B>) -> bool {
        let Some(token) = self.token else { return true };
        let credential =
            single_header(request.headers(), &AUTHORIZATION).and_then(|value| value.split_once(' '));
        // Digests are compared, so that timing reveals nothing about the token.
        credential.is_some_and(|(scheme, value)| {
            scheme.eq_ignore_ascii_case("bearer") && Digest::of(value.trim().as_bytes()) == token
        })
    }

    fn is_own_host(&self, name: &str) -> bool {
        is_loopback(name) || is_address(name) || self.hosts.iter().any(|host| host == name)
    }
}

fn is_loopback(name: &str) -> bool {
    ["localhost", "127.0.0.1", "[::1]"].contains(&name)
}

fn is_address(name: &str) -> bool {
    name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
}

/// Returns the host of `host:port` in lower case.
fn host_name(authority: &str) -> Option<String> {
    let authority: Authority = authority.parse().ok().filter(|_| !authority.contains('@'))?;
    Some(authority.host().to_ascii_lowercase())
}

/// Returns the value of a header that must not be repeated.
fn single_header<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    if values.next().is_some() { None } else { value.to_str().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&str, &str)]) -> Request<()> {
        let request = headers.iter().fold(Request::builder(), |r, (name, value)| r.header(*name, *value));
        request.body(()).unwrap()
    }

    #[test]
    fn accepts_only_own_hosts_and_local_origins() {
        let access_policy = AccessPolicy::new(&["Metrics.example".into()], None);
        let accepts = |headers: &[(&str, &str)]| access_policy.check_origin(&request(headers)).is_ok();
        for good in ["localhost:7879", "127.0.0.1", "[::1]:1", "10.1.2.3:7879", "metrics.example:80"] {
            assert!(accepts(&[("host", good)]), "{good}");
        }
        for bad in ["evil.example", "127.0.0.1.evil.example", "evil@localhost", ""] {
            assert!(!accepts(&[("host", bad)]), "{bad}");
        }
        assert!(!accepts(&[]) && !accepts(&[("host", "localhost"), ("host", "localhost")]));
        assert!(accepts(&[("host", "localhost"), ("origin", "http://localhost:3000")]));
        for bad in ["http://evil.example", "null", "http://metrics.example"] {
            assert!(!accepts(&[("host", "localhost"), ("origin", bad)]), "{bad}");
        }
    }

    #[test]
    fn requires_the_token_if_one_is_configured() {
        let access_policy = AccessPolicy::new(&[], Some(Digest::of(b"secret")));
        let authorized = |headers: &[(&str, &str)]| access_policy.is_authorized(&request(headers));
        assert!(
            authorized(&[("authorization", "Bearer secret")])
                && authorized(&[("authorization", "bearer secret")])
        );
        for bad in ["Bearer Secret", "secret", "Basic secret", "Bearer "] {
            assert!(!authorized(&[("authorization", bad)]), "{bad}");
        }
        assert!(!authorized(&[]) && AccessPolicy::new(&[], None).is_authorized(&request(&[])));
    }
}
