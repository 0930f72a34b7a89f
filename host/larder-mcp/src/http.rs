//! Streamable HTTP: one path for both eras. The order of the checks follows the protocol.

mod legacy;

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::header::{self, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Method as HttpMethod, Request, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use tokio::sync::OwnedSemaphorePermit;

use super::Endpoint;
use super::auth::{AuthError, Identity, METADATA};
use super::body::{Body, Response};
use super::dispatch::{Peer, error};
use super::era::{RequestKind, classify, has_modern_version_header};
use super::json_writer::object;
use super::listen::{ListenFilter, ListenSubscription};
use super::message::{self, Id, Incoming, Message, Request as RpcRequest};
use super::method::{self, ParsedRequest};
use super::origin_policy;
use super::progress::{CallStream, StreamItem};
use super::rpc_error::{INTERNAL_ERROR, INVALID_REQUEST, RpcError};
use super::sse;
use larder_runtime::deadline::with_deadline;

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
    /// Returns the response to one HTTP request, whatever transport it came over.
    pub async fn respond(&self, request: Request<impl RequestBody>) -> http::Response<Body> {
        let (head, body) = request.into_parts();
        match head.uri.path() {
            PATH => self.respond_to_mcp(&head, body).await,
            path => match path.strip_prefix(WELL_KNOWN).and_then(|rest| rest.strip_prefix(METADATA)) {
                Some(suffix) if suffix.is_empty() || suffix.starts_with('/') => {
                    self.resource_metadata(&head, suffix)
                }
                _ => self.respond_not_found(&head),
            },
        }
    }

    async fn respond_to_mcp(&self, head: &Parts, body: impl RequestBody) -> Response {
        let origin = match self.0.origin_policy.check(head) {
            Ok(origin) => origin,
            Err(rpc_error) => return error_response(None, &rpc_error),
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
            origin_policy::allow_origin(response.headers_mut(), origin);
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
    fn resource_metadata(&self, head: &Parts, suffix: &str) -> Response {
        if let Err(rpc_error) = self.0.origin_policy.check_host(head) {
            return error_response(None, &rpc_error);
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

    fn respond_not_found(&self, head: &Parts) -> Response {
        match self.0.origin_policy.check(head) {
            Ok(_) => not_found(),
            Err(rpc_error) => error_response(None, &rpc_error),
        }
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
            Ok(Incoming::One(message)) => self.respond_to_message(headers, identity, message).await,
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
        message: Message<'_>,
    ) -> Response {
        match message {
            Message::Malformed { id, rpc_error } => error_response(id.as_ref(), &rpc_error),
            Message::Response => self.accept_notification(headers, identity, None),
            Message::Notification(notification) => {
                self.accept_notification(headers, identity, Some(&notification))
            }
            Message::Request(request) => match self.respond_to_request(headers, identity, &request).await {
                Ok(response) => response,
                Err(rpc_error) => {
                    self.count_unknown_method(&request, &rpc_error);
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
        match classify(request, Some(headers))? {
            RequestKind::Modern(method) => {
                let unknown = |rpc_error: RpcError| rpc_error.with_status(StatusCode::NOT_FOUND);
                let method = self.supported_method(method, request).map_err(unknown)?;
                let parsed = ParsedRequest::read(request, method, identity.caller.clone())?
                    .with_trace_headers(headers);
                self.respond_modern(parsed, identity).await
            }
            RequestKind::Listen => self.listen(headers, identity, request).await,
            RequestKind::Initialize => self.initialize(headers, identity, request),
            RequestKind::Legacy => self.in_session(headers, identity, request).await,
        }
    }

    /// Runs the call in the connection's own future, so that the guest is dropped when the client
    /// disconnects.
    async fn respond_modern(
        &self,
        parsed: ParsedRequest,
        identity: &Arc<Identity>,
    ) -> Result<Response, RpcError> {
        let ParsedRequest { id, operation, call, progress } = parsed;
        let wants_progress = progress.is_requested();
        let permit = self.0.gateway.request_permit(&identity.caller).map_err(RpcError::quota_exceeded)?;
        let response = self.clone().dispatch(id, operation, call, Peer::Modern);
        if !wants_progress {
            let response = json(StatusCode::OK, response.await);
            drop(permit);
            return Ok(response);
        }
        let response = async move {
            let _permit = permit;
            Some(response.await)
        };
        Ok(self.respond_with_stream(CallStream::new(progress, response.boxed()), identity).await)
    }

    /// Responds with JSON, or with an event stream if a progress notification precedes the response.
    async fn respond_with_stream(&self, mut stream: CallStream, identity: &Arc<Identity>) -> Response {
        match stream.next().await {
            Some(StreamItem::Response(bytes)) => json(StatusCode::OK, bytes),
            Some(StreamItem::Progress(bytes)) => sse::call(self.clone(), bytes, stream, identity.clone()),
            // The call was cancelled: the client expects no response, and an event stream can end without
            // one.
            None => sse::events(futures_util::stream::empty()),
        }
    }

    async fn listen(
        &self,
        headers: &HeaderMap,
        identity: &Arc<Identity>,
        request: &RpcRequest<'_>,
    ) -> Result<Response, RpcError> {
        let filter = ListenFilter::read(&request.params)?;
        if !accepts(headers, &["text/event-stream", "text/*"]) {
            return Err(not_acceptable("text/event-stream"));
        }
        let permit = self.stream_permit(identity)?;
        let mut call = method::new_call(&request.params, identity.caller.clone())?;
        method::add_trace_headers(&mut call, headers);
        let subscription = ListenSubscription::begin(self, request.id.clone(), filter, call).await;
        Ok(sse::listen(self.clone(), subscription, identity.clone(), permit))
    }

    /// Acquires a permit for a notification stream, from the caller's team and from the server.
    fn stream_permit(&self, identity: &Identity) -> Result<StreamPermit, RpcError> {
        let team = self.0.gateway.stream_permit(&identity.caller).map_err(RpcError::quota_exceeded)?;
        let server = self.0.stream_permits.clone().try_acquire_owned().map_err(|_| {
            RpcError::new(INTERNAL_ERROR, "too many clients are listening: try again later")
                .with_status(StatusCode::SERVICE_UNAVAILABLE)
        })?;
        Ok(StreamPermit { _server: server, _team: team })
    }
}

/// A permit for one notification stream. It is released on drop.
pub(super) struct StreamPermit {
    _server: OwnedSemaphorePermit,
    _team: Option<OwnedSemaphorePermit>,
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

fn check_accept(headers: &HeaderMap) -> Result<(), RpcError> {
    if accepts(headers, &["application/json", "application/*"]) {
        return Ok(());
    }
    Err(not_acceptable("application/json, text/event-stream"))
}

/// Whether the client accepts one of these media types. Without an Accept header it accepts every type.
fn accepts(headers: &HeaderMap, types: &[&str]) -> bool {
    let mut values = headers.get_all(header::ACCEPT).iter().peekable();
    if values.peek().is_none() {
        return true;
    }
    values.flat_map(|value| split_trimmed(value.as_bytes(), b',')).any(|range| {
        let mut parts = split_trimmed(range, b';');
        let media_type = parts.next().unwrap_or_default();
        let is_accepted = media_type == b"*/*"
            || types.iter().any(|accepted| media_type.eq_ignore_ascii_case(accepted.as_bytes()));
        is_accepted && !parts.any(has_zero_weight)
    })
}

/// Whether a media range parameter is a weight of zero, which means "not acceptable".
fn has_zero_weight(parameter: &[u8]) -> bool {
    let weight = parameter.strip_prefix(b"q=").and_then(|weight| std::str::from_utf8(weight).ok());
    weight.and_then(|weight| weight.parse::<f32>().ok()).is_some_and(|weight| weight <= 0.0)
}

/// Splits at a separator and trims the parts.
fn split_trimmed(value: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    value.split(move |byte| *byte == separator).map(<[u8]>::trim_ascii)
}

/// Requires `application/json`: an HTML form on any web page can send other types without a preflight
/// request.
fn check_content_type(headers: &HeaderMap) -> Result<(), RpcError> {
    let media_type =
        headers.get(header::CONTENT_TYPE).and_then(|value| split_trimmed(value.as_bytes(), b';').next());
    if media_type.is_some_and(|media_type| media_type.eq_ignore_ascii_case(b"application/json")) {
        return Ok(());
    }
    let why = "the content type must be application/json";
    Err(RpcError::new(INVALID_REQUEST, why).with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE))
}

fn not_acceptable(required: &str) -> RpcError {
    let why = format!("the client must accept {required}");
    RpcError::new(INVALID_REQUEST, why).with_status(StatusCode::NOT_ACCEPTABLE)
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
    origin_policy::allow_request(response.headers_mut());
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
