//! Streamable HTTP: one path, both eras. The order of what is checked is the protocol's.

mod legacy;

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::header::{self, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Method as Verb, Request, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use tokio::sync::OwnedSemaphorePermit;

use super::Endpoint;
use super::answer::{Peer, error};
use super::auth::{Denied, METADATA, Who};
use super::body::{Body, Response};
use super::door;
use super::era::{Era, classify, speaks_modern};
use super::json::object;
use super::listen::{Filter, Listening};
use super::message::{self, Id, Incoming, Message, Request as Question};
use super::method::{self, Asking};
use super::progress::{Exchange, Said};
use super::refusal::{INTERNAL, REQUEST, Refusal};
use super::stream;
use crate::patience;

/// How long a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);

/// Answers up to here may wait without being counted: there is at most one for each connection.
const SMALL: usize = 64 << 10;
/// Bytes that are counted as one.
const UNIT: usize = 1 << 10;

/// Where the endpoint is.
const PATH: &str = "/mcp";
/// Where machines look for what they need to know of a host.
const WELL_KNOWN: &str = "/.well-known/";

/// What a request's body may be.
pub trait Asked: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send {}

impl<B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send> Asked for B {}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Endpoint {
    /// The response to one request, from wherever it came.
    pub async fn respond(&self, request: Request<impl Asked>) -> http::Response<Body> {
        let (head, body) = request.into_parts();
        match head.uri.path() {
            PATH => self.respond_here(&head, body).await,
            path => match path.strip_prefix(WELL_KNOWN).and_then(|rest| rest.strip_prefix(METADATA)) {
                Some(below) if below.is_empty() || below.starts_with('/') => self.about_tokens(&head, below),
                _ => self.elsewhere(&head),
            },
        }
    }

    async fn respond_here(&self, head: &Parts, body: impl Asked) -> Response {
        let origin = match self.0.door.admit(head) {
            Ok(origin) => origin,
            Err(refusal) => return refused(None, &refusal),
        };
        let mut response = match head.method {
            Verb::OPTIONS => preflight(),
            Verb::GET | Verb::DELETE if speaks_modern(&head.headers) => not_allowed("POST, OPTIONS"),
            Verb::GET | Verb::POST | Verb::DELETE => match self.0.gate.admit(head).await {
                Ok(who) => self.serve(head, &who, body).await,
                Err(denied) => self.denied(&denied),
            },
            _ => not_allowed("GET, POST, DELETE, OPTIONS"),
        };
        if response.body().waiting() > SMALL {
            response = self.held(response);
        }
        if let Some(origin) = origin {
            door::allow_origin(response.headers_mut(), origin);
        }
        response
    }

    /// A large answer waits for its reader only as long as there is room: a few slow readers must not fill the memory.
    fn held(&self, response: Response) -> Response {
        let waiting = u32::try_from(response.body().waiting() / UNIT).unwrap_or(u32::MAX);
        // One that is larger than all the room there is has to wait until nobody else does.
        let most = u32::try_from(self.0.config.waiting_bytes / UNIT).unwrap_or(u32::MAX).max(1);
        match self.0.waiting.clone().try_acquire_many_owned(waiting.min(most)) {
            Ok(place) => response.map(|body| body.holding(place)),
            Err(_) => refused(None, &Refusal::overloaded("too many large answers wait for slow readers")),
        }
    }

    /// Who hands out tokens for this endpoint. A client asks before it has one, from whatever page it runs on.
    fn about_tokens(&self, head: &Parts, below: &str) -> Response {
        if let Err(refusal) = self.0.door.is_called_by_name(head) {
            return refused(None, &refusal);
        }
        let metadata = self.0.gate.metadata(self.0.config.title.as_deref());
        let mut response = match (&head.method, metadata) {
            (&Verb::OPTIONS, _) => preflight(),
            (&Verb::GET | &Verb::HEAD, Some((document, path))) if ["", PATH, &path].contains(&below) => {
                json(StatusCode::OK, document)
            }
            (&Verb::GET | &Verb::HEAD, _) => nothing_here(),
            _ => not_allowed("GET, OPTIONS"),
        };
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        response
    }

    fn elsewhere(&self, head: &Parts) -> Response {
        match self.0.door.admit(head) {
            Ok(_) => nothing_here(),
            Err(refusal) => refused(None, &refusal),
        }
    }
}

fn nothing_here() -> Response {
    let body = object(|o| {
        o.text("error", "there is nothing at this path");
        o.text("endpoint", PATH);
    });
    json(StatusCode::NOT_FOUND, body)
}

impl Endpoint {
    async fn serve(&self, head: &Parts, who: &Arc<Who>, body: impl Asked) -> Response {
        // Before anything else is looked at: what is refused costs next to nothing.
        if let Err(used_up) = self.0.gateway.admit(&who.caller) {
            return refused(None, &Refusal::used_up(used_up));
        }
        let headers = &head.headers;
        let answer = match head.method {
            Verb::GET => self.open_stream(headers, who),
            Verb::DELETE => self.end_session(headers, who),
            _ => Ok(self.post(headers, who, body).await),
        };
        answer.unwrap_or_else(|refusal| refused(None, &refusal))
    }

    fn denied(&self, denied: &Denied) -> Response {
        tracing::debug!(?denied, "somebody may not ask");
        let mut response = refused(None, &denied.refusal());
        self.0.gate.challenge(denied, response.headers_mut());
        response
    }

    async fn post(&self, headers: &HeaderMap, who: &Arc<Who>, body: impl Asked) -> Response {
        let bytes = match self.body(headers, body).await {
            Ok(bytes) => bytes,
            Err(refusal) => return refused(None, &refusal),
        };
        match message::read(&bytes) {
            Err(refusal) => refused(None, &refusal),
            Ok(Incoming::One(message)) => self.one(headers, who, message).await,
            Ok(Incoming::Batch(batch)) => {
                self.batch(headers, who, batch).await.unwrap_or_else(|refusal| refused(None, &refusal))
            }
        }
    }

    async fn body(&self, headers: &HeaderMap, body: impl Asked) -> Result<Bytes, Refusal> {
        check_accept(headers)?;
        check_content_type(headers)?;
        let limit = self.0.config.body_limit;
        let too_large = || {
            let why = format!("the body has more than {limit} bytes");
            Refusal::new(REQUEST, why).with_status(StatusCode::PAYLOAD_TOO_LARGE)
        };
        let announced =
            headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if announced.is_some_and(|length| length > limit as u64) {
            return Err(too_large());
        }
        let until = || Instant::now() + BODY_TIME;
        match patience::until(until, whole(Limited::new(body, limit))).await {
            Some(Ok(whole)) => Ok(whole),
            Some(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
            Some(Err(_)) => Err(Refusal::early(REQUEST, "the body ended early")),
            None => {
                Err(Refusal::new(REQUEST, "the body took too long").with_status(StatusCode::REQUEST_TIMEOUT))
            }
        }
    }

    async fn one(&self, headers: &HeaderMap, who: &Arc<Who>, message: Message<'_>) -> Response {
        match message {
            Message::Malformed { id, refusal } => refused(id.as_ref(), &refusal),
            Message::Response => self.heard(headers, who, None),
            Message::Notification(notification) => self.heard(headers, who, Some(&notification)),
            Message::Request(request) => match self.request(headers, who, &request).await {
                Ok(response) => response,
                Err(refusal) => {
                    self.count_unknown(&request, &refusal);
                    tracing::debug!(code = refusal.code, message = %refusal.message, "a request was refused");
                    refused(Some(&request.id), &refusal)
                }
            },
        }
    }

    async fn request(
        &self,
        headers: &HeaderMap,
        who: &Arc<Who>,
        request: &Question<'_>,
    ) -> Result<Response, Refusal> {
        match classify(request, Some(headers))? {
            Era::Modern(method) => {
                let unknown = |refusal: Refusal| refusal.with_status(StatusCode::NOT_FOUND);
                let method = self.spoken(method, request).map_err(unknown)?;
                let asking = Asking::read(request, method, who.caller.clone())?.traced_by(headers);
                self.modern(asking, who).await
            }
            Era::Listen => self.listen(headers, who, request).await,
            Era::Initialize => self.initialize(headers, who, request),
            Era::Legacy => self.in_session(headers, who, request).await,
        }
    }

    /// The call runs in the connection's own future: when the client goes away, the guest is dropped with it.
    async fn modern(&self, asking: Asking, who: &Arc<Who>) -> Result<Response, Refusal> {
        let Asking { id, ask, call, reports } = asking;
        let wanted = reports.are_wanted();
        let place = self.0.gateway.place(&who.caller).map_err(Refusal::used_up)?;
        let answer = self.clone().answer(id, ask, call, Peer::Modern);
        if !wanted {
            let answer = json(StatusCode::OK, answer.await);
            drop(place);
            return Ok(answer);
        }
        let answer = async move {
            let _place = place;
            Some(answer.await)
        };
        Ok(self.exchange(Exchange::new(reports, answer.boxed()), who).await)
    }

    /// JSON, unless a report comes before the answer.
    async fn exchange(&self, mut exchange: Exchange, who: &Arc<Who>) -> Response {
        match exchange.next().await {
            Some(Said::Answer(bytes)) => json(StatusCode::OK, bytes),
            Some(Said::Report(bytes)) => stream::exchange(self.clone(), bytes, exchange, who.clone()),
            // Cancelled: the client wants no answer, and a stream can end without one.
            None => stream::events(futures_util::stream::empty()),
        }
    }

    async fn listen(
        &self,
        headers: &HeaderMap,
        who: &Arc<Who>,
        request: &Question<'_>,
    ) -> Result<Response, Refusal> {
        let filter = Filter::read(&request.params)?;
        if !accepts(headers, &["text/event-stream", "text/*"]) {
            return Err(not_acceptable("text/event-stream"));
        }
        let seat = self.seat(who)?;
        let mut call = method::call(&request.params, who.caller.clone())?;
        method::trace(&mut call, headers);
        let listening = Listening::begin(self, request.id.clone(), filter, call).await;
        Ok(stream::listening(self.clone(), listening, who.clone(), seat))
    }

    /// A place among those who listen: one of the caller's team, and one of the house.
    fn seat(&self, who: &Who) -> Result<Seat, Refusal> {
        let team = self.0.gateway.seat(&who.caller).map_err(Refusal::used_up)?;
        let house = self.0.streams.clone().try_acquire_owned().map_err(|_| {
            Refusal::new(INTERNAL, "too many clients are listening: try again later")
                .with_status(StatusCode::SERVICE_UNAVAILABLE)
        })?;
        Ok(Seat { _house: house, _team: team })
    }
}

/// Free again when it is dropped.
pub(super) struct Seat {
    _house: OwnedSemaphorePermit,
    _team: Option<OwnedSemaphorePermit>,
}

/// Most bodies come in one piece, which is taken as it is.
async fn whole<B: http_body::Body<Data = Bytes>>(body: B) -> Result<Bytes, B::Error> {
    let mut body = pin!(body);
    let first = match body.frame().await {
        None => return Ok(Bytes::new()),
        Some(frame) => frame?.into_data().unwrap_or_default(),
    };
    if body.is_end_stream() {
        return Ok(first);
    }
    let rest = body.collect().await?.to_bytes();
    Ok(if rest.is_empty() { first } else { [first, rest].concat().into() })
}

fn check_accept(headers: &HeaderMap) -> Result<(), Refusal> {
    if accepts(headers, &["application/json", "application/*"]) {
        return Ok(());
    }
    Err(not_acceptable("application/json, text/event-stream"))
}

/// A client that says nothing accepts everything.
fn accepts(headers: &HeaderMap, types: &[&str]) -> bool {
    let mut values = headers.get_all(header::ACCEPT).iter().peekable();
    if values.peek().is_none() {
        return true;
    }
    values.flat_map(|value| pieces(value.as_bytes(), b',')).any(|range| {
        let mut parts = pieces(range, b';');
        let kind = parts.next().unwrap_or_default();
        let is_wanted =
            kind == b"*/*" || types.iter().any(|wanted| kind.eq_ignore_ascii_case(wanted.as_bytes()));
        is_wanted && !parts.any(is_nothing)
    })
}

/// Whether a parameter says that what it is about is not wanted at all.
fn is_nothing(parameter: &[u8]) -> bool {
    let weight = parameter.strip_prefix(b"q=").and_then(|weight| std::str::from_utf8(weight).ok());
    weight.and_then(|weight| weight.parse::<f32>().ok()).is_some_and(|weight| weight <= 0.0)
}

/// What stands between such bytes, without the spaces around it.
fn pieces(value: &[u8], between: u8) -> impl Iterator<Item = &[u8]> {
    value.split(move |byte| *byte == between).map(<[u8]>::trim_ascii)
}

/// Other types are what a form on anyone's page can send without asking.
fn check_content_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| pieces(value.as_bytes(), b';').next());
    if kind.is_some_and(|kind| kind.eq_ignore_ascii_case(b"application/json")) {
        return Ok(());
    }
    let why = "the content type must be application/json";
    Err(Refusal::new(REQUEST, why).with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE))
}

fn not_acceptable(wanted: &str) -> Refusal {
    let why = format!("the client must accept {wanted}");
    Refusal::new(REQUEST, why).with_status(StatusCode::NOT_ACCEPTABLE)
}

fn json(status: StatusCode, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn refused(id: Option<&Id>, refusal: &Refusal) -> Response {
    let mut response = json(refusal.status, error(id, refusal));
    if let Some(seconds) = refusal.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

fn preflight() -> Response {
    let mut response = empty(StatusCode::NO_CONTENT);
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, POST, DELETE, OPTIONS"));
    door::allow_request(response.headers_mut());
    response
}

fn not_allowed(allowed: &'static str) -> Response {
    let refusal = Refusal::new(REQUEST, format!("the method is not allowed here: use {allowed}"));
    let mut response = refused(None, &refusal.with_status(StatusCode::METHOD_NOT_ALLOWED));
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}

#[cfg(test)]
mod tests;
