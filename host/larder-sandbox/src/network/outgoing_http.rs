//! Outgoing HTTP requests of guests, for both `http-client` and wasi:http. A request is checked by method, scheme, host
//! and port. Its host name is resolved once, every address is checked, and connections are opened only to checked
//! addresses. Redirects are returned to the guest, which has to send a new request.

mod body_budget;
mod connect_timeout;

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

pub(crate) use self::body_budget::BodyBudget;
use self::body_budget::Reservation;
use self::connect_timeout::{ConnectTimedOut, ConnectTimeoutLayer, with_connect_timeout};
use super::dns::DnsLookups;
use super::resolved_addresses::{NetworkScope, PrivateAddress};
use larder_model::policy::{Grant, HostRule};
use larder_runtime::deadline::with_deadline;

/// Maximum number of requests of one guest at the same time, for each of `send-all` and wasi:http.
pub(crate) const MAX_CONCURRENT_REQUESTS: usize = 32;

/// Sends the requests of one revision of a provider. Nothing is shared with other providers, not even connections.
pub(crate) struct OutgoingHttp {
    rules: Arc<[HostRule]>,
    timeout: Duration,
    pub(crate) body_limit: u64,
    lookups: Arc<DnsLookups>,
    /// One client per [`NetworkScope`], so that a connection to a private address is never used for a request that may
    /// only reach public addresses.
    clients: [OnceLock<Result<reqwest::Client, String>>; 2],
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestError {
    /// The request is not granted. The text says which grant is missing.
    Denied(String),
    Unreachable(String),
    TimedOut,
    TooLarge,
    /// The memory budget has no room for the body of the request or of the response.
    NoMemory,
}

/// A request whose response is read completely.
pub(crate) struct FetchRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) url: &'a str,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Time limit of the whole exchange, in addition to the limit of the host.
    pub(crate) timeout: Option<Duration>,
}

type FullResponse = (u16, Vec<(String, String)>, Vec<u8>);

impl OutgoingHttp {
    /// Creates a client for the hosts that a grant names.
    pub(crate) fn new(grant: &Grant, lookups: Arc<DnsLookups>) -> Self {
        Self {
            rules: grant.hosts.clone().into(),
            timeout: grant.limits.timeout,
            body_limit: grant.limits.http_body,
            lookups,
            clients: [OnceLock::new(), OnceLock::new()],
        }
    }

    /// Sends a request and reads the whole response. The size of its body is limited by the budget.
    pub(crate) async fn fetch(
        &self,
        request: FetchRequest<'_>,
        budget: &BodyBudget,
    ) -> Result<FullResponse, RequestError> {
        let Some(timeout) = request.timeout else {
            return self.exchange(request, budget).await;
        };
        let deadline = Instant::now() + timeout.min(self.timeout);
        let response = with_deadline(|| deadline, self.exchange(request, budget)).await;
        response.unwrap_or(Err(RequestError::TimedOut))
    }

    async fn exchange(
        &self,
        request: FetchRequest<'_>,
        budget: &BodyBudget,
    ) -> Result<FullResponse, RequestError> {
        let FetchRequest {
            method,
            url,
            headers,
            body,
            timeout: _,
        } = request;
        let mut reservation = Reservation::new(budget);
        reservation.hold(&body)?;
        let mut request = http::Request::builder().method(method).uri(url);
        for (name, value) in headers.iter().filter(|(name, _)| !is_hop_header(name)) {
            request = request.header(name, value);
        }
        let request = request
            .body(reqwest::Body::from(body))
            .map_err(|error| RequestError::Unreachable(format!("invalid request: {error}")))?;
        let (parts, body) = self.send(request, None).await?.into_parts();
        let body = read_body(body, budget).await?;
        let headers = parts.headers.iter().map(|(name, value)| {
            (
                name.to_string(),
                String::from_utf8_lossy(value.as_bytes()).into_owned(),
            )
        });
        Ok((parts.status.as_u16(), headers.collect(), body))
    }

    /// Sends a request, and returns its response when the head has arrived. `connect_timeout` limits the time
    /// for connecting, in addition to the limit of the host for the whole exchange.
    pub(crate) async fn send(
        &self,
        request: http::Request<reqwest::Body>,
        connect_timeout: Option<Duration>,
    ) -> Result<http::Response<reqwest::Body>, RequestError> {
        let request = reqwest::Request::try_from(request)
            .map_err(|error| RequestError::Unreachable(format!("invalid URL: {error}")))?;
        let scope = check(&self.rules, request.method().as_str(), request.url())?;
        let client = self.clients[scope as usize]
            .get_or_init(|| self.client(scope))
            .as_ref();
        let client = client.map_err(|error| RequestError::Unreachable(error.clone()))?;
        let response = with_connect_timeout(connect_timeout, client.execute(request)).await;
        response
            .map(Into::into)
            .map_err(|error| request_error(&error))
    }

