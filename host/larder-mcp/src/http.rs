//! Streamable HTTP: one path for both eras. The order of the checks follows the protocol. The modules are connections,
//! bodies, event streams and the log of requests. They use all other modules of the crate, except `dispatch` and
//! `render`.

pub(crate) mod body;
pub(crate) mod connection;
mod cors;
mod headers;
mod legacy;
mod received_body;
pub(crate) mod request_log;
mod response;
mod restart_delay;
mod sse;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::body::{Body, Response};
use self::connection::ConnectionState;
use self::headers::{accepts, check_accept, check_content_type, content_length, not_acceptable};
use self::received_body::{BodyError, ReceivedBody};
use self::response::{
    cancelled, charged_json, error_response, json, not_allowed, not_found, preflight,
};
use crate::Endpoint;
use crate::auth::{AuthError, Identity, METADATA};
use crate::client_side::cancellation::CancellableRequests;
use crate::era::{RequestKind, classify, has_modern_version_header};
use crate::session::Session;
use crate::wire::message::{
    self, Id, IncomingMessages, Message, Notification, Request as RpcRequest,
};
use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Method as HttpMethod, Request, StatusCode};

use self::request_log::RequestSource;
use crate::client_side::call_stream::{CallStream, StreamItem};
use crate::era::request_slot::ConcurrencyLimit;
use crate::protocol::{RequestContext, modern};
use crate::wire::rpc_error::{INVALID_REQUEST, RpcError};
use larder_model::resource::RequestDetails;
use larder_model::size;
use larder_runtime::deadline::with_deadline;

/// Maximum time for receiving a request body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// The timeout for the first request of a connection, if no credentials are required.
const FIRST_BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// Path of the MCP endpoint.
const PATH: &str = "/mcp";
/// Prefix of well-known URIs (RFC 8615).
const WELL_KNOWN: &str = "/.well-known/";

/// Body types that the endpoint accepts in requests.
pub trait RequestBody: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send {}

impl<B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send> RequestBody for B {}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The headers of a request whose sender is authenticated.
struct RequestHead<'a> {
    headers: &'a HeaderMap,
    identity: &'a Arc<Identity>,
    /// The address of the client; none if the client is not connected over TCP.
    peer: Option<IpAddr>,
    /// The data that are collected for the request log; none if the request is not logged.
    details: Option<&'a Arc<RequestDetails>>,
    connection: Option<&'a ConnectionState>,
}

/// Why a request gets an error response.
enum Rejection {
    /// The credentials are missing or not valid.
    Denied(AuthError),
    /// The error, and the id of the request if it is known.
    Error(Option<Id>, RpcError),
}

impl From<RpcError> for Rejection {
    fn from(rpc_error: RpcError) -> Self {
        Self::Error(None, rpc_error)
    }
}

impl RequestHead<'_> {
    /// Records that the request is valid. If no credentials are required, it must also be complete.
    fn prove_connection(&self) {
        if let Some(value) = self.connection {
            ConnectionState::prove(value);
        }
    }

    fn note_method(&self, message: &Message<'_>) {
        let method = match message {
            Message::Request(request) => &request.method,
            Message::Notification(notification) => &notification.method,
            Message::Response(_) | Message::Malformed { .. } => return,
        };
        if let Some(details) = self.details {
            _ = details.method.set(method.to_string());
        }
    }
}

impl Endpoint {
    /// Returns the response to one HTTP request, as if it came over the network from a client without an
    /// address.
    pub async fn respond(
        &self,
        request: Request<impl RequestBody + Unpin + 'static>,
    ) -> http::Response<Body> {
        self.respond_to(request, None).await
    }

    /// Returns the response to one HTTP request, which may have come through a Unix socket.
    ///
    /// The checks of the Host and Origin headers are for browsers, because any web page can make a browser send
    /// requests (DNS rebinding, cross-site requests). A browser cannot open a Unix socket, but a proxy in front of the
    /// socket can pass on the requests of a browser. A request through a Unix socket may omit the host, because no
    /// browser omits it. If the request has a host or an origin, they must be allowed as on other listeners.
    pub(super) async fn respond_to(
        &self,
        request: Request<impl RequestBody + Unpin + 'static>,
        connection: Option<&ConnectionState>,
    ) -> http::Response<Body> {
        let (head, mut body) = request.into_parts();
        let mut source = self.begin_request(connection.map(ConnectionState::client), &head);
        let response = match head.uri.path() {
            // The futures inside contain only a reference to the body.
            PATH => {
                let served = self.serve(&head, &mut body, connection, &mut source).await;
                let response =
                    served.unwrap_or_else(|rejection| self.rejection_response(&rejection));
                cors::with_origin(response, source.origin.take())
            }
            path => match metadata_suffix(path) {
                Some(suffix) => self.resource_metadata(&head, suffix, &source),
                None => self.respond_not_found(&head, &source),
            },
        };
        self.end_request(&source, &head, &response);
        if !response.status().is_success() && !body.is_end_stream() {
            self.0.drain.spawn(received_body::discard(body));
        }
        response
    }

