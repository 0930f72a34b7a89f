//! Streamable HTTP: one path for both eras. The order of the checks follows the protocol.

mod headers;
mod legacy;
mod sse;

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::headers::{accepts, check_accept, check_content_type, not_acceptable};
use super::Endpoint;
use super::auth::{AuthError, Identity, METADATA};
use super::body::{Body, Response};
use super::cancellation::CancellableRequests;
use super::cors;
use super::dispatch::error;
use super::era::{RequestKind, classify, has_modern_version_header};
use super::json_writer::object;
use super::message::{self, Id, Incoming, Message, Request as RpcRequest};
use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Method as HttpMethod, Request, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use super::progress::{CallStream, StreamItem};
use super::protocol::{ConcurrencyLimit, RequestContext, modern};
use super::rpc_error::{INVALID_REQUEST, RpcError};
use larder_runtime::deadline::with_deadline;
use larder_runtime::host_policy::HostPolicy;

/// Maximum time for receiving a request body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Response bodies up to this size need no buffer permit: there is at most one for each connection.
const UNCOUNTED_BODY: usize = 64 << 10;
/// Buffered bytes that one buffer permit stands for.
const BYTES_PER_PERMIT: usize = 1 << 10;

/// Path of the MCP endpoint.
const PATH: &str = "/mcp";
/// Prefix of well-known URIs (RFC 8615).
const WELL_KNOWN: &str = "/.well-known/";

/// Body types that the endpoint accepts in requests.
pub trait RequestBody: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send {}

impl<B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send> RequestBody for B {}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Endpoint {
    /// Returns the response to one HTTP request that came over the network.
    pub async fn respond(&self, request: Request<impl RequestBody>) -> http::Response<Body> {
        self.respond_to(request, false).await
    }

    /// Returns the response to one HTTP request, which may have come through a Unix socket.
    ///
    /// The checks of the Host and Origin headers are for browsers, which any web page can make send requests
    /// (DNS rebinding, cross-site requests). A browser cannot open a Unix socket, but a proxy in front of one
    /// can pass on what a browser sends. So a request through a Unix socket may omit the host, which
    /// no browser does; a host and an origin that are there must be allowed as everywhere.
    pub(super) async fn respond_to(
        &self,
        request: Request<impl RequestBody>,
        is_unix: bool,
    ) -> http::Response<Body> {
        let policy = if is_unix { &self.0.unix_host_policy } else { &self.0.host_policy };
        let (head, body) = request.into_parts();
        match head.uri.path() {
            // Pinned here, so that the futures inside contain only a reference to the body.
            PATH => self.respond_to_mcp(&head, pin!(body), policy).await,
            path => match path.strip_prefix(WELL_KNOWN).and_then(|rest| rest.strip_prefix(METADATA)) {
                Some(suffix) if suffix.is_empty() || suffix.starts_with('/') => {
                    self.resource_metadata(&head, suffix, policy)
                }
                _ => respond_not_found(&head, policy),
            },
        }
    }

    async fn respond_to_mcp(&self, head: &Parts, body: impl RequestBody, policy: &HostPolicy) -> Response {
        let origin = match policy.check(&head.uri, &head.headers) {
            Ok(origin) => origin,
            Err(forbidden) => return error_response(None, &forbidden.into()),
        };
        let mut response = match head.method {
            HttpMethod::OPTIONS => preflight(),
            HttpMethod::GET | HttpMethod::DELETE if has_modern_version_header(&head.headers) => {
                not_allowed("POST, OPTIONS")
            }
            HttpMethod::GET | HttpMethod::POST | HttpMethod::DELETE => {
                match self.0.authenticator.authenticate(head).await {
                    Ok(identity) => self.serve(head, &identity, body).await,
                    Err(denied) => self.unauthorized(&denied),
                }
            }
            _ => not_allowed("GET, POST, DELETE, OPTIONS"),
        };
        if response.body().buffered_len() > UNCOUNTED_BODY {
            response = self.hold_buffer_permit(response);
        }
        if let Some(origin) = origin {
            cors::allow_origin(response.headers_mut(), origin.clone());
        }
        response
    }

