//! The task that sends spans. If the collector fails, spans are lost and counted. Requests are never
//! affected.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use tokio::sync::mpsc;

use super::{Collector, QueuedSpan, otlp};
use larder_model::trace::SpanData;
use larder_runtime::drain::Drain;
use larder_runtime::metrics::Metrics;

/// Maximum number of spans in a batch.
const BATCH_SIZE: usize = 512;
/// How long the first span of a batch waits for more spans.
const BATCH_DELAY: Duration = Duration::from_secs(1);
/// Timeout of one request to the collector.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Delays before a failed batch is sent again. After the last retry the batch is dropped.
const RETRY_DELAYS: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];
/// How long spans are still sent at shutdown. This time is shorter than the time for the audit log.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum size of a collector's response that is parsed.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

pub(super) struct Exporter {
    client: reqwest::Client,
    url: String,
    service: String,
    queue: mpsc::Receiver<QueuedSpan>,
    metrics: Metrics,
    dropping: Arc<AtomicBool>,
    drain: Drain,
    /// Number of spans that were taken from the queue and are not counted yet.
    in_flight: AtomicU64,
    failing: bool,
}

/// Why a batch was not accepted.
#[derive(Debug, thiserror::Error)]
enum SendError {
    #[error("the request failed: {0}")]
    Unreachable(String),
    #[error("the collector responded with {0}")]
    Status(StatusCode),
}

