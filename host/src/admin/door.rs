//! Who may look. A page of anyone's can make a browser on this machine ask here under a name of its own choosing,
//! so names are checked; an address in place of a name cannot be such a trick.

use std::net::IpAddr;

use http::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, ORIGIN};
use http::uri::{Authority, Uri};
use http::{Request, StatusCode};

use crate::name::Digest;

pub(super) struct Door {
    hosts: Vec<String>,
    token: Option<Digest>,
}

impl Door {
    pub(super) fn new(hosts: &[String], token: Option<Digest>) -> Self {
        Self { hosts: hosts.iter().map(|host| host.to_ascii_lowercase()).collect(), token }
    }

    /// Whether it was asked under a name of this server, and by no page from elsewhere.
    pub(super) fn admits<B>(&self, request: &Request<B>) -> Result<(), (StatusCode, &'static str)> {
        let host = match request.uri().authority() {
            Some(authority) => Some(authority.as_str()),
            None => sole(request.headers(), &HOST),
        };
        if !host.and_then(name_of).is_some_and(|host| self.is_ours(&host)) {
            return Err((StatusCode::FORBIDDEN, "not one of this server's names: see `admin.hosts`"));
        }
        if request.headers().contains_key(ORIGIN) {
            let origin = sole(request.headers(), &ORIGIN).and_then(|origin| origin.parse::<Uri>().ok());
            let name = origin.as_ref().and_then(Uri::authority).and_then(|host| name_of(host.as_str()));
            if !name.is_some_and(|name| is_loopback(&name)) {
                return Err((StatusCode::FORBIDDEN, "the origin of the request is not allowed here"));
            }
        }
        Ok(())
    }

    /// Whether it was shown the token, if one is needed.
    pub(super) fn knows<B>(&self, request: &Request<B>) -> bool {
        let Some(token) = self.token else { return true };
        let shown = sole(request.headers(), &AUTHORIZATION).and_then(|value| value.split_once(' '));
        // Digests are compared, so that the time it takes tells nothing about the token.
        shown.is_some_and(|(scheme, shown)| {
            scheme.eq_ignore_ascii_case("bearer") && Digest::of(shown.trim().as_bytes()) == token
        })
    }

    fn is_ours(&self, name: &str) -> bool {
        is_loopback(name) || is_address(name) || self.hosts.iter().any(|ours| ours == name)
    }
}

fn is_loopback(name: &str) -> bool {
    ["localhost", "127.0.0.1", "[::1]"].contains(&name)
}

fn is_address(name: &str) -> bool {
    name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
}

/// The host of `host:port`, in lower case.
fn name_of(authority: &str) -> Option<String> {
    let authority: Authority = authority.parse().ok().filter(|_| !authority.contains('@'))?;
    Some(authority.host().to_ascii_lowercase())
}

/// The value of a header that is there once.
fn sole<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
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
    fn pages_from_elsewhere_do_not_get_in() {
        let door = Door::new(&["Metrics.example".into()], None);
        let admits = |headers: &[(&str, &str)]| door.admits(&request(headers)).is_ok();
        for good in ["localhost:7879", "127.0.0.1", "[::1]:1", "10.1.2.3:7879", "metrics.example:80"] {
            assert!(admits(&[("host", good)]), "{good}");
        }
        for bad in ["evil.example", "127.0.0.1.evil.example", "evil@localhost", ""] {
            assert!(!admits(&[("host", bad)]), "{bad}");
        }
        assert!(!admits(&[]) && !admits(&[("host", "localhost"), ("host", "localhost")]));
        assert!(admits(&[("host", "localhost"), ("origin", "http://localhost:3000")]));
        for bad in ["http://evil.example", "null", "http://metrics.example"] {
            assert!(!admits(&[("host", "localhost"), ("origin", bad)]), "{bad}");
        }
    }

    #[test]
    fn a_token_is_needed_where_there_is_one() {
        let door = Door::new(&[], Some(Digest::of(b"secret")));
        let knows = |headers: &[(&str, &str)]| door.knows(&request(headers));
        assert!(knows(&[("authorization", "Bearer secret")]) && knows(&[("authorization", "bearer secret")]));
        for bad in ["Bearer Secret", "secret", "Basic secret", "Bearer "] {
            assert!(!knows(&[("authorization", bad)]), "{bad}");
        }
        assert!(!knows(&[]) && Door::new(&[], None).knows(&request(&[])));
    }
}
