//! Legacy HTTP: sessions with a handshake, their notification stream, and batches. A request continues when
//! its connection breaks, and ends when its client cancels it.

use std::pin::pin;
use std::sync::Arc;

use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, StatusCode};

use futures_util::FutureExt as _;

use super::{accepts, empty, json, not_acceptable};
use crate::Endpoint;
use crate::auth::Identity;
use crate::body::Response;
use crate::dispatch::{Peer, error};
use crate::era::{LegacyVersion, check_legacy_header, declares_version, has_modern_version_header};
use crate::extension::Subscriptions;
use crate::json_writer::array;
use crate::message::{Id, Message, Notification, Request};
use crate::method::{Operation, ParsedRequest};
use crate::progress::{CallStream, StreamItem};
use crate::replay::{LogPosition, RequestStream, ResumePoint};
use crate::rpc_error::{INTERNAL_ERROR, INVALID_REQUEST, RpcError};
use crate::session::Session;
use crate::sse;

/// Maximum number of concurrent requests of one session. Requests outlive their connections, so nothing else
/// bounds them.
const MAX_REQUESTS: usize = 64;

const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

impl Endpoint {
    pub(super) fn initialize(
        &self,
        headers: &HeaderMap,
        identity: &Identity,
        request: &Request<'_>,
    ) -> Result<Response, RpcError> {
        let version = LegacyVersion::from_initialize(request)?;
        let caller = identity.caller.clone();
        let watch = self.0.gateway.watch(&caller);
        watch.watch_list(true);
        let handshake = self.handshake(request, Some(headers), version, &caller);
        let subscriptions = Subscriptions::new(watch, caller.clone());
        let session = self.0.sessions.open(version, caller, subscriptions)?;
        let id = HeaderValue::from_str(&session.id)
            .map_err(|_| RpcError::new(INTERNAL_ERROR, "no session can be opened"))?;
        let mut response = json(StatusCode::OK, handshake);
        response.headers_mut().insert(SESSION_HEADER, id);
        Ok(response)
    }

    fn session(&self, headers: &HeaderMap, identity: &Identity) -> Result<Arc<Session>, RpcError> {
        let id = headers.get(SESSION_HEADER).map(|id| id.to_str().unwrap_or_default());
        self.0.sessions.find(id, &identity.caller)
    }

    pub(super) async fn in_session(
        &self,
        headers: &HeaderMap,
        identity: &Arc<Identity>,
        request: &Request<'_>,
    ) -> Result<Response, RpcError> {
        let session = self.session(headers, identity)?;
        check_legacy_header(headers)?;
        let call = self.start(&session, identity, request, headers)?;
        Ok(self.respond_in_session(session, identity, request.id.clone(), call).await)
    }

    /// Responds with JSON, or with a resumable event stream if a progress notification precedes the response.
    async fn respond_in_session(
        &self,
        session: Arc<Session>,
        identity: &Arc<Identity>,
        id: Id,
        mut call: CallStream,
    ) -> Response {
        let progress = match call.next().await {
            Some(StreamItem::Response(bytes)) => return json(StatusCode::OK, bytes),
            Some(StreamItem::Progress(bytes)) => bytes,
            // The call was cancelled: the client expects no response, and an event stream can end early.
            None => return sse::events(futures_util::stream::empty()),
        };
        let stream = session.replay.open(id, identity.caller.clone());
        stream.push_progress(progress);
        let reader = RequestStream::subscribe(&stream, 0);
        self.0.drain.spawn(async move {
            while let Some(item) = call.next().await {
                match item {
                    StreamItem::Progress(bytes) => stream.push_progress(bytes),
                    StreamItem::Response(bytes) => stream.push_response(bytes),
                }
            }
            stream.end();
        });
        match reader {
            Some(reader) => sse::request_stream(self.clone(), reader, session, identity.clone(), None),
            None => sse::events(futures_util::stream::empty()),
        }
    }

    /// Starts a request in its own task.
    fn start(
        &self,
        session: &Arc<Session>,
        identity: &Identity,
        request: &Request<'_>,
        headers: &HeaderMap,
    ) -> Result<CallStream, RpcError> {
        let method = self.legacy_method(request)?;
        let parsed = ParsedRequest::read(request, method, identity.caller.clone())?;
        let ParsedRequest { id, operation, call, progress } = parsed.with_trace_headers(headers);
        if session.requests.len() >= MAX_REQUESTS {
            return Err(RpcError::new(
                INTERNAL_ERROR,
                "too many requests are under way: wait for some to end",
            ));
        }
        let is_ping = matches!(operation, Operation::Ping);
        // The permit is held as long as the work runs, which continues when the connection breaks.
        let permit = if is_ping {
            None
        } else {
            self.0.gateway.request_permit(&identity.caller).map_err(RpcError::quota_exceeded)?
        };
        let cancellable = session.requests.register(&id).ok_or_else(RpcError::duplicate_id)?;
        let response =
            self.clone().dispatch(id, operation, call, Peer::Legacy(session.subscriptions.clone())).boxed();
        if is_ping {
            return Ok(CallStream::new(progress, response.map(Some).boxed()));
        }
        let session = session.clone();
        let task = self.0.drain.spawn(async move {
            let response = cancellable.until_cancelled(pin!(response)).await;
            drop(permit);
            session.touch();
            response
        });
        Ok(CallStream::new(progress, task.map(|ended| ended.ok().flatten().flatten()).boxed()))
    }