impl SendError {
    /// Whether sending the same batch again may succeed.
    fn is_retryable(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::Status(status) => matches!(status.as_u16(), 429 | 502 | 503 | 504),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ExportResponse {
    partial_success: PartialSuccess,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PartialSuccess {
    /// A number or a string with a number: Protocol Buffers JSON allows both.
    rejected_spans: serde_json::Value,
}

/// Creates the client for a collector.
fn client(collector: &Collector) -> Result<reqwest::Client, reqwest::Error> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in &collector.headers {
        // Name and value were validated when the configuration was read.
        if let (Ok(name), Ok(mut value)) = (
            HeaderName::try_from(name.as_str()),
            HeaderValue::from_str(value.reveal()),
        ) {
            value.set_sensitive(true);
            headers.insert(name, value);
        }
    }
    let client = larder_http::client_builder().timeout(REQUEST_TIMEOUT);
    client.no_proxy().default_headers(headers).build()
}

/// Sends one request, and returns the response to it if it is accepted.
async fn send(
    client: &reqwest::Client,
    url: &str,
    body: bytes::Bytes,
) -> Result<reqwest::Response, SendError> {
    let unreachable = |error: reqwest::Error| {
        // The URL was removed, because it may contain a key.
        SendError::Unreachable(larder_http::root_cause(&error))
    };
    let sending = client.post(url).body(body).send();
    let response = sending
        .await
        .map_err(|error| unreachable(error.without_url()))?;
    match response.status() {
        status if status.is_success() => Ok(response),
        status => Err(SendError::Status(status)),
    }
}

/// Sends a request without spans. Returns what is wrong, if the collector does not accept the request.
pub(super) async fn probe(collector: &Collector) -> Result<(), String> {
    let client = client(collector).map_err(|error| error.to_string())?;
    let body = bytes::Bytes::from_static(br#"{"resourceSpans":[]}"#);
    let sent = send(&client, &collector.url, body).await;
    sent.map(drop).map_err(|error| error.to_string())
}

impl Exporter {
    pub(super) fn new(
        collector: &Collector,
        queue: mpsc::Receiver<QueuedSpan>,
        metrics: Metrics,
        dropping: Arc<AtomicBool>,
        drain: Drain,
    ) -> Result<Self, super::TelemetryError> {
        let client = client(collector)?;
        Ok(Self {
            client,
            url: collector.url.clone(),
            service: collector.service.clone(),
            queue,
            metrics,
            dropping,
            drain,
            in_flight: AtomicU64::new(0),
            failing: false,
        })
    }

    pub(super) async fn run(mut self) {
        let drain = self.drain.clone();
        let flush_timeout = async {
            drain.stopping().await;
            tokio::time::sleep(FLUSH_TIMEOUT).await;
        };
        tokio::select! {
            () = self.export() => {}
            () = flush_timeout => {
                let lost = self.in_flight.load(Ordering::Relaxed) + self.queue.len() as u64;
                self.metrics.server().spans.failed.inc_by(lost);
                tracing::warn!(lost, "the collector did not accept the last spans in time");
            }
        }
    }

    async fn export(&mut self) {
        while let Some(spans) = self.next_batch().await {
            self.in_flight.store(spans.len() as u64, Ordering::Relaxed);
            self.send(&spans).await;
            self.in_flight.store(0, Ordering::Relaxed);
            if self.queue.is_empty() && self.dropping.swap(false, Ordering::Relaxed) {
                let dropped = self.metrics.server().spans.dropped.get();
                tracing::warn!(dropped, "the collector is fast enough again");
            }
        }
    }

    /// Returns the next batch, or `None` when the server stops and the queue is empty.
    async fn next_batch(&mut self) -> Option<Vec<SpanData>> {
        let mut spans = Vec::new();
        tokio::select! {
            _ = self.queue.recv_many(&mut spans, BATCH_SIZE) => {}
            () = self.drain.stopping() => {}
        }
        let full = async {
            while (1..BATCH_SIZE).contains(&spans.len()) && !self.queue.is_closed() {
                let free = BATCH_SIZE - spans.len();
                self.queue.recv_many(&mut spans, free).await;
            }
        };
        tokio::select! {
            () = full => {}
            () = tokio::time::sleep(BATCH_DELAY) => {}
            () = self.drain.stopping() => {}
        }
        if self.drain.is_stopping() {
            // The shutdown does not wait for further spans.
            self.queue.close();
            let free = BATCH_SIZE.saturating_sub(spans.len());
            if free > 0 {
                self.queue.recv_many(&mut spans, free).await;
            }
        }
        let spans: Vec<_> = spans
            .into_iter()
            .map(|queued: QueuedSpan| queued.span)
            .collect();
        (!spans.is_empty()).then_some(spans)
    }

    /// Sends a batch, with retries, and counts its spans by outcome.
    async fn send(&mut self, spans: &[SpanData]) {
        let all = spans.len() as u64;
        let body = bytes::Bytes::from(otlp::body(&self.service, spans));
        let mut delays = RETRY_DELAYS.iter();
        loop {
            let sent = self.post(body.clone()).await;
            self.log_change(&sent);
            let counts = &self.metrics.server().spans;
            match sent {
                Ok(rejected) => {
                    let rejected = rejected.min(all);
                    counts.failed.inc_by(rejected);
                    counts.written.inc_by(all - rejected);
                    return;
                }
                Err(error) => {
                    match delays
                        .next()
                        .filter(|_| error.is_retryable() && !self.drain.is_stopping())
                    {
                        None => {
                            counts.failed.inc_by(all);
                            return;
                        }
                        Some(delay) => tokio::select! {
                            () = tokio::time::sleep(*delay) => {}
                            () = self.drain.stopping() => {}
                        },
                    }
                }
            }
        }
    }

    /// Sends a batch once. Returns how many spans the collector rejected.
    async fn post(&self, body: bytes::Bytes) -> Result<u64, SendError> {
        let mut response = send(&self.client, &self.url, body).await?;
        let mut body = Vec::new();
        // The spans were accepted, even if the response cannot be read.
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_RESPONSE_BYTES {
                return Ok(0);
            }
        }
        let parsed: ExportResponse = serde_json::from_slice(&body).unwrap_or_default();
        let rejected = parsed.partial_success.rejected_spans;
        Ok(rejected
            .as_u64()
            .or_else(|| rejected.as_str()?.parse().ok())
            .unwrap_or(0))
    }

    /// Logs when exporting begins to fail, and when it works again.
    fn log_change(&mut self, sent: &Result<u64, SendError>) {
        match sent {
            Err(error) if !self.failing => {
                tracing::warn!(%error, "cannot send spans to `telemetry.otlp`: they are retried, then dropped");
            }
            Ok(_) if self.failing => tracing::warn!("the collector accepts spans again"),
            _ => {}
        }
        self.failing = sent.is_err();
    }
}