    /// Attaches buffer permits to a large response, or replaces it with an error when there are not enough
    /// permits: a few slow readers must not fill the memory.
    fn hold_buffer_permit(&self, response: Response) -> Response {
        let permits = u32::try_from(response.body().buffered_len() / BYTES_PER_PERMIT).unwrap_or(u32::MAX);
        // A response that is larger than the whole budget takes all permits.
        let max_permits =
            u32::try_from(self.0.config.waiting_bytes / BYTES_PER_PERMIT).unwrap_or(u32::MAX).max(1);
        match self.0.buffer_permits.clone().try_acquire_many_owned(permits.min(max_permits)) {
            Ok(permit) => response.map(|body| body.with_permit(permit)),
            Err(_) => error_response(
                None,
                &RpcError::overloaded("too many large responses are buffered for slow readers"),
            ),
        }
    }

    /// Serves the protected resource metadata, which names the issuer of tokens for this endpoint. Clients
    /// fetch it before they have a token, and from web pages of any origin.
    fn resource_metadata(&self, head: &Parts, suffix: &str, policy: &HostPolicy) -> Response {
        if let Err(forbidden) = policy.check_host(&head.uri, &head.headers) {
            return error_response(None, &forbidden.into());
        }
        let metadata = self.0.authenticator.metadata(self.0.config.title.as_deref());
        let mut response = match (&head.method, metadata) {
            (&HttpMethod::OPTIONS, _) => preflight(),
            (&HttpMethod::GET | &HttpMethod::HEAD, Some((document, path)))
                if ["", PATH, &path].contains(&suffix) =>
            {
                json(StatusCode::OK, document)
            }
            (&HttpMethod::GET | &HttpMethod::HEAD, _) => not_found(),
            _ => not_allowed("GET, OPTIONS"),
        };
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        response
    }
}

fn respond_not_found(head: &Parts, policy: &HostPolicy) -> Response {
    match policy.check(&head.uri, &head.headers) {
        Ok(_) => not_found(),
        Err(forbidden) => error_response(None, &forbidden.into()),
    }
}

fn not_found() -> Response {
    let body = object(|o| {
        o.text("error", "nothing is served at this path");
        o.text("endpoint", PATH);
    });
    json(StatusCode::NOT_FOUND, body)
}

impl Endpoint {
    async fn serve(&self, head: &Parts, identity: &Arc<Identity>, body: impl RequestBody) -> Response {
        // The quota is checked first, so that a rejected request costs next to nothing.
        if let Err(quota) = self.0.gateway.admit(&identity.caller) {
            return error_response(None, &RpcError::quota_exceeded(quota));
        }
        let headers = &head.headers;
        let response = match head.method {
            HttpMethod::GET => self.open_stream(headers, identity),
            HttpMethod::DELETE => self.end_session(headers, identity),
            _ => Ok(self.post(headers, identity, body).await),
        };
        response.unwrap_or_else(|rpc_error| error_response(None, &rpc_error))
    }

    fn unauthorized(&self, denied: &AuthError) -> Response {
        tracing::debug!(?denied, "authentication failed");
        let mut response = error_response(None, &denied.rpc_error());
        self.0.authenticator.challenge(denied, response.headers_mut());
        response
    }

    async fn post(&self, headers: &HeaderMap, identity: &Arc<Identity>, body: impl RequestBody) -> Response {
        let bytes = match self.read_body(headers, body).await {
            Ok(bytes) => bytes,
            Err(rpc_error) => return error_response(None, &rpc_error),
        };
        match message::read(&bytes) {
            Err(rpc_error) => error_response(None, &rpc_error),
            Ok(Incoming::One(message)) => self.respond_to_message(headers, identity, &message).await,
            Ok(Incoming::Batch(batch)) => self
                .batch(headers, identity, batch)
                .await
                .unwrap_or_else(|rpc_error| error_response(None, &rpc_error)),
        }
    }

