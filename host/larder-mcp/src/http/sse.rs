//! Server-sent events. A response body is polled for its next frame only when the previous frame is sent, so a slow
//! client does not delay other clients. Repeated changes in the meantime are sent once.

use std::sync::Arc;

use http::header::{self, HeaderName, HeaderValue};

use futures_util::{Stream, StreamExt as _, stream};
use tokio_util::sync::CancellationToken;

use super::body::{Body, Response, StreamFrame};
use super::restart_delay;
use crate::Endpoint;
use crate::auth::Identity;
use crate::client_side::call_stream::{CallStream, StreamItem};
use crate::outgoing::waiting_bytes::{ChargedResponse, FREE_BYTES, SharedResponse};
use crate::protocol::modern::ListenStream;
use crate::protocol::{NotificationMessage, Notifications};
use crate::session::Session;
use crate::subscribe::replay::{LogPosition, StreamReader};
use crate::subscribe::stream_permit::StreamPermit;

/// How long a disconnected client should wait before it reconnects, in milliseconds.
const RECONNECT_DELAY_MS: u32 = 1_000;

/// Returns an event-stream response.
pub(super) fn events(frames: impl Stream<Item = StreamFrame> + Send + 'static) -> Response {
    let mut response = Response::new(Body::frames(frames));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("no-cache, no-transform"),
    );
    // Without this header nginx buffers the events.
    headers.insert(
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    response
}

fn message_events(messages: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    messages.into_iter().fold(vec![], |mut frames, message| {
        frames.extend_from_slice(b"event: message\ndata: ");
        frames.extend_from_slice(&message);
        frames.extend_from_slice(b"\n\n");
        frames
    })
}

/// An event with an id, from which a client can resume.
fn event_with_id(id: &str, message: &[u8]) -> Vec<u8> {
    [
        b"event: message\nid: ",
        id.as_bytes(),
        b"\ndata: ",
        message,
        b"\n\n",
    ]
    .concat()
}

/// The end of an event. The message before it is sent without a copy.
const END: &[u8] = b"\n\n";

/// The event of a response. A large response is not copied.
fn response_event(response: ChargedResponse) -> StreamFrame {
    if response.is_large() {
        StreamFrame::Large(b"event: message\ndata: ".to_vec(), response.into(), END)
    } else {
        StreamFrame::Small(message_events([response.bytes]))
    }
}

/// An event with an id, whose message is shared with the session.
fn shared_event(id: &str, message: SharedResponse) -> StreamFrame {
    match message {
        SharedResponse::Bytes(bytes) if bytes.len() <= FREE_BYTES => {
            StreamFrame::Small(event_with_id(id, &bytes))
        }
        large => StreamFrame::Large(
            format!("event: message\nid: {id}\ndata: ").into(),
            large.into(),
            END,
        ),
    }
}

/// Streams a call. `first` is its first progress notification. The stream ends when the caller's credential is no
/// longer valid.
pub(super) fn call(
    endpoint: Endpoint,
    first: Vec<u8>,
    call: CallStream,
    identity: Arc<Identity>,
) -> Response {
    let rest = stream::unfold(
        (endpoint, call, identity),
        |(endpoint, mut call, identity)| async move {
            let frame = tokio::select! {
                biased;
                () = endpoint.0.authenticator.invalidated(&identity) => return None,
                item = call.next() => match item? {
                    StreamItem::Message(bytes) | StreamItem::Question(bytes) => StreamFrame::Small(message_events([bytes])),
                    StreamItem::Response(response) => response_event(response),
                },
                () = tokio::time::sleep(endpoint.0.settings.load().keep_alive) => StreamFrame::Small(keep_alive_comment()),
            };
            Some((frame, (endpoint, call, identity)))
        },
    );
    events(stream::once(async move { StreamFrame::Small(message_events([first])) }).chain(rest))
}

fn keep_alive_comment() -> Vec<u8> {
    b":\n\n".to_vec()
}

/// Streams the messages of `subscriptions/listen`, until the server stops or the caller's credential is no
/// longer valid.
pub(super) fn listen(
    endpoint: Endpoint,
    listen_stream: ListenStream,
    identity: Arc<Identity>,
) -> Response {
    let state = (endpoint, listen_stream, identity);
    events(stream::unfold(
        state,
        |(endpoint, mut listen_stream, identity)| async move {
            let bytes = tokio::select! {
                biased;
                messages = listen_stream.next(endpoint.0.authenticator.invalidated(&identity)) => {
                    let events = message_events(messages?);
                    let ends = listen_stream.ends_with_the_server();
                    if ends { with_restart_delay(&events) } else { events }
                }
                () = tokio::time::sleep(endpoint.0.settings.load().keep_alive) => keep_alive_comment(),
            };
            Some((
                StreamFrame::Small(bytes),
                (endpoint, listen_stream, identity),
            ))
        },
    ))
}

