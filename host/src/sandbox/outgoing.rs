//! HTTP that leaves the house: one way out for `http-client` and wasi:http alike.
//! A request is checked by method, scheme, host and port, the name is resolved once, every address is
//! checked, and only a checked address is connected to. Redirects are handed to the guest, which has to ask again.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use http_body_util::{BodyExt, Limited};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use wasmtime_wasi_http::{Error as WasiError, RequestOptions, WasiBody, WasiHttpHooks};

use super::address;
use super::log::{Level, Log};
use super::lookup::Lookups;
use super::state::Terms;
use crate::policy::{Grant, HostRule};
use crate::trace::Trace;

/// The way out for one revision of one provider. Nothing of it, connections included, is shared with another.
pub struct Outgoing {
    rules: Arc<[HostRule]>,
    timeout: std::time::Duration,
    body_limit: u64,
    lookups: Arc<Lookups>,
    /// Only to the public network, and also into this one: never a connection of the one for a request of the other.
    clients: [OnceLock<Result<reqwest::Client, String>>; 2],
}

/// How far a request may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Public,
    Private,
}

/// Why a request came to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Not granted; says what would have to be.
    Denied(String),
    Unreachable(String),
    TimedOut,
    TooLarge,
}

type Answer = (u16, Vec<(String, String)>, Vec<u8>);

impl Outgoing {
    /// The way out that this grant opens; closed if it names no host.
    pub fn new(grant: &Grant) -> Self {
        Self {
            rules: grant.hosts.clone().into(),
            timeout: grant.limits.wall,
            body_limit: grant.limits.http_body,
            lookups: Arc::new(Lookups::new()),
            clients: [OnceLock::new(), OnceLock::new()],
        }
    }

    /// Sends a request and reads the whole answer.
    pub(super) async fn fetch(
        &self,
        method: &str,
        url: &str,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> Result<Answer, Refusal> {
        let mut request = http::Request::builder().method(method).uri(url);
        for (name, value) in headers.iter().filter(|(name, _)| !is_hop(name)) {
            request = request.header(name, value);
        }
        let request = request
            .body(reqwest::Body::from(body))
            .map_err(|error| Refusal::Unreachable(format!("not a request: {error}")))?;
        let (parts, body) = self.send(request).await?.into_parts();
        let limit = usize::try_from(self.body_limit).unwrap_or(usize::MAX);
        let body = Limited::new(body, limit).collect().await.map_err(|error| {
            if error.is::<http_body_util::LengthLimitError>() {
                return Refusal::TooLarge;
            }
            error.downcast::<reqwest::Error>().map_or(Refusal::TimedOut, |error| failure(&error))
        })?;
        let headers = parts
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
        Ok((parts.status.as_u16(), headers.collect(), body.to_bytes().into()))
    }

    async fn send(
        &self,
        request: http::Request<reqwest::Body>,
    ) -> Result<http::Response<reqwest::Body>, Refusal> {
        let request = reqwest::Request::try_from(request)
            .map_err(|error| Refusal::Unreachable(format!("not a URL: {error}")))?;
        let reach = check(&self.rules, request.method().as_str(), request.url())?;
        let client = self.clients[reach as usize].get_or_init(|| self.client(reach)).as_ref();
        let client = client.map_err(|error| Refusal::Unreachable(error.clone()))?;
        client.execute(request).await.map(Into::into).map_err(|error| failure(&error))
    }

    fn client(&self, reach: Reach) -> Result<reqwest::Client, String> {
        reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(self.timeout)
            .dns_resolver(Arc::new(Resolver { reach, lookups: self.lookups.clone() }))
            .build()
            .map_err(|error| format!("cannot set up TLS: {error}"))
    }
}

/// Headers that belong to the connection or name its other end; the host writes them.
fn is_hop(name: &str) -> bool {
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

/// Whether the rules allow this request, and how far it may go: another rule for the same name counts for its own
/// requests only. The URL is judged as it was parsed, for that is what is connected to.
fn check(rules: &[HostRule], method: &str, url: &reqwest::Url) -> Result<Reach, Refusal> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let port = url.port_or_known_default().unwrap_or_default();
    let is_address = host.parse::<IpAddr>().is_ok();
    let reach = rules
        .iter()
        .filter(|rule| !is_address || rule.host.trim_matches(['[', ']']) == host)
        .filter(|rule| rule.covers(method, url.scheme(), if is_address { &rule.host } else { host }, port))
        .map(|rule| if rule.private { Reach::Private } else { Reach::Public })
        .max_by_key(|reach| *reach as usize);
    if let Some(reach) = reach {
        return Ok(reach);
    }
    let origin = url.origin().ascii_serialization();
    Err(Refusal::Denied(format!(
        "{method} to {origin} is not granted; its operator can allow it with `hosts = [\"{origin}\"]`"
    )))
}

fn failure(error: &reqwest::Error) -> Refusal {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    let mut last = String::new();
    while let Some(error) = cause {
        if let Some(inside) = error.downcast_ref::<Inside>() {
            return Refusal::Denied(inside.to_string());
        }
        last = error.to_string();
        cause = error.source();
    }
    if error.is_timeout() { Refusal::TimedOut } else { Refusal::Unreachable(last) }
}

/// Resolves names, and leaves out addresses inside this network unless the request may go there.
struct Resolver {
    reach: Reach,
    lookups: Arc<Lookups>,
}

#[derive(Debug, thiserror::Error)]
#[error(
    "`{name}` stands for {address}, an address inside this network; its operator can allow it with `private = true`"
)]
struct Inside {
    name: String,
    address: IpAddr,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let name = name.as_str().to_owned();
        let (private, lookups) = (self.reach == Reach::Private, self.lookups.clone());
        Box::pin(async move {
            let found = lookups.addresses(name.clone()).await?;
            let inside = found.iter().map(|found| found.ip()).find(|address| !address::is_public(*address));
            let usable: Vec<_> =
                found.into_iter().filter(|found| private || address::is_public(found.ip())).collect();
            match inside {
                Some(address) if usable.is_empty() => Err(Inside { name, address }.into()),
                _ => Ok(Box::new(usable.into_iter()) as Addrs),
            }
        })
    }
}