    fn client(&self, scope: NetworkScope) -> Result<reqwest::Client, String> {
        reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(self.timeout)
            .connector_layer(ConnectTimeoutLayer)
            .dns_resolver(Arc::new(Resolver {
                scope,
                lookups: self.lookups.clone(),
            }))
            .build()
            .map_err(|error| format!("cannot set up TLS: {error}"))
    }
}

async fn read_body(mut body: reqwest::Body, budget: &BodyBudget) -> Result<Vec<u8>, RequestError> {
    let mut bytes = Vec::new();
    let mut reservation = Reservation::new(budget);
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(|error| request_error(&error))?.into_data() {
            reservation.append(&mut bytes, &data)?;
        }
    }
    reservation.keep();
    Ok(bytes)
}

/// Whether a header belongs to the connection. The HTTP client sets such headers, not the guest.
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

/// Checks that a rule allows a request, and returns which addresses it may reach. A rule with `private` applies only to
/// the requests that the rule itself covers, also if another rule has the same host. The URL is checked in its parsed
/// form, and the connection uses the same parsed form.
fn check(
    rules: &[HostRule],
    method: &str,
    url: &reqwest::Url,
) -> Result<NetworkScope, RequestError> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let port = url.port_or_known_default().unwrap_or_default();
    let is_address = host.parse::<IpAddr>().is_ok();
    let scope = rules
        .iter()
        .filter(|rule| !is_address || rule.host.trim_matches(['[', ']']) == host)
        .filter(|rule| {
            rule.allows(
                method,
                url.scheme(),
                if is_address { &rule.host } else { host },
                port,
            )
        })
        .map(|rule| NetworkScope::of_rule(rule.private))
        .max_by_key(|scope| *scope as usize);
    if let Some(scope) = scope {
        return Ok(scope);
    }
    let origin = url.origin().ascii_serialization();
    // Without `methods`, a rule allows only read requests.
    let rule = match method {
        "GET" | "HEAD" => format!("\"{origin}\""),
        _ => format!("{{ host = \"{origin}\", methods = [\"{method}\"] }}"),
    };
    let hint = format!("its operator can allow it with `hosts = [{rule}]`");
    Err(RequestError::Denied(format!(
        "{method} to {origin} is not granted; {hint}"
    )))
}

fn request_error(error: &reqwest::Error) -> RequestError {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    let mut last = String::new();
    while let Some(error) = cause {
        if let Some(private_address) = error.downcast_ref::<PrivateAddress>() {
            return RequestError::Denied(private_address.to_string());
        }
        if error.is::<ConnectTimedOut>() {
            return RequestError::TimedOut;
        }
        last = error.to_string();
        cause = error.source();
    }
    if error.is_timeout() {
        RequestError::TimedOut
    } else {
        RequestError::Unreachable(last)
    }
}

/// Resolves host names. Addresses that are not public are removed, unless the request may reach them.
struct Resolver {
    scope: NetworkScope,
    lookups: Arc<DnsLookups>,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let name = name.as_str().to_owned();
        let scope = self.scope;
        let lookups = self.lookups.clone();
        Box::pin(async move {
            let found = lookups.addresses(name.clone()).await?;
            let allowed = scope.check(&name, found)?;
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(host: &str, scheme: Option<&str>, port: Option<u16>) -> HostRule {
        HostRule {
            scheme: scheme.map(Into::into),
            host: host.into(),
            port,
            methods: None,
            private: false,
        }
    }

    fn allows(rule: HostRule, url: &str) -> bool {
        check(&[rule], "GET", &reqwest::Url::parse(url).unwrap()).is_ok()
    }

    #[test]
    fn an_ip_address_needs_a_rule_of_its_own() {
        assert!(allows(
            rule("127.0.0.1", Some("http"), Some(8080)),
            "http://127.0.0.1:8080/x"
        ));
        assert!(allows(rule("[::1]", Some("http"), None), "http://[::1]/"));
        assert!(!allows(
            rule("*.0.0.1", Some("http"), None),
            "http://127.0.0.1/"
        ));
        assert!(!allows(
            rule("localhost", Some("http"), None),
            "http://127.0.0.1/"
        ));
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
        let private = HostRule {
            private: true,
            ..rule("*.example.com", Some("http"), Some(8080))
        };
        let rules = [private, rule("api.example.com", None, None)];
        let scope = |url: &str| check(&rules, "GET", &reqwest::Url::parse(url).unwrap());
        assert_eq!(
            scope("http://api.example.com:8080/"),
            Ok(NetworkScope::Private)
        );
        assert_eq!(scope("https://api.example.com/"), Ok(NetworkScope::Public));
        assert!(scope("https://other.example.com/").is_err());
        let both = [
            rule("a.example", None, None),
            HostRule {
                private: true,
                ..rule("a.example", None, None)
            },
        ];
        assert_eq!(
            check(
                &both,
                "GET",
                &reqwest::Url::parse("https://a.example/").unwrap()
            ),
            Ok(NetworkScope::Private)
        );
    }

    #[test]
    fn the_user_info_of_a_url_is_not_its_host() {
        assert!(!allows(
            rule("api.example.com", None, None),
            "https://api.example.com@evil.net/"
        ));
    }
}