    /// Accepts a notification or a response. Returns an error only if its session does not exist.
    pub(super) fn accept_notification(
        &self,
        headers: &HeaderMap,
        identity: &Identity,
        notification: Option<&Notification<'_>>,
    ) -> Response {
        let is_modern =
            has_modern_version_header(headers) || notification.is_some_and(|n| declares_version(&n.params));
        if is_modern || !headers.contains_key(SESSION_HEADER) {
            return empty(StatusCode::ACCEPTED);
        }
        match self
            .session(headers, identity)
            .and_then(|session| check_legacy_header(headers).map(|()| session))
        {
            Err(rpc_error) => super::error_response(None, &rpc_error),
            Ok(session) => {
                handle_notification(&session, notification);
                empty(StatusCode::ACCEPTED)
            }
        }
    }

    /// Handles all messages of a batch and returns their responses in one array.
    pub(super) async fn batch(
        &self,
        headers: &HeaderMap,
        identity: &Identity,
        batch: Vec<Message<'_>>,
    ) -> Result<Response, RpcError> {
        let is_modern = batch.iter().any(|message| match message {
            Message::Request(request) => declares_version(&request.params),
            Message::Notification(notification) => declares_version(&notification.params),
            Message::Response | Message::Malformed { .. } => false,
        });
        if is_modern || has_modern_version_header(headers) {
            return Err(RpcError::bad_request(
                INVALID_REQUEST,
                "this version of the protocol has no batches",
            ));
        }
        let session = self.session(headers, identity)?;
        check_legacy_header(headers)?;
        if !session.version.has_batches() {
            return Err(RpcError::bad_request(
                INVALID_REQUEST,
                "the session's version of the protocol has no batches",
            ));
        }
        let mut responses = vec![];
        // The quota check of the HTTP request covers the first message.
        let mut is_admitted = true;
        for message in batch {
            responses.extend(
                self.respond_to_batch_item(&session, identity, (headers, is_admitted), message).await,
            );
            is_admitted = false;
        }
        Ok(match responses.is_empty() {
            true => empty(StatusCode::ACCEPTED),
            false => json(StatusCode::OK, array(&responses)),
        })
    }

    async fn respond_to_batch_item(
        &self,
        session: &Arc<Session>,
        identity: &Identity,
        (headers, is_admitted): (&HeaderMap, bool),
        message: Message<'_>,
    ) -> Option<Vec<u8>> {
        let request = match message {
            Message::Request(request) => request,
            Message::Malformed { id, rpc_error } => return Some(error(id.as_ref(), &rpc_error)),
            Message::Notification(notification) => {
                handle_notification(session, Some(&notification));
                return None;
            }
            Message::Response => return None,
        };
        let admitted = if is_admitted { Ok(()) } else { self.0.gateway.admit(&identity.caller) };
        let started = admitted
            .map_err(RpcError::quota_exceeded)
            .and_then(|()| self.start(session, identity, &request, headers));
        let mut call = match started {
            Ok(call) => call,
            Err(rpc_error) => {
                self.count_unknown_method(&request, &rpc_error);
                return Some(error(Some(&request.id), &rpc_error));
            }
        };
        loop {
            // A batch response has no place for progress notifications.
            if let StreamItem::Response(bytes) = call.next().await? {
                return Some(bytes);
            }
        }
    }

    pub(super) fn open_stream(
        &self,
        headers: &HeaderMap,
        identity: &Arc<Identity>,
    ) -> Result<Response, RpcError> {
        let session = self.session(headers, identity)?;
        check_legacy_header(headers)?;
        if !accepts(headers, &["text/event-stream", "text/*"]) {
            return Err(not_acceptable("text/event-stream"));
        }
        // The permit comes first, so that an older stream is not replaced by one that cannot start.
        let permit = self.stream_permit(identity)?;
        let resume_point = match last_event_id(headers) {
            Some(last) => session.replay.find(last, &identity.caller)?,
            None => ResumePoint::Notifications(start_position(&session)),
        };
        Ok(match resume_point {
            ResumePoint::Notifications(position) => {
                sse::notifications(self.clone(), session, identity.clone(), permit, position)
            }
            // In the event-stream protocol, 204 tells the client to stop reconnecting.
            ResumePoint::Request(reader) if reader.is_finished() => empty(StatusCode::NO_CONTENT),
            ResumePoint::Request(reader) => {
                sse::request_stream(self.clone(), reader, session, identity.clone(), Some(permit))
            }
        })
    }

    pub(super) fn end_session(&self, headers: &HeaderMap, identity: &Identity) -> Result<Response, RpcError> {
        let session = self.session(headers, identity)?;
        check_legacy_header(headers)?;
        self.0.sessions.end(&session);
        Ok(empty(StatusCode::NO_CONTENT))
    }
}

/// The start position of a client that sends no `Last-Event-ID`. Earlier notifications may not have arrived,
/// so everything is marked as changed.
fn start_position(session: &Session) -> LogPosition {
    let current = session.replay.notifications().now();
    if current != LogPosition::default() {
        session.subscriptions.watch.mark_all_changed();
    }
    current
}

/// The last event that the client received. An empty id counts as none, as in the event-stream specification.
fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    let last = headers.get("last-event-id")?.to_str().unwrap_or("?");
    (!last.is_empty()).then_some(last)
}

fn handle_notification(session: &Session, notification: Option<&Notification<'_>>) {
    if let Some(notification) =
        notification.filter(|notification| notification.method == "notifications/cancelled")
    {
        session.requests.cancel(&notification.params);
    }
}
