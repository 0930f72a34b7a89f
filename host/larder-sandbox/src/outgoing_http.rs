//! Outgoing HTTP requests of guests, for both `http-client` and wasi:http. A request is checked by method,
//! scheme, host and port. Its host name is resolved once, every address is checked, and only checked
//! addresses are connected to. Redirects are returned to the guest, which has to send a new request.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use http_body_util::{BodyExt, Limited};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address;
use super::dns::DnsLookups;
use larder_model::policy::{Grant, HostRule};

/// Sends the requests of one revision of a provider. Nothing is shared with other providers, including
/// connections.
pub(super) struct OutgoingHttp {
    rules: Arc<[HostRule]>,
    timeout: std::time::Duration,
    pub(super) body_limit: u64,
    lookups: Arc<DnsLookups>,
    /// One client per [`NetworkScope`], so that a connection to a private address is never used for a request
    /// that may only reach public ones.
    clients: [OnceLock<Result<reqwest::Client, String>>; 2],
}

/// Which addresses a request may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NetworkScope {
    Public,
    Private,
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequestError {
    /// The request is not granted. The text says which grant is missing.
    Denied(String),
    Unreachable(String),
    TimedOut,
    TooLarge,
}

type FullResponse = (u16, Vec<(String, String)>, Vec<u8>);

impl OutgoingHttp {
    /// Creates a client for the hosts that a grant names.
    pub(super) fn new(grant: &Grant) -> Self {
        Self {
            rules: grant.hosts.clone().into(),
            timeout: grant.limits.timeout,
            body_limit: grant.limits.http_body,
            lookups: Arc::new(DnsLookups::new()),
            clients: [OnceLock::new(), OnceLock::new()],
        }
    }

    /// Sends a request and reads the whole response.
    pub(super) async fn fetch(
        &self,
        method: &str,
        url: &str,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> Result<FullResponse, RequestError> {
        let mut request = http::Request::builder().method(method).uri(url);
        for (name, value) in headers.iter().filter(|(name, _)| !is_hop_header(name)) {
            request = request.header(name, value);
        }
        let request = request
            .body(reqwest::Body::from(body))
            .map_err(|error| RequestError::Unreachable(format!("invalid request: {error}")))?;
        let (parts, body) = self.send(request).await?.into_parts();
        let limit = usize::try_from(self.body_limit).unwrap_or(usize::MAX);
        let body = Limited::new(body, limit).collect().await.map_err(|error| {
            if error.is::<http_body_util::LengthLimitError>() {
                return RequestError::TooLarge;
            }
            error.downcast::<reqwest::Error>().map_or(RequestError::TimedOut, |error| request_error(&error))
        })?;
        let headers = parts
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
        Ok((parts.status.as_u16(), headers.collect(), body.to_bytes().into()))
    }

    /// Sends a request, and returns its response when the head has arrived.
    pub(super) async fn send(
        &self,
        request: http::Request<reqwest::Body>,
    ) -> Result<http::Response<reqwest::Body>, RequestError> {
        let request = reqwest::Request::try_from(request)
            .map_err(|error| RequestError::Unreachable(format!("invalid URL: {error}")))?;
        let scope = check(&self.rules, request.method().as_str(), request.url())?;
        let client = self.clients[scope as usize].get_or_init(|| self.client(scope)).as_ref();
        let client = client.map_err(|error| RequestError::Unreachable(error.clone()))?;
        client.execute(request).await.map(Into::into).map_err(|error| request_error(&error))
    }

    fn client(&self, scope: NetworkScope) -> Result<reqwest::Client, String> {
        reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(self.timeout)
            .dns_resolver(Arc::new(Resolver { scope, lookups: self.lookups.clone() }))
            .build()
            .map_err(|error| format!("cannot set up TLS: {error}"))
    }
}

/// Whether a header belongs to the connection. Such headers are set by the HTTP client and not by the guest.
fn is_hop_header(name: &str) -> bool {
    [
        "host",
        "connection",
        "keep-alive",
        "proxy-connection",
        "transfer-encoding",
        "upgrade",
        "te",
        "content-length",
    ]
    .iter()
    .any(|hop| name.eq_ignore_ascii_case(hop))
}

/// Checks that a rule allows a request, and returns which addresses it may reach. A rule with `private`
/// applies only to the requests that it covers itself, even if another rule has the same host. The URL is
/// checked in its parsed form, which is also the one that is connected to.
fn check(rules: &[HostRule], method: &str, url: &reqwest::Url) -> Result<NetworkScope, RequestError> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let port = url.port_or_known_default().unwrap_or_default();
    let is_address = host.parse::<IpAddr>().is_ok();
    let scope = rules
        .iter()
        .filter(|rule| !is_address || rule.host.trim_matches(['[', ']']) == host)
        .filter(|rule| rule.allows(method, url.scheme(), if is_address { &rule.host } else { host }, port))
        .map(|rule| if rule.private { NetworkScope::Private } else { NetworkScope::Public })
        .max_by_key(|scope| *scope as usize);
    if let Some(scope) = scope {
        return Ok(scope);
    }
    let origin = url.origin().ascii_serialization();
    Err(RequestError::Denied(format!(
        "{method} to {origin} is not granted; its operator can allow it with `hosts = [\"{origin}\"]`"
    )))
}