    async fn read_body(&self, headers: &HeaderMap, body: impl RequestBody) -> Result<Bytes, RpcError> {
        check_accept(headers)?;
        check_content_type(headers)?;
        let limit = self.0.config.body_limit;
        let too_large = || {
            let why = format!("the body has more than {limit} bytes");
            RpcError::new(INVALID_REQUEST, why).with_status(StatusCode::PAYLOAD_TOO_LARGE)
        };
        let content_length =
            headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if content_length.is_some_and(|length| length > limit as u64) {
            return Err(too_large());
        }
        let deadline = || Instant::now() + BODY_TIMEOUT;
        match with_deadline(deadline, read_all(Limited::new(body, limit))).await {
            Some(Ok(bytes)) => Ok(bytes),
            Some(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
            Some(Err(_)) => Err(RpcError::bad_request(INVALID_REQUEST, "the body ended early")),
            None => Err(RpcError::new(INVALID_REQUEST, "the body took too long")
                .with_status(StatusCode::REQUEST_TIMEOUT)),
        }
    }

    async fn respond_to_message(
        &self,
        headers: &HeaderMap,
        identity: &Arc<Identity>,
        message: &Message<'_>,
    ) -> Response {
        match message {
            Message::Malformed { id, rpc_error } => error_response(id.as_ref(), rpc_error),
            Message::Response => self.accept_notification(headers, identity, None),
            Message::Notification(notification) => {
                self.accept_notification(headers, identity, Some(notification))
            }
            Message::Request(request) => match self.respond_to_request(headers, identity, request).await {
                Ok(response) => response,
                Err(rpc_error) => {
                    self.count_unknown_method(request, &rpc_error);
                    tracing::debug!(code = rpc_error.code, message = %rpc_error.message, "request rejected");
                    error_response(Some(&request.id), &rpc_error)
                }
            },
        }
    }

    async fn respond_to_request(
        &self,
        headers: &HeaderMap,
        identity: &Arc<Identity>,
        request: &RpcRequest<'_>,
    ) -> Result<Response, RpcError> {
        let context = self.context(headers, identity, None);
        match classify(request, Some(headers))? {
            RequestKind::Modern(method) => {
                // The request runs in the connection's own future, so that the guest is dropped when the
                // client disconnects.
                let mut accepted = modern::accept(request, method, context)?;
                if accepted.wants_progress() {
                    return Ok(self.respond_with_progress(accepted.into_stream(), identity).await);
                }
                let response = accepted.respond().await;
                Ok(response.map_or_else(cancelled, |bytes| json(StatusCode::OK, bytes)))
            }
            RequestKind::Listen => {
                let accepted = modern::listen(request, context)?;
                if !accepts(headers, &["text/event-stream", "text/*"]) {
                    return Err(not_acceptable("text/event-stream"));
                }
                Ok(sse::listen(self.clone(), accepted.begin().await, identity.clone()))
            }
            RequestKind::Initialize => self.initialize(headers, identity, request),
            RequestKind::Legacy => self.respond_in_session(headers, identity, request).await,
        }
    }

    fn context<'a>(
        &'a self,
        headers: &'a HeaderMap,
        identity: &'a Identity,
        in_flight: Option<&'a Arc<CancellableRequests>>,
    ) -> RequestContext<'a> {
        let (caller, limit) = (&identity.caller, &ConcurrencyLimit::Quota);
        RequestContext { endpoint: self, caller, headers: Some(headers), limit, in_flight }
    }

    /// Responds with JSON, or with an event stream if a progress notification precedes the response.
    async fn respond_with_progress(&self, mut stream: CallStream, identity: &Arc<Identity>) -> Response {
        match stream.next().await {
            Some(StreamItem::Response(bytes)) => json(StatusCode::OK, bytes),
            Some(StreamItem::Progress(bytes)) => sse::call(self.clone(), bytes, stream, identity.clone()),
            None => cancelled(),
        }
    }
}

/// The response to a cancelled request: its client expects none, and an event stream can end without one.
fn cancelled() -> Response {
    sse::events(futures_util::stream::empty())
}

/// Reads a whole body. Most bodies arrive in one frame, which is returned without copying.
async fn read_all<B: http_body::Body<Data = Bytes>>(body: B) -> Result<Bytes, B::Error> {
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

fn json(status: StatusCode, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn error_response(id: Option<&Id>, rpc_error: &RpcError) -> Response {
    let mut response = json(rpc_error.status, error(id, rpc_error));
    if let Some(seconds) = rpc_error.retry_after {
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
    cors::allow_request(response.headers_mut());
    response
}

fn not_allowed(allowed: &'static str) -> Response {
    let rpc_error = RpcError::new(INVALID_REQUEST, format!("the method is not allowed here: use {allowed}"));
    let mut response = error_response(None, &rpc_error.with_status(StatusCode::METHOD_NOT_ALLOWED));
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}

#[cfg(test)]
mod tests;