    /// Serves a request to the MCP endpoint.
    async fn serve(
        &self,
        head: &Parts,
        body: impl RequestBody,
        connection: Option<&ConnectionState>,
        source: &mut RequestSource,
    ) -> Result<Response, Rejection> {
        source.origin = self.check_host(head, source)?;
        if let Some(response) = response_without_caller(head) {
            return Ok(response);
        }
        let identity = self.0.authenticator.authenticate(head).await;
        let identity = &*source.identity.insert(identity.map_err(Rejection::Denied)?);
        let sender = RequestHead {
            headers: &head.headers,
            identity,
            peer: source.peer,
            details: source.details.as_ref().map(|(details, _)| details),
            connection,
        };
        if !identity.is_anonymous() || head.method != HttpMethod::POST {
            sender.prove_connection();
        }
        // The quota is checked before the body is read, so that a rejected request has almost no cost.
        let admitted = self.0.gateway.admit(&identity.caller);
        admitted.map_err(RpcError::quota_exceeded)?;
        match head.method {
            HttpMethod::GET => return Ok(self.open_stream(&sender).await?),
            HttpMethod::DELETE => return Ok(self.end_session(&sender).await?),
            _ => {}
        }
        let body = self.read_body(&sender, body).await?;
        sender.prove_connection();
        let message = match message::read(body.bytes())? {
            IncomingMessages::One(message) => message,
            IncomingMessages::Batch(batch) => return Ok(self.batch(&sender, batch).await?),
        };
        sender.note_method(&message);
        match &message {
            Message::Request(request) => self
                .respond_to_request(&sender, request)
                .await
                .map_err(|rpc_error| self.rejection(request, rpc_error)),
            Message::Notification(notification) => {
                Ok(self.accept_notification(&sender, notification).await)
            }
            Message::Response(response) => Ok(self.accept_response(&sender, response).await),
            Message::Malformed { id, rpc_error } => {
                Err(Rejection::Error(id.clone(), rpc_error.clone()))
            }
        }
    }

    /// Checks the host and the origin of a request. Returns the origin if the request has one.
    fn check_host(
        &self,
        head: &Parts,
        source: &RequestSource,
    ) -> Result<Option<HeaderValue>, RpcError> {
        let settings = self.0.settings.load();
        let policy = settings.host_policy(source.is_unix());
        let origin = policy.check(&head.uri, &head.headers)?;
        Ok(origin.cloned())
    }

    /// Returns why a request is rejected.
    fn rejection(&self, request: &RpcRequest<'_>, rpc_error: RpcError) -> Rejection {
        self.count_unknown_method(request, &rpc_error);
        tracing::debug!(code = rpc_error.code, message = %rpc_error.message, "request rejected");
        Rejection::Error(Some(request.id.clone()), rpc_error)
    }

    /// Returns the response to a rejected request.
    fn rejection_response(&self, rejection: &Rejection) -> Response {
        match rejection {
            Rejection::Error(id, rpc_error) => error_response(id.as_ref(), rpc_error),
            Rejection::Denied(denied) => self.unauthorized(denied),
        }
    }

    /// Serves the protected resource metadata, which names the issuer of tokens for this endpoint. Clients fetch the
    /// metadata before they have a token, and from web pages of any origin.
    fn resource_metadata(&self, head: &Parts, suffix: &str, source: &RequestSource) -> Response {
        let settings = self.0.settings.load();
        if let Err(forbidden) = settings
            .host_policy(source.is_unix())
            .check_host(&head.uri, &head.headers)
        {
            return error_response(None, &forbidden.into());
        }
        let metadata = self.0.authenticator.metadata(settings.title.as_deref());
        let mut response = match (&head.method, metadata) {
            (&HttpMethod::OPTIONS, _) => preflight(&head.headers),
            (&HttpMethod::GET | &HttpMethod::HEAD, Some((document, path)))
                if ["", PATH, &path].contains(&suffix) =>
            {
                json(StatusCode::OK, document)
            }
            (&HttpMethod::GET | &HttpMethod::HEAD, _) => not_found(),
            _ => not_allowed("GET, OPTIONS"),
        };
        response.headers_mut().insert(
            header::ACCESS_CONTROL_ALLOW_ORIGIN,
            HeaderValue::from_static("*"),
        );
        response
    }

    fn respond_not_found(&self, head: &Parts, source: &RequestSource) -> Response {
        match self.check_host(head, source) {
            Ok(_) => not_found(),
            Err(rpc_error) => error_response(None, &rpc_error),
        }
    }

    fn unauthorized(&self, denied: &AuthError) -> Response {
        tracing::debug!(?denied, "authentication failed");
        let mut response = error_response(None, &denied.rpc_error());
        self.0
            .authenticator
            .challenge(denied, response.headers_mut());
        response
    }