fn request_error(error: &reqwest::Error) -> RequestError {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    let mut last = String::new();
    while let Some(error) = cause {
        if let Some(private_address) = error.downcast_ref::<PrivateAddress>() {
            return RequestError::Denied(private_address.to_string());
        }
        last = error.to_string();
        cause = error.source();
    }
    if error.is_timeout() { RequestError::TimedOut } else { RequestError::Unreachable(last) }
}

/// Resolves host names. Addresses that are not public are removed, unless the request may reach them.
struct Resolver {
    scope: NetworkScope,
    lookups: Arc<DnsLookups>,
}

#[derive(Debug, thiserror::Error)]
#[error(
    "`{name}` resolves to {address}, an address inside this network; its operator can allow it with `private = true`"
)]
struct PrivateAddress {
    name: String,
    address: IpAddr,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let name = name.as_str().to_owned();
        let (private, lookups) = (self.scope == NetworkScope::Private, self.lookups.clone());
        Box::pin(async move {
            let found = lookups.addresses(name.clone()).await?;
            let private_address =
                found.iter().map(|found| found.ip()).find(|address| !address::is_public(*address));
            let usable: Vec<_> =
                found.into_iter().filter(|found| private || address::is_public(found.ip())).collect();
            match private_address {
                Some(address) if usable.is_empty() => Err(PrivateAddress { name, address }.into()),
                _ => Ok(Box::new(usable.into_iter()) as Addrs),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(host: &str, scheme: Option<&str>, port: Option<u16>) -> HostRule {
        HostRule { scheme: scheme.map(Into::into), host: host.into(), port, methods: None, private: false }
    }

    fn allows(rule: HostRule, url: &str) -> bool {
        check(&[rule], "GET", &reqwest::Url::parse(url).unwrap()).is_ok()
    }

    #[test]
    fn an_ip_address_needs_a_rule_of_its_own() {
        assert!(allows(rule("127.0.0.1", Some("http"), Some(8080)), "http://127.0.0.1:8080/x"));
        assert!(allows(rule("[::1]", Some("http"), None), "http://[::1]/"));
        assert!(!allows(rule("*.0.0.1", Some("http"), None), "http://127.0.0.1/"));
        assert!(!allows(rule("localhost", Some("http"), None), "http://127.0.0.1/"));
    }

    #[test]
    fn normalizes_other_notations_of_an_address() {
        for url in ["http://0x7f.1/", "http://2130706433/", "http://127.1/"] {
            assert!(allows(rule("127.0.0.1", Some("http"), None), url), "{url}");
            assert!(!allows(rule("0x7f.1", Some("http"), None), url), "{url}");
        }
    }

    #[test]
    fn a_private_rule_applies_only_to_requests_that_it_covers() {
        let private = HostRule { private: true, ..rule("*.example.com", Some("http"), Some(8080)) };
        let rules = [private, rule("api.example.com", None, None)];
        let scope = |url: &str| check(&rules, "GET", &reqwest::Url::parse(url).unwrap());
        assert_eq!(scope("http://api.example.com:8080/"), Ok(NetworkScope::Private));
        assert_eq!(scope("https://api.example.com/"), Ok(NetworkScope::Public));
        assert!(scope("https://other.example.com/").is_err());
        let both =
            [rule("a.example", None, None), HostRule { private: true, ..rule("a.example", None, None) }];
        assert_eq!(
            check(&both, "GET", &reqwest::Url::parse("https://a.example/").unwrap()),
            Ok(NetworkScope::Private)
        );
    }

    #[test]
    fn the_user_info_of_a_url_is_not_its_host() {
        assert!(!allows(rule("api.example.com", None, None), "https://api.example.com@evil.net/"));
    }
}
