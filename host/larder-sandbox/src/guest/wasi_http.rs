//! The wasi:http requests of guests, which are checked and sent like the requests of `http-client`.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use http_body::Body as _;
use http_body_util::{BodyExt as _, Limited, StreamBody};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use wasmtime_wasi_http::{Error as WasiError, RequestOptions, WasiBody, WasiHttpHooks};

use super::log::{Log, LogLevel};
use crate::network::outgoing_http::{
    MAX_CONCURRENT_REQUESTS, OutgoingHttp, RequestError, request_error,
};
use larder_model::policy::Permit;

/// Implements wasi:http with [`OutgoingHttp`].
pub(super) struct HttpHooks {
    outgoing_http: Arc<OutgoingHttp>,
    log: Log,
    /// The permission for the current call.
    permit: Permit,
    /// One slot for each request until its response was read or dropped. None until the first request.
    slots: Option<Arc<Semaphore>>,
}

impl HttpHooks {
    pub(super) fn new(outgoing_http: Arc<OutgoingHttp>, log: Log, permit: Permit) -> Self {
        Self {
            outgoing_http,
            log,
            permit,
            slots: None,
        }
    }

    /// Sets the call to which the following requests belong.
    pub(super) fn begin_call(&mut self, permit: Permit) {
        self.permit = permit;
    }

    fn take_slot(&mut self) -> Option<OwnedSemaphorePermit> {
        let slots = self
            .slots
            .get_or_insert_with(|| Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS)));
        slots.clone().try_acquire_owned().ok()
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
        let slot = self.take_slot();
        let permit = self.permit.clone();
        Box::new(async move {
            let slot = slot.ok_or_else(|| too_many_requests(&log))?;
            let timeouts = Timeouts::new(options);
            let request = request.map(request_body);
            let response = outgoing_http.send(request, timeouts.connect, &permit);
            let response = timeout(timeouts.head, response).await;
            let response = response.map_err(|_| WasiError::ConnectionReadTimeout)?;
            let response = response.map_err(|error| to_wasi(error, &log))?;
            let limit = usize::try_from(outgoing_http.body_limit).unwrap_or(usize::MAX);
            let response = response.map(|body| {
                let body = Limited::new(body, limit);
                let body = body.map_err(move |error| body_error(error.as_ref(), &log));
                with_slot(body.boxed_unsync(), timeouts.between_bytes, slot)
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

/// A body that is known to be empty is not streamed, so that its length can be sent and its digest can be signed.
fn request_body(body: WasiBody) -> reqwest::Body {
    if body.is_end_stream() {
        return reqwest::Body::default();
    }
    reqwest::Body::wrap_stream(body.into_data_stream())
}

/// Returns a body that holds a slot, and that fails if its next bytes do not arrive in time.
fn with_slot(body: WasiBody, between_bytes: Duration, slot: OwnedSemaphorePermit) -> WasiBody {
    let frames = stream::unfold((body, slot), move |(mut body, slot)| async move {
        let frame = timeout(between_bytes, body.frame()).await;
        let frame = frame.unwrap_or(Some(Err(WasiError::ConnectionReadTimeout)))?;
        Some((frame, (body, slot)))
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

fn body_error(error: &(dyn std::error::Error + Send + Sync + 'static), log: &Log) -> WasiError {
    if error.is::<http_body_util::LengthLimitError>() {
        return WasiError::HttpResponseBodySize(None);
    }
    match error.downcast_ref() {
        Some(error) => to_wasi(request_error(error), log),
        None => WasiError::InternalError(Some(error.to_string())),
    }
}