    async fn read_body(
        &self,
        head: &RequestHead<'_>,
        body: impl RequestBody,
    ) -> Result<ReceivedBody, RpcError> {
        let headers = head.headers;
        check_accept(headers)?;
        check_content_type(headers)?;
        let limit = self.0.settings.load().body_limit;
        let length = content_length(headers)?;
        if length.is_some_and(|length| length > limit as u64) {
            return Err(too_large(limit));
        }
        let is_proven = head.connection.is_none_or(ConnectionState::is_proven);
        let timeout = if is_proven {
            BODY_TIMEOUT
        } else {
            FIRST_BODY_TIMEOUT
        };
        let deadline = || Instant::now() + timeout;
        let memory = (&*self.0.waiting_bytes, &head.identity.caller);
        match with_deadline(
            deadline,
            received_body::receive(body, limit, length, memory),
        )
        .await
        {
            Some(received) => received.map_err(|error| body_error(error, limit)),
            None => Err(RpcError::new(INVALID_REQUEST, "the body took too long")
                .with_status(StatusCode::REQUEST_TIMEOUT)),
        }
    }

    async fn accept_notification(
        &self,
        head: &RequestHead<'_>,
        notification: &Notification<'_>,
    ) -> Response {
        let params = Some(&notification.params);
        let handle = |_: &_, context: RequestContext<'_>| context.handle_notification(notification);
        self.accept(head, params, handle).await
    }

    async fn accept_response(
        &self,
        head: &RequestHead<'_>,
        response: &message::Response<'_>,
    ) -> Response {
        let handle = |session: &Session, _: RequestContext<'_>| {
            session.client.side.resolve(response);
        };
        self.accept(head, None, handle).await
    }

    async fn respond_to_request(
        &self,
        head: &RequestHead<'_>,
        request: &RpcRequest<'_>,
    ) -> Result<Response, RpcError> {
        let context = self.context(head, None);
        match classify(request, Some(head.headers))? {
            RequestKind::Modern(method) => {
                // The request runs in the connection's own future, so that the guest is dropped when the
                // client disconnects.
                let accepted = modern::accept(request, method, context)?;
                if accepted.wants_messages() {
                    let stream = accepted.into_stream();
                    return Ok(self
                        .respond_with_messages(&request.id, stream, head.identity)
                        .await);
                }
                let mut work = accepted.into_work();
                Ok(match work.run().await {
                    None => cancelled(),
                    Some(response) => charged_json(&request.id, response),
                })
            }
            RequestKind::Listen => {
                let accepted = modern::listen(request, context)?;
                if !accepts(head.headers, &["text/event-stream", "text/*"]) {
                    return Err(not_acceptable("text/event-stream"));
                }
                Ok(sse::listen(
                    self.clone(),
                    accepted.begin().await,
                    head.identity.clone(),
                ))
            }
            RequestKind::Initialize => self.initialize(head, request).await,
            RequestKind::Legacy => self.respond_in_session(head, request).await,
        }
    }

    fn context<'a>(
        &'a self,
        head: &RequestHead<'a>,
        in_flight: Option<&'a Arc<CancellableRequests>>,
    ) -> RequestContext<'a> {
        let RequestHead {
            headers,
            identity,
            peer,
            details,
            ..
        } = *head;
        RequestContext {
            endpoint: self,
            caller: &identity.caller,
            peer,
            token: identity.token.as_ref(),
            details,
            headers: Some(headers),
            limit: &ConcurrencyLimit::Quota,
            in_flight,
        }
    }

    /// Responds with JSON, or with an event stream if a message precedes the response.
    async fn respond_with_messages(
        &self,
        id: &Id,
        mut stream: CallStream,
        identity: &Arc<Identity>,
    ) -> Response {
        match stream.next().await {
            Some(StreamItem::Response(response)) => charged_json(id, response),
            Some(StreamItem::Message(bytes) | StreamItem::Question(bytes)) => {
                sse::call(self.clone(), bytes, stream, identity.clone())
            }
            None => cancelled(),
        }
    }
}

/// Returns the response to a request whose caller does not matter; `None` if the caller matters.
fn response_without_caller(head: &Parts) -> Option<Response> {
    match head.method {
        HttpMethod::OPTIONS => Some(preflight(&head.headers)),
        HttpMethod::GET | HttpMethod::DELETE if has_modern_version_header(&head.headers) => {
            Some(not_allowed("POST, OPTIONS"))
        }
        HttpMethod::GET | HttpMethod::POST | HttpMethod::DELETE => None,
        _ => Some(not_allowed("GET, POST, DELETE, OPTIONS")),
    }
}

/// Returns what follows the path of the protected resource metadata; `None` if this is another path.
fn metadata_suffix(path: &str) -> Option<&str> {
    path.strip_prefix(WELL_KNOWN)?
        .strip_prefix(METADATA)
        .filter(|suffix| suffix.is_empty() || suffix.starts_with('/'))
}

fn body_error(error: BodyError, limit: usize) -> RpcError {
    match error {
        BodyError::TooLarge => too_large(limit),
        BodyError::NoMemory(refused) => received_body::no_memory(refused),
        BodyError::Ended => RpcError::bad_request(INVALID_REQUEST, "the body ended early"),
    }
}

fn too_large(limit: usize) -> RpcError {
    let limit = size::show(limit as u64);
    let why = format!("the body has more than {limit} (`server.body_limit`)");
    RpcError::new(INVALID_REQUEST, why).with_status(StatusCode::PAYLOAD_TOO_LARGE)
}

#[cfg(test)]
mod tests;
