//! Legacy HTTP: sessions with a handshake, their notification stream, and batches. A request continues when
//! its connection breaks, and ends when its client cancels it.

use std::sync::Arc;

use futures_util::FutureExt as _;
use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, StatusCode};

use super::RequestHead;
use super::body::{Body, Response};
use super::headers::{accepts, not_acceptable};
use super::response::{cancelled, charged_json, empty, error_response, json};
use super::sse;
use crate::Endpoint;
use crate::auth::Identity;
use crate::client_side::call_stream::{CallStream, StreamItem};
use crate::era::{check_legacy_header, declares_version, has_modern_version_header};
use crate::outgoing::unsent::Unsent;
use crate::protocol::{AcceptedRequest, RequestContext, legacy};
use crate::session::Session;
use crate::subscribe::replay::{MissedNotifications, RequestStream, ResumePoint};
use crate::wire::message::{Id, Message, Params, Request};
use crate::wire::rpc_error::{INTERNAL_ERROR, RpcError};

const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

impl Endpoint {
    pub(super) async fn initialize(
        &self,
        head: &RequestHead<'_>,
        request: &Request<'_>,
    ) -> Result<Response, RpcError> {
        let (client, handshake) =
            legacy::Client::initialize(request, self.context(head, None), None)?;
        let session = self.0.sessions.open(client, head.identity.caller.clone())?;
        // Boxed, because this is rare, and the future of every request would otherwise contain this future.
        session.client.save().boxed().await;
        let id = HeaderValue::from_str(&session.id)
            .map_err(|_| RpcError::new(INTERNAL_ERROR, "no session can be opened"))?;
        let mut response = json(StatusCode::OK, handshake);
        response.headers_mut().insert(SESSION_HEADER, id);
        Ok(response)
    }

    /// Finds the session of a message.
    async fn session(&self, head: &RequestHead<'_>) -> Result<Arc<Session>, RpcError> {
        let id = head
            .headers
            .get(SESSION_HEADER)
            .map(|id| id.to_str().unwrap_or_default());
        let caller = &head.identity.caller;
        let session = match (self.0.sessions.find(id, caller), id) {
            (Err(unknown), Some(id)) => {
                // Boxed, because this is rare, and the future of every request would otherwise contain this future.
                self.restore_session(id, caller)
                    .boxed()
                    .await?
                    .ok_or(unknown)?
            }
            (found, _) => found?,
        };
        check_legacy_header(head.headers)?;
        Ok(session)
    }

    pub(super) async fn respond_in_session(
        &self,
        head: &RequestHead<'_>,
        request: &Request<'_>,
    ) -> Result<Response, RpcError> {
        let session = self.session(head).await?;
        let context = self.context(head, Some(&session.requests));
        let accepted = session.client.accept(request, context)?;
        let stream = self.run_in_session(&session, accepted);
        Ok(self
            .respond_with_stream(session, head.identity, request.id.clone(), stream)
            .await)
    }

    /// Runs a request in a task of its own, which continues when the connection breaks.
    fn run_in_session(&self, session: &Arc<Session>, accepted: AcceptedRequest) -> CallStream {
        if accepted.is_immediate() {
            return accepted.into_stream();
        }
        // The session counts as in use until its time of last use is updated.
        let session = session.clone();
        let cancellable = accepted.cancellable();
        let (messages, mut work) = accepted.into_parts();
        let task = self.0.drain.spawn(async move {
            let response = work.run().await;
            session.touch();
            drop(cancellable);
            response
        });
        CallStream::new(
            messages,
            task.map(|ended| ended.ok().flatten().flatten()).boxed(),
        )
    }

    /// Responds with JSON, or with a resumable event stream if a message precedes the response.
    async fn respond_with_stream(
        &self,
        session: Arc<Session>,
        identity: &Arc<Identity>,
        id: Id,
        mut call: CallStream,
    ) -> Response {
        let (first, asks) = match call.next().await {
            Some(StreamItem::Response(response)) => return charged_json(&id, response),
            Some(StreamItem::Message(bytes)) => (bytes, false),
            Some(StreamItem::Question(bytes)) => (bytes, true),
            None => return cancelled(),
        };
        let stream = session.replay.open(id, identity.caller.clone());
        stream.push_message(first);
        let reader = RequestStream::subscribe(&stream, 0);
        self.0
            .drain
            .spawn(async move { forward(call, &stream, asks).await });
        match reader {
            Some(reader) => {
                sse::request_stream(self.clone(), reader, session, identity.clone(), None)
            }
            None => cancelled(),
        }
    }

