//! The wasi:http requests of guests, which are checked and sent like the requests of `http-client`.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use http_body_util::{BodyExt as _, Limited, StreamBody};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use wasmtime_wasi_http::{Error as WasiError, RequestOptions, WasiBody, WasiHttpHooks};

use super::log::{Log, LogLevel};
use crate::network::outgoing_http::{MAX_CONCURRENT_REQUESTS, OutgoingHttp, RequestError};
use larder_model::trace::TraceContext;

/// Implements wasi:http with [`OutgoingHttp`].
pub(super) struct HttpHooks {
    outgoing_http: Arc<OutgoingHttp>,
    log: Log,
    trace: Option<TraceContext>,
    /// One permit for each request until its response was read or dropped. None until the first request.
    permits: Option<Arc<Semaphore>>,
}

impl HttpHooks {
    pub(super) fn new(
        outgoing_http: Arc<OutgoingHttp>,
        log: Log,
        trace: Option<TraceContext>,
    ) -> Self {
        Self {
            outgoing_http,
            log,
            trace,
            permits: None,
        }
    }

    /// Sets the trace context for the following requests.
    pub(super) fn set_trace(&mut self, trace: Option<TraceContext>) {
        self.trace = trace;
    }

    fn take_permit(&mut self) -> Option<OwnedSemaphorePermit> {
        let permits = self
            .permits
            .get_or_insert_with(|| Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS)));
        permits.clone().try_acquire_owned().ok()
    }

    /// Adds the trace context to the headers of a request, unless the guest has already set it.
    fn add_trace_headers(&self, headers: &mut http::HeaderMap) {
        let trace = self
            .trace
            .as_ref()
            .filter(|_| !headers.contains_key("traceparent"));
        for (name, value) in trace.into_iter().flat_map(TraceContext::headers) {
            if let Ok(value) = http::HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        }
    }
}

type WasiResponse = (
    http::Response<WasiBody>,
    Box<dyn Future<Output = Result<(), WasiError>> + Send>,
);

impl WasiHttpHooks for HttpHooks {
    fn set_host_header(&mut self) -> bool {
        false
    }

    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _done: Box<dyn Future<Output = Result<(), WasiError>> + Send>,
    ) -> Box<dyn Future<Output = Result<WasiResponse, WasiError>> + Send> {
        let outgoing_http = self.outgoing_http.clone();
        let log = self.log.clone();
        let permit = self.take_permit();
        let mut request = request;
        self.add_trace_headers(request.headers_mut());
        Box::new(async move {
            let permit = permit.ok_or_else(|| too_many_requests(&log))?;
            let timeouts = Timeouts::new(options);
            let request = request.map(|body| reqwest::Body::wrap_stream(body.into_data_stream()));
            let response =
                timeout(timeouts.head, outgoing_http.send(request, timeouts.connect)).await;
            let response = response.map_err(|_| WasiError::ConnectionReadTimeout)?;
            let response = response.map_err(|error| to_wasi(error, &log))?;
            let limit = usize::try_from(outgoing_http.body_limit).unwrap_or(usize::MAX);
            let response = response.map(|body| {
                let body = Limited::new(body, limit).map_err(|error| body_error(error.as_ref()));
                with_permit(body.boxed_unsync(), timeouts.between_bytes, permit)
            });
            let done: Box<dyn Future<Output = _> + Send> = Box::new(std::future::ready(Ok(())));
            Ok((response, done))
        })
    }
}

/// The timeouts of a request. If the guest sets no limit, only the limits of the host apply.
struct Timeouts {
    connect: Option<Duration>,
    /// The time until the head of the response has arrived.
    head: Duration,
    between_bytes: Duration,
}

impl Timeouts {
    fn new(options: Option<RequestOptions>) -> Self {
        let (connect, first_byte, between_bytes) = options.map_or((None, None, None), |options| {
            (
                options.connect_timeout,
                options.first_byte_timeout,
                options.between_bytes_timeout,
            )
        });
        // The time for the first byte begins when the connection exists. The host only knows when the request began, so
        // the time that connecting may take is added.
        let head =
            first_byte.and_then(|first_byte| first_byte.checked_add(connect.unwrap_or_default()));
        Self {
            connect,
            head: head.unwrap_or(Duration::MAX),
            between_bytes: between_bytes.unwrap_or(Duration::MAX),
        }
    }
}

/// Returns a body that holds a permit, and that fails if its next bytes do not arrive in time.
fn with_permit(body: WasiBody, between_bytes: Duration, permit: OwnedSemaphorePermit) -> WasiBody {
    let frames = stream::unfold((body, permit), move |(mut body, permit)| async move {
        let frame = timeout(between_bytes, body.frame()).await;
        let frame = frame.unwrap_or(Some(Err(WasiError::ConnectionReadTimeout)))?;
        Some((frame, (body, permit)))
    });
    StreamBody::new(frames).boxed_unsync()
}

fn too_many_requests(log: &Log) -> WasiError {
    let why = format!("more than {MAX_CONCURRENT_REQUESTS} wasi:http requests at the same time");
    log.line(LogLevel::Info, &why);
    WasiError::ConnectionLimitReached
}

fn to_wasi(error: RequestError, log: &Log) -> WasiError {
    match error {
        RequestError::Denied(why) => {
            // The error type of wasi:http cannot contain the reason, so the reason is logged.
            log.line(LogLevel::Info, &why);
            WasiError::HttpRequestDenied
        }
        RequestError::Unreachable(why) => WasiError::InternalError(Some(why)),
        RequestError::TimedOut => WasiError::ConnectionTimeout,
        RequestError::TooLarge => WasiError::HttpResponseBodySize(None),
        RequestError::NoMemory => WasiError::InternalError(Some("no memory".into())),
    }
}

fn body_error(error: &(dyn std::error::Error + Send + Sync + 'static)) -> WasiError {
    if error.is::<http_body_util::LengthLimitError>() {
        return WasiError::HttpResponseBodySize(None);
    }
    WasiError::InternalError(Some(error.to_string()))
}