/// Adds the delay before a reconnection to the first of these events. A separate event for the delay would have no
/// data, and some clients do not handle such an event.
fn with_restart_delay(events: &[u8]) -> Vec<u8> {
    [
        format!("retry: {}\n", restart_delay::of_modern_client()).as_bytes(),
        events,
    ]
    .concat()
}

/// Streams the notifications of a legacy session, until the session ends, the credential ends, or a newer stream
/// replaces this stream.
pub(super) fn notifications(
    endpoint: Endpoint,
    session: Arc<Session>,
    identity: Arc<Identity>,
    permit: StreamPermit,
    position: LogPosition,
) -> Response {
    // The first frame makes hyper send the response head, which tells the client that the stream is open.
    let first = priming_event(&session, || {
        session.replay.notification_event_id(position.number())
    })
    .unwrap_or_else(keep_alive_comment);
    let notifications = Notifications::new(&endpoint, &session.client, position);
    let stream_state = NotificationStream {
        token: session.begin_stream(),
        session,
        identity,
        notifications,
        _permit: permit,
    };
    let first = stream::once(async { first });
    let rest = stream::unfold(
        (endpoint, Some(stream_state)),
        |(endpoint, stream_state)| async move {
            let mut stream_state = stream_state?;
            let token = stream_state.token.clone();
            let identity = stream_state.identity.clone();
            let bytes = tokio::select! {
                biased;
                () = token.cancelled() => return None,
                () = endpoint.0.drain.stopping() => {
                    let last = restart_event(&stream_state.session)?;
                    return Some((last, (endpoint, None)));
                }
                () = endpoint.0.authenticator.invalidated(&identity) => return None,
                message = stream_state.next() => message,
                () = tokio::time::sleep(endpoint.0.settings.load().keep_alive) => keep_alive_comment(),
            };
            Some((bytes, (endpoint, Some(stream_state))))
        },
    );
    events(first.chain(rest).map(StreamFrame::Small))
}

/// The first event of a resumable stream: its id, and the delay before a reconnection. `None` for protocol
/// versions without such an event.
fn priming_event(session: &Session, id: impl FnOnce() -> String) -> Option<Vec<u8>> {
    let first = || format!("id: {}\nretry: {RECONNECT_DELAY_MS}\ndata:\n\n", id()).into_bytes();
    session.client.version.has_priming_event().then(first)
}

/// The last event before the server stops, which has the delay before a reconnection. `None` as for the first event.
fn restart_event(session: &Session) -> Option<Vec<u8>> {
    let last = || format!("retry: {}\ndata:\n\n", restart_delay::of_legacy_client()).into_bytes();
    session.client.version.has_priming_event().then(last)
}

/// An open notification stream of a legacy session.
struct NotificationStream {
    token: CancellationToken,
    session: Arc<Session>,
    identity: Arc<Identity>,
    notifications: Notifications,
    _permit: StreamPermit,
}

impl NotificationStream {
    /// Waits for the next frames. Cancel-safe.
    async fn next(&mut self) -> Vec<u8> {
        let messages = self.notifications.next().await;
        let frames = messages.into_iter().map(
            |NotificationMessage {
                 message,
                 resume_from,
             }| match resume_from {
                Some(number) => {
                    event_with_id(&self.session.replay.notification_event_id(number), &message)
                }
                None => message_events([message]),
            },
        );
        frames.collect::<Vec<_>>().concat()
    }
}

impl Drop for NotificationStream {
    fn drop(&mut self) {
        self.session.end_stream(&self.token);
    }
}

/// Streams the messages of a request in a legacy session, to the end or until another reader replaces this
/// one.
pub(super) fn request_stream(
    endpoint: Endpoint,
    reader: StreamReader,
    session: Arc<Session>,
    identity: Arc<Identity>,
    permit: Option<StreamPermit>,
) -> Response {
    let first = priming_event(&session, || {
        session
            .replay
            .request_event_id(reader.stream(), reader.last())
    });
    let state = (endpoint, reader, session, identity, permit);
    let rest = stream::unfold(
        state,
        |(endpoint, mut reader, session, identity, permit)| async move {
            let frame = tokio::select! {
                biased;
                () = endpoint.0.authenticator.invalidated(&identity) => return None,
                item = reader.next() => {
                    let (number, message) = item?;
                    shared_event(&session.replay.request_event_id(reader.stream(), number), message)
                }
                () = tokio::time::sleep(endpoint.0.settings.load().keep_alive) => StreamFrame::Small(keep_alive_comment()),
            };
            Some((frame, (endpoint, reader, session, identity, permit)))
        },
    );
    events(stream::iter(first).map(StreamFrame::Small).chain(rest))
}
