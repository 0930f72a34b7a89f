//! Server-sent events: frames on an open response. A body is asked for its next frame only when the last one is gone,
//! so a slow client holds nobody up; what changes meanwhile is told once.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::response::Response;
use futures_util::{Stream, StreamExt as _, stream};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::Endpoint;
use super::auth::Who;
use super::listen::{Listening, notification};
use super::progress::{Exchange, Said};
use super::session::Session;

/// A response of events.
pub(super) fn events(frames: impl Stream<Item = Vec<u8>> + Send + 'static) -> Response {
    let mut response = Response::new(Body::from_stream(frames.map(Ok::<_, Infallible>)));
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

/// The rest of an exchange of which a report has come already.
pub(super) fn exchange(first: Vec<u8>, exchange: Exchange, keep_alive: Duration) -> Response {
    let rest = stream::unfold(exchange, move |mut exchange| async move {
        let said = tokio::select! {
            said = exchange.next() => said?,
            () = tokio::time::sleep(keep_alive) => return Some((alive(), exchange)),
        };
        let (Said::Report(bytes) | Said::Answer(bytes)) = said;
        Some((frame([bytes]), exchange))
    });
    events(stream::once(async move { frame([first]) }).chain(rest))
}

fn alive() -> Vec<u8> {
    b":\n\n".to_vec()
}

/// A stream of the modern era: the acknowledgement, what changes, and the result when the house closes or the
/// listener's credential ends.
pub(super) fn listening(
    endpoint: Endpoint,
    listening: Listening,
    who: Arc<Who>,
    permit: OwnedSemaphorePermit,
) -> Response {
    let first = frame([listening.acknowledgement()]);
    let state = Some((endpoint, listening, who, permit));
    let rest = stream::unfold(state, |state| async move {
        let (endpoint, listening, who, permit) = state?;
        let inner = &endpoint.0;
        let bytes = tokio::select! {
            biased;
            () = inner.drain.stopping() => return Some((frame([endpoint.closing(listening.id())]), None)),
            () = inner.gate.ended(&who) => return Some((frame([endpoint.closing(listening.id())]), None)),
            news = listening.next() => frame(news),
            () = tokio::time::sleep(inner.config.keep_alive) => alive(),
        };
        Some((bytes, Some((endpoint, listening, who, permit))))
    });
    events(stream::once(async move { first }).chain(rest))
}

/// The stream of a legacy session: what changes, until the session or the credential ends or a newer stream takes over.
pub(super) fn notifications(
    endpoint: Endpoint,
    session: Arc<Session>,
    who: Arc<Who>,
    permit: OwnedSemaphorePermit,
) -> Response {
    let open = Open { token: session.begin_stream(), session, who, _permit: permit };
    // A first comment makes the response begin, so that the client knows that it is heard.
    let first = stream::once(async { alive() });
    let rest = stream::unfold((endpoint, open), |(endpoint, open)| async move {
        let bytes = tokio::select! {
            biased;
            () = open.token.cancelled() => return None,
            () = endpoint.0.drain.stopping() => return None,
            () = endpoint.0.gate.ended(&open.who) => return None,
            news = open.session.watch.next() => frame(news.iter().map(|change| notification(change, None))),
            () = tokio::time::sleep(endpoint.0.config.keep_alive) => alive(),
        };
        Some((bytes, (endpoint, open)))
    });
    events(first.chain(rest))
}

/// A legacy stream that is open, until the client or the house drops it.
struct Open {
    token: CancellationToken,
    session: Arc<Session>,
    who: Arc<Who>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.session.end_stream(&self.token);
    }
}