    /// Accepts a notification or a response, and handles it in its session. Returns an error only if the session does
    /// not exist. `params` are the parameters of a notification.
    pub(super) async fn accept(
        &self,
        head: &RequestHead<'_>,
        params: Option<&Params<'_>>,
        handle: impl FnOnce(&Session, RequestContext<'_>),
    ) -> Response {
        let is_modern =
            has_modern_version_header(head.headers) || params.is_some_and(declares_version);
        if is_modern || !head.headers.contains_key(SESSION_HEADER) {
            return empty(StatusCode::ACCEPTED);
        }
        match self.session(head).await {
            Err(rpc_error) => error_response(None, &rpc_error),
            Ok(session) => {
                handle(&session, self.context(head, Some(&session.requests)));
                empty(StatusCode::ACCEPTED)
            }
        }
    }

    /// Handles all messages of a batch and returns their responses in one array. The requests run in a task
    /// of their own, which continues when the connection breaks.
    pub(super) async fn batch(
        &self,
        head: &RequestHead<'_>,
        batch: Vec<Message<'_>>,
    ) -> Result<Response, RpcError> {
        if has_modern_version_header(head.headers) || legacy::contains_modern(&batch) {
            return Err(legacy::not_supported());
        }
        let session = self.session(head).await?;
        let context = self.context(head, Some(&session.requests));
        let accepted = session.client.accept_batch(batch, context)?;
        let task = self.0.drain.spawn(async move {
            let responses = accepted.respond().await;
            session.touch();
            responses
        });
        Ok(match task.await.ok().flatten().flatten() {
            Some(responses) => json(
                StatusCode::OK,
                Body::of_parts(responses.into_iter().map(Unsent::from)),
            ),
            None => empty(StatusCode::ACCEPTED),
        })
    }

    pub(super) async fn open_stream(&self, head: &RequestHead<'_>) -> Result<Response, RpcError> {
        let session = self.session(head).await?;
        if !accepts(head.headers, &["text/event-stream", "text/*"]) {
            return Err(not_acceptable("text/event-stream"));
        }
        // The permit comes first, so that an older stream is not replaced by a stream that cannot start.
        let permit = self.stream_permit(&head.identity.caller)?;
        let resume_point = match last_event_id(head.headers) {
            Some(last) => session.replay.find(last, &head.identity.caller)?,
            None => session.replay.now(),
        };
        Ok(match resume_point {
            ResumePoint::Notifications { position, missed } => {
                mark_missed(&session, &missed);
                sse::notifications(
                    self.clone(),
                    session,
                    head.identity.clone(),
                    permit,
                    position,
                )
            }
            // In the event-stream protocol, 204 tells the client to stop reconnecting.
            ResumePoint::Request(reader) if reader.is_finished() => empty(StatusCode::NO_CONTENT),
            ResumePoint::Request(reader) => sse::request_stream(
                self.clone(),
                reader,
                session,
                head.identity.clone(),
                Some(permit),
            ),
        })
    }

    pub(super) async fn end_session(&self, head: &RequestHead<'_>) -> Result<Response, RpcError> {
        let session = self.session(head).await?;
        self.0.sessions.end(&session).await;
        Ok(empty(StatusCode::NO_CONTENT))
    }
}

fn mark_missed(session: &Session, missed: &MissedNotifications) {
    let watch = &session.client.subscriptions.watch;
    match missed {
        MissedNotifications::Nothing => {}
        MissedNotifications::Updates(uris) => uris.iter().for_each(|uri| watch.mark_changed(uri)),
        MissedNotifications::Anything => watch.mark_all_changed(),
    }
}

/// Forwards the messages of a call to its stream, to the end. If the call waits for answers and its client does not
/// read the stream any more, the call is not continued, because it would get no answers.
async fn forward(mut call: CallStream, stream: &Arc<RequestStream>, mut asks: bool) {
    loop {
        let item = tokio::select! {
            item = call.next() => item,
            () = stream.abandoned(), if asks => {
                call.stop_asking();
                asks = false;
                continue;
            }
        };
        asks = matches!(item, Some(StreamItem::Question(_)));
        match item {
            Some(StreamItem::Message(bytes) | StreamItem::Question(bytes)) => {
                stream.push_message(bytes)
            }
            Some(StreamItem::Response(response)) => stream.push_response(response.into_shared()),
            None => return stream.end(),
        }
    }
}

/// The last event that the client received. An empty id counts as none, as in the event-stream specification.
fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    let last = headers.get("last-event-id")?.to_str().unwrap_or("?");
    (!last.is_empty()).then_some(last)
}
