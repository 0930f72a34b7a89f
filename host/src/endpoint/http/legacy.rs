//! HTTP with a handshake: sessions, their stream, and batches. A request lives on when its connection breaks, and ends
//! when its client cancels it.

use std::pin::pin;
use std::sync::Arc;

use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, StatusCode};

use futures_util::FutureExt as _;

use super::{accepts, empty, json, not_acceptable};
use crate::endpoint::Endpoint;
use crate::endpoint::answer::{Peer, error};
use crate::endpoint::auth::Who;
use crate::endpoint::body::Response;
use crate::endpoint::dialect::Ear;
use crate::endpoint::era::{Legacy, check_legacy_header, claims, speaks_modern};
use crate::endpoint::json::array;
use crate::endpoint::message::{Id, Message, Notification, Request};
use crate::endpoint::method::{Ask, Asking};
use crate::endpoint::progress::{Exchange, Said};
use crate::endpoint::refusal::{INTERNAL, REQUEST, Refusal};
use crate::endpoint::replay::{From, Place, Strand};
use crate::endpoint::session::Session;
use crate::endpoint::stream;

/// Requests of one session at the same time. They outlive their connections, so nothing else bounds them.
const MOST: usize = 64;

const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

impl Endpoint {
    pub(super) fn initialize(
        &self,
        headers: &HeaderMap,
        who: &Who,
        request: &Request<'_>,
    ) -> Result<Response, Refusal> {
        let version = Legacy::requested(request)?;
        let caller = who.caller.clone();
        let watch = self.0.gateway.watch(&caller);
        watch.list_changes(true);
        let handshake = self.handshake(request, Some(headers), version, &caller);
        let ear = Ear::new(watch, caller.clone());
        let session = self.0.sessions.open(version, caller, ear)?;
        let id = HeaderValue::from_str(&session.id)
            .map_err(|_| Refusal::new(INTERNAL, "no session can be opened"))?;
        let mut response = json(StatusCode::OK, handshake);
        response.headers_mut().insert(SESSION_HEADER, id);
        Ok(response)
    }

    fn session(&self, headers: &HeaderMap, who: &Who) -> Result<Arc<Session>, Refusal> {
        let id = headers.get(SESSION_HEADER).map(|id| id.to_str().unwrap_or_default());
        self.0.sessions.find(id, &who.caller)
    }

    pub(super) async fn in_session(
        &self,
        headers: &HeaderMap,
        who: &Arc<Who>,
        request: &Request<'_>,
    ) -> Result<Response, Refusal> {
        let session = self.session(headers, who)?;
        check_legacy_header(headers)?;
        let exchange = self.start(&session, who, request, headers)?;
        Ok(self.legacy_exchange(session, who, request.id.clone(), exchange).await)
    }

    /// JSON, unless a report comes before the answer: then a stream that the client may come back to.
    async fn legacy_exchange(
        &self,
        session: Arc<Session>,
        who: &Arc<Who>,
        id: Id,
        mut exchange: Exchange,
    ) -> Response {
        let report = match exchange.next().await {
            Some(Said::Answer(bytes)) => return json(StatusCode::OK, bytes),
            Some(Said::Report(bytes)) => bytes,
            // Cancelled: the client wants no answer, and a stream can end without one.
            None => return stream::events(futures_util::stream::empty()),
        };
        let strand = session.replay.open(id, who.caller.clone());
        strand.say(report);
        let heard = Strand::listen(&strand, 0);
        self.0.drain.spawn(async move {
            while let Some(said) = exchange.next().await {
                match said {
                    Said::Report(bytes) => strand.say(bytes),
                    Said::Answer(bytes) => strand.answer(bytes),
                }
            }
            strand.end();
        });
        match heard {
            Some(heard) => stream::strand(self.clone(), heard, session, who.clone(), None),
            None => stream::events(futures_util::stream::empty()),
        }
    }

    /// Sets a request going, in a task of its own.
    fn start(
        &self,
        session: &Arc<Session>,
        who: &Who,
        request: &Request<'_>,
        headers: &HeaderMap,
    ) -> Result<Exchange, Refusal> {
        let method = self.legacy_method(request)?;
        let asking = Asking::read(request, method, who.caller.clone())?;
        let Asking { id, ask, call, reports } = asking.traced_by(headers);
        if session.flights.len() >= MOST {
            return Err(Refusal::new(INTERNAL, "too many requests are under way: wait for some to end"));
        }
        let quick = matches!(ask, Ask::Ping);
        // As long as the work, which goes on when the connection breaks.
        let place = if quick { None } else { self.0.gateway.place(&who.caller).map_err(Refusal::used_up)? };
        let flight = session.flights.depart(&id).ok_or_else(Refusal::id_taken)?;
        let answer = self.clone().answer(id, ask, call, Peer::Legacy(session.watch.clone())).boxed();
        if quick {
            return Ok(Exchange::new(reports, answer.map(Some).boxed()));
        }
        let session = session.clone();
        let task = self.0.drain.spawn(async move {
            let answer = flight.until_cancelled(pin!(answer)).await;
            drop(place);
            session.touch();
            answer
        });
        Ok(Exchange::new(reports, task.map(|ended| ended.ok().flatten().flatten()).boxed()))
    }

