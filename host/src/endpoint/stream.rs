//! Server-sent events: frames on an open response. A body is asked for its next frame only when the last one is gone,
//! so a slow client holds nobody up; what changes meanwhile is told once.

use std::sync::Arc;

use http::header::{self, HeaderName, HeaderValue};

use futures_util::{Stream, StreamExt as _, stream};
use tokio_util::sync::CancellationToken;

use super::Endpoint;
use super::auth::Who;
use super::body::{Body, Response};
use super::dialect::Carried;
use super::http::Seat;
use super::listen::{Listening, notification};
use super::progress::{Exchange, Said};
use super::replay::{Heard, Place};
use super::session::Session;
use crate::catalog::Change;

/// How long a client that was cut off should wait before it comes back, in milliseconds.
const RETRY: u32 = 1_000;

/// A response of events.
pub(super) fn events(frames: impl Stream<Item = Vec<u8>> + Send + 'static) -> Response {
    let mut response = Response::new(Body::frames(frames));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // Proxies would wait for more before they pass on the first event.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

fn frame(messages: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    messages.into_iter().fold(vec![], |mut frames, message| {
        frames.extend_from_slice(b"event: message\ndata: ");
        frames.extend_from_slice(&message);
        frames.extend_from_slice(b"\n\n");
        frames
    })
}

/// An event that a client can name when it comes back.
fn named(id: &str, message: &[u8]) -> Vec<u8> {
    [b"event: message\nid: ", id.as_bytes(), b"\ndata: ", message, b"\n\n"].concat()
}

/// The rest of an exchange of which a report has come already. It ends with the credential of who asked.
pub(super) fn exchange(endpoint: Endpoint, first: Vec<u8>, exchange: Exchange, who: Arc<Who>) -> Response {
    let rest = stream::unfold((endpoint, exchange, who), |(endpoint, mut exchange, who)| async move {
        let bytes = tokio::select! {
            biased;
            () = endpoint.0.gate.ended(&who) => return None,
            said = exchange.next() => {
                let (Said::Report(bytes) | Said::Answer(bytes)) = said?;
                frame([bytes])
            }
            () = tokio::time::sleep(endpoint.0.config.keep_alive) => alive(),
        };
        Some((bytes, (endpoint, exchange, who)))
    });
    events(stream::once(async move { frame([first]) }).chain(rest))
}

fn alive() -> Vec<u8> {
    b":\n\n".to_vec()
}

/// A stream of the modern era: the acknowledgement, what changes, and the result when the house closes or the
/// listener's credential ends.
pub(super) fn listening(endpoint: Endpoint, listening: Listening, who: Arc<Who>, seat: Seat) -> Response {
    let first = frame([listening.acknowledgement()]);
    let state = Some((endpoint, listening, who, seat));
    let rest = stream::unfold(state, |state| async move {
        let (endpoint, listening, who, seat) = state?;
        let inner = &endpoint.0;
        let bytes = tokio::select! {
            biased;
            () = inner.drain.stopping() => return Some((frame([endpoint.closing(listening.id())]), None)),
            () = inner.gate.ended(&who) => return Some((frame([endpoint.closing(listening.id())]), None)),
            news = listening.next() => frame(news),
            () = tokio::time::sleep(inner.config.keep_alive) => alive(),
        };
        Some((bytes, Some((endpoint, listening, who, seat))))
    });
    events(stream::once(async move { first }).chain(rest))
}

/// The stream of a legacy session: what changes, until the session or the credential ends or a newer stream takes over.
pub(super) fn notifications(
    endpoint: Endpoint,
    session: Arc<Session>,
    who: Arc<Who>,
    seat: Seat,
    place: Place,
) -> Response {
    // It makes the response begin, so that the client knows that it is heard.
    let first = beginning(&session, || session.replay.told_id(place.number())).unwrap_or_else(alive);
    let carried = Carried::new(endpoint.clone(), session.watch.clone());
    let open = Open { token: session.begin_stream(), session, who, place, carried, _seat: seat };
    let first = stream::once(async { first });
    let rest = stream::unfold((endpoint, open), |(endpoint, mut open)| async move {
        let (token, who) = (open.token.clone(), open.who.clone());
        let bytes = tokio::select! {
            biased;
            () = token.cancelled() => return None,
            () = endpoint.0.drain.stopping() => return None,
            () = endpoint.0.gate.ended(&who) => return None,
            told = open.next() => told,
            () = tokio::time::sleep(endpoint.0.config.keep_alive) => alive(),
        };
        Some((bytes, (endpoint, open)))
    });
    events(first.chain(rest))
}

/// Where the stream begins, and when to come back once it broke.
fn beginning(session: &Session, id: impl FnOnce() -> String) -> Option<Vec<u8>> {
    let first = || format!("id: {}\nretry: {RETRY}\ndata:\n\n", id()).into_bytes();
    session.version.has_first_ids().then(first)
}

/// A legacy stream that is open, until the client or the house drops it.
struct Open {
    token: CancellationToken,
    session: Arc<Session>,
    who: Arc<Who>,
    place: Place,
    carried: Carried,
    _seat: Seat,
}

impl Open {
    /// Waits for what there is to tell. May be dropped and called again without loss.
    async fn next(&mut self) -> Vec<u8> {
        let Session { replay, watch, .. } = &*self.session;
        loop {
            tokio::select! {
                told = self.carried.next() => {
                    return named(&replay.told_id(self.carried.all_told(self.place.number())), &told);
                }
                news = replay.told().next(&mut self.place, &watch.watch) => {
                    let plain = self.carried.take(news);
                    if !plain.is_empty() {
                        return self.frames(&plain);
                    }
                }
            }
        }
    }

    /// What overtakes an update that is on its way has no name: who comes back with it would never hear of that one.
    fn frames(&self, news: &[(u64, Change)]) -> Vec<u8> {
        let all_told = self.carried.all_told(self.place.number());
        let frames = news.iter().map(|(number, change)| match notification(change, None) {
            told if *number <= all_told => named(&self.session.replay.told_id(*number), &told),
            told => frame([told]),
        });
        frames.collect::<Vec<_>>().concat()
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.session.end_stream(&self.token);
    }
}

/// The stream of a request in a legacy session, to its end or until the client hears it elsewhere.
pub(super) fn strand(
    endpoint: Endpoint,
    heard: Heard,
    session: Arc<Session>,
    who: Arc<Who>,
    seat: Option<Seat>,
) -> Response {
    let first = beginning(&session, || session.replay.strand_id(heard.strand(), heard.last()));
    let state = (endpoint, heard, session, who, seat);
    let rest = stream::unfold(state, |(endpoint, mut heard, session, who, seat)| async move {
        let bytes = tokio::select! {
            biased;
            () = endpoint.0.gate.ended(&who) => return None,
            said = heard.next() => {
                let (number, bytes) = said?;
                named(&session.replay.strand_id(heard.strand(), number), &bytes)
            }
            () = tokio::time::sleep(endpoint.0.config.keep_alive) => alive(),
        };
        Some((bytes, (endpoint, heard, session, who, seat)))
    });
    events(stream::iter(first).chain(rest))
}
