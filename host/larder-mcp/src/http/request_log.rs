//! The request log. Depending on the configuration, it has the refused requests or all requests. Repeated refusals are
//! counted, and reported together.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwap;
use http::request::Parts;
use http::{HeaderValue, StatusCode};

use super::body::Response;
use crate::Endpoint;
use crate::auth::Identity;
use crate::settings::Settings;
use larder_core::audit::AuditEvent;
use larder_core::gateway::Gateway;
use larder_model::name::TeamName;
use larder_model::resource::RequestDetails;
use larder_runtime::drain::Drain;
use larder_runtime::history::{Event, EventKind, EventLog};
use larder_runtime::listener::ClientAddress;
use larder_runtime::log_limit::{Repeats, Suppressor};
use larder_runtime::metrics::Refusal;

/// Maximum length of a method in bytes. A client may send any text as the method.
const MAX_METHOD: usize = 100;

/// Which requests are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestLogMode {
    /// None.
    Off,
    /// Only refused requests.
    Errors,
    /// All requests.
    All,
}

/// Decides which requests have lines of their own.
pub(crate) struct RequestLog {
    refusals: Suppressor<RefusalKind>,
}

/// Repeated refusals are logged as one summary for each kind and team, so that the refusals of one team do not hide the
/// refusals of another team.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct RefusalKind {
    refusal: Refusal,
    /// The first team of the caller.
    team: Option<TeamName>,
}

/// A request and the known properties of its sender.
pub(crate) struct RequestSource {
    pub(crate) client: Option<ClientAddress>,
    /// The address of the client, behind trusted proxies.
    pub(crate) peer: Option<IpAddr>,
    /// The origin of the web page that sent the request, if the origin is allowed.
    pub(crate) origin: Option<HeaderValue>,
    pub(crate) identity: Option<Arc<Identity>>,
    /// The data that are collected for the log, and when the request began; none if only errors are logged.
    pub(crate) details: Option<(Arc<RequestDetails>, Instant)>,
}

impl RequestLog {
    pub(crate) fn new(
        settings: Arc<ArcSwap<Settings>>,
        gateway: Gateway,
        events: EventLog,
        drain: &Drain,
    ) -> Self {
        let refusals = Suppressor::new(drain, move |kind: &RefusalKind, repeats: &Repeats| {
            report_repeats(settings.load().request_log, &gateway, kind, repeats);
            let text = format!(
                "{} more requests were refused: {}",
                repeats.times,
                kind.refusal.label()
            );
            let event = Event::new(EventKind::Refusal, text).with("reason", kind.refusal.label());
            let event = event.with("peer", &*repeats.last);
            events.record(Event {
                team: kind.team.clone(),
                ..event
            });
        });
        Self { refusals }
    }
}

/// Reports refused requests that have no lines of their own.
fn report_repeats(mode: RequestLogMode, gateway: &Gateway, kind: &RefusalKind, repeats: &Repeats) {
    let reason = kind.refusal.label();
    let more = repeats.times;
    let last = &repeats.last;
    let team = kind.team.as_ref().and_then(TeamName::non_default);
    if mode != RequestLogMode::Off {
        tracing::info!(target: "larder::request", reason, team, more, last_peer = last, "more requests were refused");
    }
    if kind.refusal.is_denial() {
        gateway.record_event(&AuditEvent {
            more: Some(more),
            team,
            ..AuditEvent::new("request", reason)
        });
    }
}

impl RequestSource {
    /// Whether the request came through a Unix socket.
    pub(super) fn is_unix(&self) -> bool {
        self.client.is_some_and(ClientAddress::is_unix)
    }

    fn subject(&self) -> Option<&str> {
        self.identity.as_ref()?.caller.subject.as_deref()
    }

    /// The first team of the caller, which pays for its requests.
    fn first_team(&self) -> Option<&TeamName> {
        self.identity.as_ref()?.caller.teams.first()
    }

    fn issuer(&self) -> Option<&str> {
        self.identity.as_ref()?.caller.issuer.as_deref()
    }
}

impl fmt::Display for RequestSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.peer, self.client) {
            (Some(peer), _) => peer.fmt(f),
            (None, Some(client)) => client.fmt(f),
            (None, None) => f.write_str("this process"),
        }
    }
}

impl Endpoint {
    /// Begins the log of a request. This has no cost unless all requests are logged.
    pub(super) fn begin_request(
        &self,
        client: Option<ClientAddress>,
        head: &Parts,
    ) -> RequestSource {
        let settings = self.0.settings.load();
        let peer = match client {
            Some(client) => settings.trusted_proxies.client(client.ip(), &head.headers),
            None => None,
        };
        let is_logged = settings.request_log == RequestLogMode::All;
        RequestSource {
            client,
            peer,
            origin: None,
            identity: None,
            details: is_logged.then(|| (Arc::default(), Instant::now())),
        }
    }