    /// A notification or a response: nothing to say, unless it is for a session that is not there.
    pub(super) fn heard(
        &self,
        headers: &HeaderMap,
        who: &Who,
        notification: Option<&Notification<'_>>,
    ) -> Response {
        let modern = speaks_modern(headers) || notification.is_some_and(|n| claims(&n.params));
        if modern || !headers.contains_key(SESSION_HEADER) {
            return empty(StatusCode::ACCEPTED);
        }
        match self.session(headers, who).and_then(|session| check_legacy_header(headers).map(|()| session)) {
            Err(refusal) => super::refused(None, &refusal),
            Ok(session) => {
                note(&session, notification);
                empty(StatusCode::ACCEPTED)
            }
        }
    }

    /// All messages of a batch, and their answers in one array.
    pub(super) async fn batch(
        &self,
        headers: &HeaderMap,
        who: &Who,
        batch: Vec<Message<'_>>,
    ) -> Result<Response, Refusal> {
        let modern = batch.iter().any(|message| match message {
            Message::Request(request) => claims(&request.params),
            Message::Notification(notification) => claims(&notification.params),
            Message::Response | Message::Malformed { .. } => false,
        });
        if modern || speaks_modern(headers) {
            return Err(Refusal::early(REQUEST, "this version of the protocol has no batches"));
        }
        let session = self.session(headers, who)?;
        check_legacy_header(headers)?;
        if !session.version.has_batches() {
            return Err(Refusal::early(REQUEST, "the session's version of the protocol has no batches"));
        }
        let mut answers = vec![];
        // The first one is let in with the batch.
        let mut let_in = true;
        for message in batch {
            answers.extend(self.of_batch(&session, who, (headers, let_in), message).await);
            let_in = false;
        }
        Ok(match answers.is_empty() {
            true => empty(StatusCode::ACCEPTED),
            false => json(StatusCode::OK, array(&answers)),
        })
    }

    async fn of_batch(
        &self,
        session: &Arc<Session>,
        who: &Who,
        (headers, let_in): (&HeaderMap, bool),
        message: Message<'_>,
    ) -> Option<Vec<u8>> {
        let request = match message {
            Message::Request(request) => request,
            Message::Malformed { id, refusal } => return Some(error(id.as_ref(), &refusal)),
            Message::Notification(notification) => {
                note(session, Some(&notification));
                return None;
            }
            Message::Response => return None,
        };
        let admitted = if let_in { Ok(()) } else { self.0.gateway.admit(&who.caller) };
        let started =
            admitted.map_err(Refusal::used_up).and_then(|()| self.start(session, who, &request, headers));
        let mut exchange = match started {
            Ok(exchange) => exchange,
            Err(refusal) => {
                self.count_unknown(&request, &refusal);
                return Some(error(Some(&request.id), &refusal));
            }
        };
        loop {
            // An array has no place for reports.
            if let Said::Answer(bytes) = exchange.next().await? {
                return Some(bytes);
            }
        }
    }

    pub(super) fn open_stream(&self, headers: &HeaderMap, who: &Arc<Who>) -> Result<Response, Refusal> {
        let session = self.session(headers, who)?;
        check_legacy_header(headers)?;
        if !accepts(headers, &["text/event-stream", "text/*"]) {
            return Err(not_acceptable("text/event-stream"));
        }
        // First of all, so that nobody's stream ends for one that does not begin.
        let seat = self.seat(who)?;
        let from = match last_event(headers) {
            Some(last) => session.replay.find(last, &who.caller)?,
            None => From::Notifications(anew(&session)),
        };
        Ok(match from {
            From::Notifications(place) => {
                stream::notifications(self.clone(), session, who.clone(), seat, place)
            }
            // How servers of events tell a client to stop coming back.
            From::Strand(heard) if heard.is_done() => empty(StatusCode::NO_CONTENT),
            From::Strand(heard) => stream::strand(self.clone(), heard, session, who.clone(), Some(seat)),
        })
    }

    pub(super) fn end_session(&self, headers: &HeaderMap, who: &Who) -> Result<Response, Refusal> {
        let session = self.session(headers, who)?;
        check_legacy_header(headers)?;
        self.0.sessions.end(&session);
        Ok(empty(StatusCode::NO_CONTENT))
    }
}

/// Where somebody begins who does not say what he got. Of what was told before, nobody knows whether it arrived.
fn anew(session: &Session) -> Place {
    let now = session.replay.told().now();
    if now != Place::default() {
        session.watch.watch.in_doubt();
    }
    now
}

/// The last event that the client got; an empty one is none, as for every reader of such streams.
fn last_event(headers: &HeaderMap) -> Option<&str> {
    let last = headers.get("last-event-id")?.to_str().unwrap_or("?");
    (!last.is_empty()).then_some(last)
}

fn note(session: &Session, notification: Option<&Notification<'_>>) {
    if let Some(notification) =
        notification.filter(|notification| notification.method == "notifications/cancelled")
    {
        session.flights.cancel(&notification.params);
    }
}