/// The same way out for wasi:http.
pub(super) struct Hooks {
    terms: Arc<Terms>,
    log: Log,
    trace: Option<Trace>,
}

impl Hooks {
    pub(super) fn new(terms: Arc<Terms>, log: Log, trace: Option<Trace>) -> Self {
        Self { terms, log, trace }
    }

    /// What is sent from now on belongs there.
    pub(super) fn belong_to(&mut self, trace: Option<Trace>) {
        self.trace = trace;
    }

    /// Says where in a trace the request belongs, unless the guest has said it.
    fn carry_on(&self, headers: &mut http::HeaderMap) {
        let trace = self.trace.as_ref().filter(|_| !headers.contains_key("traceparent"));
        for (name, value) in trace.into_iter().flat_map(Trace::headers) {
            if let Ok(value) = http::HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        }
    }
}

type Exchange = (http::Response<WasiBody>, Box<dyn Future<Output = Result<(), WasiError>> + Send>);

impl WasiHttpHooks for Hooks {
    fn set_host_header(&mut self) -> bool {
        false
    }

    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        _options: Option<RequestOptions>,
        _done: Box<dyn Future<Output = Result<(), WasiError>> + Send>,
    ) -> Box<dyn Future<Output = Result<Exchange, WasiError>> + Send> {
        let (outgoing, log) = (self.terms.outgoing.clone(), self.log.clone());
        let mut request = request;
        self.carry_on(request.headers_mut());
        Box::new(async move {
            let request = request.map(|body| reqwest::Body::wrap_stream(body.into_data_stream()));
            let response = outgoing.send(request).await.map_err(|refusal| to_wasi(refusal, &log))?;
            let limit = usize::try_from(outgoing.body_limit).unwrap_or(usize::MAX);
            let response = response.map(|body| {
                Limited::new(body, limit).map_err(|error| body_error(error.as_ref())).boxed_unsync()
            });
            let done: Box<dyn Future<Output = _> + Send> = Box::new(std::future::ready(Ok(())));
            Ok((response, done))
        })
    }
}

fn to_wasi(refusal: Refusal, log: &Log) -> WasiError {
    match refusal {
        Refusal::Denied(why) => {
            // wasi:http has no room for the reason; the provider's log has.
            log.line(Level::Info, &why);
            WasiError::HttpRequestDenied
        }
        Refusal::Unreachable(why) => WasiError::InternalError(Some(why)),
        Refusal::TimedOut => WasiError::ConnectionTimeout,
        Refusal::TooLarge => WasiError::HttpResponseBodySize(None),
    }
}

fn body_error(error: &(dyn std::error::Error + Send + Sync + 'static)) -> WasiError {
    if error.is::<http_body_util::LengthLimitError>() {
        return WasiError::HttpResponseBodySize(None);
    }
    WasiError::InternalError(Some(error.to_string()))
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
    fn an_address_is_allowed_only_where_it_is_named() {
        assert!(allows(rule("127.0.0.1", Some("http"), Some(8080)), "http://127.0.0.1:8080/x"));
        assert!(allows(rule("[::1]", Some("http"), None), "http://[::1]/"));
        assert!(!allows(rule("*.0.0.1", Some("http"), None), "http://127.0.0.1/"));
        assert!(!allows(rule("localhost", Some("http"), None), "http://127.0.0.1/"));
    }

    #[test]
    fn other_spellings_of_an_address_are_that_address() {
        for url in ["http://0x7f.1/", "http://2130706433/", "http://127.1/"] {
            assert!(allows(rule("127.0.0.1", Some("http"), None), url), "{url}");
            assert!(!allows(rule("0x7f.1", Some("http"), None), url), "{url}");
        }
    }

    #[test]
    fn a_private_rule_is_for_its_own_requests_only() {
        let private = HostRule { private: true, ..rule("*.example.com", Some("http"), Some(8080)) };
        let rules = [private, rule("api.example.com", None, None)];
        let reach = |url: &str| check(&rules, "GET", &reqwest::Url::parse(url).unwrap());
        assert_eq!(reach("http://api.example.com:8080/"), Ok(Reach::Private));
        assert_eq!(reach("https://api.example.com/"), Ok(Reach::Public));
        assert!(reach("https://other.example.com/").is_err());
        let both =
            [rule("a.example", None, None), HostRule { private: true, ..rule("a.example", None, None) }];
        assert_eq!(
            check(&both, "GET", &reqwest::Url::parse("https://a.example/").unwrap()),
            Ok(Reach::Private)
        );
    }

    #[test]
    fn a_user_in_the_url_does_not_name_the_host() {
        assert!(!allows(rule("api.example.com", None, None), "https://api.example.com@evil.net/"));
    }
}