    /// Ends the log of a request.
    pub(super) fn end_request(&self, source: &RequestSource, head: &Parts, response: &Response) {
        let status = response.status();
        self.count_request(source, response);
        if status.is_client_error() || status.is_server_error() {
            let refusal = response
                .extensions()
                .get()
                .copied()
                .unwrap_or_else(|| refusal_of(status));
            self.report_refusal(refusal, status, source, Some((head, response)));
        } else if let Some((details, began)) = &source.details {
            let provider = details.provider.get().map(tracing::field::display);
            tracing::info!(
                target: "larder::request",
                peer = %source,
                method = method(source, head),
                provider,
                status = status.as_u16(),
                subject = source.subject(),
                issuer = source.issuer(),
                bytes = bytes(response),
                ms = milliseconds(*began),
                "request"
            );
        }
    }

    /// Reports a connection that was refused before it sent a request.
    pub(super) fn report_refused_connection(&self, client: ClientAddress) {
        let source = RequestSource {
            client: Some(client),
            peer: client.ip().map(|peer| peer.to_canonical()),
            origin: None,
            identity: None,
            details: None,
        };
        self.report_refusal(
            Refusal::Connections,
            StatusCode::SERVICE_UNAVAILABLE,
            &source,
            None,
        );
    }

    fn report_refusal(
        &self,
        refusal: Refusal,
        status: StatusCode,
        source: &RequestSource,
        exchange: Option<(&Parts, &Response)>,
    ) {
        self.0.metrics.server().refused.inc(refusal);
        let kind = RefusalKind {
            refusal,
            team: source.first_team().cloned(),
        };
        if self
            .0
            .request_log
            .refusals
            .is_first(kind, &source.to_string())
        {
            self.log_refusal(refusal, status, source, exchange);
            self.audit_refusal(refusal, status, source);
            self.record_refusal(refusal, status, source);
        }
    }

    /// Counts a request of an authenticated caller. The counters of the caller are looked up once for each credential.
    fn count_request(&self, source: &RequestSource, response: &Response) {
        let Some(identity) = &source.identity else {
            return;
        };
        let volume = identity
            .volume
            .get_or_init(|| self.0.metrics.callers().of(&identity.caller));
        volume.record(bytes(response).unwrap_or_default());
    }

    fn record_refusal(&self, refusal: Refusal, status: StatusCode, source: &RequestSource) {
        let event = Event::new(
            EventKind::Refusal,
            format!("a request was refused: {}", refusal.label()),
        );
        let event = event
            .with("reason", refusal.label())
            .with("status", status.as_str());
        let event = event.with("subject", source.subject().unwrap_or_default());
        let event = event.with("peer", source.to_string());
        self.0.metrics.events().record(Event {
            team: source.first_team().cloned(),
            ..event
        });
    }

    fn log_refusal(
        &self,
        refusal: Refusal,
        status: StatusCode,
        source: &RequestSource,
        exchange: Option<(&Parts, &Response)>,
    ) {
        if self.0.settings.load().request_log == RequestLogMode::Off {
            return;
        }
        let details = source.details.as_ref();
        tracing::info!(
            target: "larder::request",
            reason = refusal.label(),
            peer = %source,
            method = exchange.map(|(head, _)| method(source, head)),
            provider = details.and_then(|(details, _)| details.provider.get()).map(tracing::field::display),
            status = status.as_u16(),
            subject = source.subject(),
            issuer = source.issuer(),
            bytes = exchange.and_then(|(_, response)| bytes(response)),
            ms = details.map(|(_, began)| milliseconds(*began)),
            "request refused"
        );
    }

    fn audit_refusal(&self, refusal: Refusal, status: StatusCode, source: &RequestSource) {
        if refusal.is_denial() {
            self.0.gateway.record_event(&AuditEvent {
                subject: source.subject(),
                issuer: source.issuer(),
                token: source
                    .identity
                    .as_ref()
                    .and_then(|identity| identity.token.as_deref()),
                peer: source.peer,
                team: source.first_team().and_then(TeamName::non_default),
                status: Some(status.as_u16()),
                ..AuditEvent::new("request", refusal.label())
            });
        }
    }
}

/// The method of the protocol if it is known, otherwise the method of HTTP.
fn method<'a>(source: &'a RequestSource, head: &'a Parts) -> &'a str {
    let known = source
        .details
        .as_ref()
        .and_then(|(details, _)| details.method.get());
    let method = known.map_or(head.method.as_str(), String::as_str);
    &method[..method.floor_char_boundary(MAX_METHOD)]
}

/// The reason of the refusal, if the response does not name it.
fn refusal_of(status: StatusCode) -> Refusal {
    match status {
        StatusCode::UNAUTHORIZED => Refusal::CredentialInvalid,
        StatusCode::TOO_MANY_REQUESTS => Refusal::Quota,
        StatusCode::SERVICE_UNAVAILABLE => Refusal::Overloaded,
        _ => Refusal::Invalid,
    }
}

/// The size of a response; none for a stream.
fn bytes(response: &Response) -> Option<u64> {
    http_body::Body::size_hint(response.body()).exact()
}

fn milliseconds(began: Instant) -> f64 {
    began.elapsed().as_micros() as f64 / 1e3
}
