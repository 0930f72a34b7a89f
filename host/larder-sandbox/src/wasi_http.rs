//! The wasi:http requests of guests, which are checked and sent like those of `http-client`.

use std::sync::Arc;

use http_body_util::{BodyExt as _, Limited};
use wasmtime_wasi_http::{Error as WasiError, RequestOptions, WasiBody, WasiHttpHooks};

use super::log::{Log, LogLevel};
use super::outgoing_http::{OutgoingHttp, RequestError};
use larder_model::trace::TraceContext;

/// Implements wasi:http with [`OutgoingHttp`].
pub(super) struct HttpHooks {
    outgoing_http: Arc<OutgoingHttp>,
    log: Log,
    trace: Option<TraceContext>,
}

impl HttpHooks {
    pub(super) fn new(outgoing_http: Arc<OutgoingHttp>, log: Log, trace: Option<TraceContext>) -> Self {
        Self { outgoing_http, log, trace }
    }

    /// Sets the trace context for the following requests.
    pub(super) fn set_trace(&mut self, trace: Option<TraceContext>) {
        self.trace = trace;
    }

    /// Adds the trace context to the headers of a request, unless the guest has set one.
    fn add_trace_headers(&self, headers: &mut http::HeaderMap) {
        let trace = self.trace.as_ref().filter(|_| !headers.contains_key("traceparent"));
        for (name, value) in trace.into_iter().flat_map(TraceContext::headers) {
            if let Ok(value) = http::HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        }
    }
}

type WasiResponse = (http::Response<WasiBody>, Box<dyn Future<Output = Result<(), WasiError>> + Send>);

impl WasiHttpHooks for HttpHooks {
    fn set_host_header(&mut self) -> bool {
        false
    }

    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        _options: Option<RequestOptions>,
        _done: Box<dyn Future<Output = Result<(), WasiError>> + Send>,
    ) -> Box<dyn Future<Output = Result<WasiResponse, WasiError>> + Send> {
        let (outgoing_http, log) = (self.outgoing_http.clone(), self.log.clone());
        let mut request = request;
        self.add_trace_headers(request.headers_mut());
        Box::new(async move {
            let request = request.map(|body| reqwest::Body::wrap_stream(body.into_data_stream()));
            let response = outgoing_http.send(request).await.map_err(|error| to_wasi(error, &log))?;
            let limit = usize::try_from(outgoing_http.body_limit).unwrap_or(usize::MAX);
            let response = response.map(|body| {
                Limited::new(body, limit).map_err(|error| body_error(error.as_ref())).boxed_unsync()
            });
            let done: Box<dyn Future<Output = _> + Send> = Box::new(std::future::ready(Ok(())));
            Ok((response, done))
        })
    }
}

fn to_wasi(error: RequestError, log: &Log) -> WasiError {
    match error {
        RequestError::Denied(why) => {
            // The error type of wasi:http cannot carry the reason, so it is logged.
            log.line(LogLevel::Info, &why);
            WasiError::HttpRequestDenied
        }
        RequestError::Unreachable(why) => WasiError::InternalError(Some(why)),
        RequestError::TimedOut => WasiError::ConnectionTimeout,
        RequestError::TooLarge => WasiError::HttpResponseBodySize(None),
    }
}

fn body_error(error: &(dyn std::error::Error + Send + Sync + 'static)) -> WasiError {
    if error.is::<http_body_util::LengthLimitError>() {
        return WasiError::HttpResponseBodySize(None);
    }
    WasiError::InternalError(Some(error.to_string()))
}
