//! Checks of the Host and Origin headers, the same for every HTTP listener. They are made before any other part of a
//! request is examined, because any web page can make a browser send requests to this machine (DNS rebinding,
//! cross-site requests).

use std::net::IpAddr;

use http::header::{HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use http::uri::Uri;

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The host names and origins that requests may have, in addition to the loopback interface.
#[derive(Debug)]
pub struct HostPolicy {
    hosts: Vec<String>,
    origins: Vec<String>,
    allows_addresses: bool,
    allows_empty_host: bool,
    allows_own_origins: bool,
}

/// Why a request is refused.
#[derive(Debug, PartialEq, Eq)]
pub enum Forbidden<'r> {
    /// The header `host` is missing, which HTTP requires.
    NoHost,
    /// This host is not allowed.
    Host(&'r str),
    /// The header `host` is repeated.
    RepeatedHost,
    /// The origin is not allowed.
    Origin,
    /// The header `origin` is repeated.
    RepeatedOrigin,
}

impl HostPolicy {
    /// Creates a policy from `host` or `host:port`, and origins such as `https://host`.
    pub fn new(hosts: &[String], origins: &[String]) -> Self {
        Self {
            hosts: normalized(hosts),
            origins: normalized(origins),
            allows_addresses: false,
            allows_empty_host: false,
            allows_own_origins: false,
        }
    }

    /// Allows every IP address as the host: DNS rebinding needs a name.
    pub fn with_addresses(self) -> Self {
        Self {
            allows_addresses: true,
            ..self
        }
    }

    /// Allows an empty host, because a URL of a Unix socket has no host.
    pub fn with_empty_host(self) -> Self {
        Self {
            allows_empty_host: true,
            ..self
        }
    }

    /// Allows pages of the configured hosts and of the allowed addresses. For a server that has pages.
    pub fn with_own_origins(self) -> Self {
        Self {
            allows_own_origins: true,
            ..self
        }
    }

    /// Checks Host and Origin, and returns the origin.
    pub fn check<'r>(
        &self,
        uri: &'r Uri,
        headers: &'r HeaderMap,
    ) -> Result<Option<&'r HeaderValue>, Forbidden<'r>> {
        self.check_host(uri, headers)?;
        let origin =
            single_header(headers, &ORIGIN).map_err(|RepeatedHeader| Forbidden::RepeatedOrigin)?;
        let Some(origin) = origin else {
            return Ok(None);
        };
        let is_allowed = origin
            .to_str()
            .is_ok_and(|origin| self.is_allowed_origin(origin));
        if is_allowed {
            Ok(Some(origin))
        } else {
            Err(Forbidden::Origin)
        }
    }

    /// Checks that a request names this server as its host. The origin is not checked.
    pub fn check_host<'r>(
        &self,
        uri: &'r Uri,
        headers: &'r HeaderMap,
    ) -> Result<(), Forbidden<'r>> {
        // In HTTP the authority of the request line takes precedence over the Host header.
        let host = match uri.authority() {
            Some(authority) => authority.as_str(),
            None => {
                match single_header(headers, &HOST)
                    .map_err(|RepeatedHeader| Forbidden::RepeatedHost)?
                {
                    None => return Err(Forbidden::NoHost),
                    Some(host) if self.allows_empty_host && host.is_empty() => return Ok(()),
                    Some(host) => host.to_str().unwrap_or_default(),
                }
            }
        };
        if self.is_own_host(host) {
            Ok(())
        } else {
            Err(Forbidden::Host(host))
        }
    }

    fn is_own_host(&self, host: &str) -> bool {
        let host = host.trim();
        host_name(host).is_some_and(|name| {
            let is_configured =
                |own: &String| own.eq_ignore_ascii_case(host) || own.eq_ignore_ascii_case(name);
            LOOPBACK.iter().any(|own| own.eq_ignore_ascii_case(name))
                || self.hosts.iter().any(is_configured)
                || self.allows_addresses && is_address(name)
        })
    }

    fn is_allowed_origin(&self, origin: &str) -> bool {
        let origin = origin.trim().to_ascii_lowercase();
        let authority = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        let name = authority.and_then(host_name);
        name.is_some_and(|name| LOOPBACK.contains(&name))
            || self.origins.contains(&origin)
            || self.allows_own_origins
                && authority.is_some_and(|authority| self.is_own_host(authority))
    }
}

fn normalized(texts: &[String]) -> Vec<String> {
    let texts = texts.iter().map(|text| text.trim_end_matches('/'));
    texts.map(str::to_ascii_lowercase).collect()
}

/// Returns the host of `host:port`. `None` if the text does not have that form.
fn host_name(authority: &str) -> Option<&str> {
    let end = if authority.starts_with('[') {
        authority.find(']')? + 1
    } else {
        authority
            .bytes()
            .position(|byte| byte == b':')
            .unwrap_or(authority.len())
    };
    let (name, port) = authority.split_at(end);
    (!name.is_empty() && is_port_suffix(port)).then_some(name)
}

/// Whether a text is empty or has the form `:port`.
fn is_port_suffix(text: &str) -> bool {
    let digits = text.strip_prefix(':');
    text.is_empty() || digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_address(name: &str) -> bool {
    name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
}

/// A header has more than one value.
struct RepeatedHeader;

/// Returns the value of a header that must not be repeated.
fn single_header<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'h HeaderValue>, RepeatedHeader> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    if values.next().is_some() {
        Err(RepeatedHeader)
    } else {
        Ok(value)
    }
}

#[cfg(test)]
mod tests;
