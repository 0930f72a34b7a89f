//! The one task that sends spans. A collector that fails costs spans, which are counted, and never a request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use serde::Deserialize;
use tokio::sync::mpsc;

use super::{Collector, Waiting, otlp};
use crate::drain::Drain;
use crate::metrics::Metrics;
use crate::trace::Span;

/// Spans that are sent at once.
const BATCH: usize = 512;
/// How long the first span of a batch waits for others.
const GATHER: Duration = Duration::from_secs(1);
/// How long one request to the collector may take.
const REQUEST: Duration = Duration::from_secs(10);
/// How long to wait before a batch is sent again, once after each failure; then it is given up.
const PAUSES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];
/// How long the sending may go on when the house stops: shorter than what is left to the audit log.
const FLUSH: Duration = Duration::from_secs(2);
/// Bytes of the collector's answer that are looked at.
const ANSWER: usize = 64 << 10;

pub(super) struct Export {
    client: reqwest::Client,
    url: String,
    service: String,
    waiting: mpsc::Receiver<Waiting>,
    metrics: Metrics,
    dropping: Arc<AtomicBool>,
    drain: Drain,
    /// Spans that were taken out of the queue and are not yet counted.
    in_hand: AtomicU64,
    failing: bool,
}

/// Why spans did not arrive.
#[derive(Debug, thiserror::Error)]
enum SendError {
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    #[error("it answered {0}")]
    Answered(StatusCode),
}

impl SendError {
    /// Whether the same may arrive later.
    fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::Answered(status) => matches!(status.as_u16(), 429 | 502 | 503 | 504),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Answer {
    partial_success: Partial,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Partial {
    /// A number, or a text with a number: the JSON of protocol buffers has both.
    rejected_spans: serde_json::Value,
}

impl Export {
    pub(super) fn new(
        collector: &Collector,
        waiting: mpsc::Receiver<Waiting>,
        metrics: Metrics,
        dropping: Arc<AtomicBool>,
        drain: Drain,
    ) -> Result<Self, super::TelemetryError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in &collector.headers {
            // Both were looked at when the configuration was read.
            if let (Ok(name), Ok(mut value)) =
                (HeaderName::try_from(name.as_str()), HeaderValue::from_str(value.reveal()))
            {
                value.set_sensitive(true);
                headers.insert(name, value);
            }
        }
        // An error says that somebody has installed it before.
        _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().redirect(Policy::none()).timeout(REQUEST);
        let client = client.no_proxy().default_headers(headers).build()?;
        let (url, service) = (collector.url.clone(), collector.service.clone());
        let in_hand = AtomicU64::new(0);
        Ok(Self { client, url, service, waiting, metrics, dropping, drain, in_hand, failing: false })
    }

    pub(super) async fn run(mut self) {
        let drain = self.drain.clone();
        let too_late = async {
            drain.stopping().await;
            tokio::time::sleep(FLUSH).await;
        };
        tokio::select! {
            () = self.work() => {}
            () = too_late => {
                let lost = self.in_hand.load(Ordering::Relaxed) + self.waiting.len() as u64;
                self.metrics.house().spans.failed.add(lost);
                tracing::warn!(lost, "the collector did not take the last spans in time");
            }
        }
    }

    async fn work(&mut self) {
        while let Some(spans) = self.gather().await {
            self.in_hand.store(spans.len() as u64, Ordering::Relaxed);
            self.send(&spans).await;
            self.in_hand.store(0, Ordering::Relaxed);
            if self.waiting.is_empty() && self.dropping.swap(false, Ordering::Relaxed) {
                let dropped = self.metrics.house().spans.dropped.get();
                tracing::warn!(dropped, "the collector keeps up again; so many spans were left out in all");
            }
        }
    }

    /// The next batch; none when all was sent and the house stops.
    async fn gather(&mut self) -> Option<Vec<Span>> {
        let mut spans = Vec::new();
        tokio::select! {
            _ = self.waiting.recv_many(&mut spans, BATCH) => {}
            () = self.drain.stopping() => {}
        }
        let full = async {
            while (1..BATCH).contains(&spans.len()) && !self.waiting.is_closed() {
                let room = BATCH - spans.len();
                self.waiting.recv_many(&mut spans, room).await;
            }
        };
        tokio::select! {
            () = full => {}
            () = tokio::time::sleep(GATHER) => {}
            () = self.drain.stopping() => {}
        }
        if self.drain.is_stopping() {
            // Nothing ends any more that would be worth waiting for.
            self.waiting.close();
            let room = BATCH.saturating_sub(spans.len());
            if room > 0 {
                self.waiting.recv_many(&mut spans, room).await;
            }
        }
        let spans: Vec<_> = spans.into_iter().map(|waiting: Waiting| waiting.span).collect();
        (!spans.is_empty()).then_some(spans)
    }

    /// Sends a batch, and counts what became of it.
    async fn send(&mut self, spans: &[Span]) {
        let all = spans.len() as u64;
        let body = bytes::Bytes::from(otlp::body(&self.service, spans));
        let mut pauses = PAUSES.iter();
        loop {
            let sent = self.post(body.clone()).await;
            self.tell(&sent);
            let counts = &self.metrics.house().spans;
            match sent {
                Ok(rejected) => {
                    let rejected = rejected.min(all);
                    counts.failed.add(rejected);
                    return counts.written.add(all - rejected);
                }
                Err(error) => match pauses.next().filter(|_| error.may_pass() && !self.drain.is_stopping()) {
                    None => return counts.failed.add(all),
                    Some(pause) => tokio::select! {
                        () = tokio::time::sleep(*pause) => {}
                        () = self.drain.stopping() => {}
                    },
                },
            }
        }
    }

    /// Says how many spans the collector did not want.
    async fn post(&self, body: bytes::Bytes) -> Result<u64, SendError> {
        let unreachable = |error: reqwest::Error| {
            // The address may hold a key; the innermost reason is what says most.
            let mut reason: &dyn std::error::Error = &error;
            while let Some(source) = reason.source() {
                reason = source;
            }
            SendError::Unreachable(reason.to_string())
        };
        let sending = self.client.post(&self.url).body(body).send();
        let mut response = sending.await.map_err(|error| unreachable(error.without_url()))?;
        if !response.status().is_success() {
            return Err(SendError::Answered(response.status()));
        }
        let mut answer = Vec::new();
        // They have arrived whatever becomes of the answer.
        while let Ok(Some(piece)) = response.chunk().await {
            answer.extend_from_slice(&piece);
            if answer.len() > ANSWER {
                return Ok(0);
            }
        }
        let rejected =
            serde_json::from_slice::<Answer>(&answer).unwrap_or_default().partial_success.rejected_spans;
        Ok(rejected.as_u64().or_else(|| rejected.as_str()?.parse().ok()).unwrap_or(0))
    }

    /// Says it once when it begins, and once when it is over.
    fn tell(&mut self, sent: &Result<u64, SendError>) {
        match sent {
            Err(error) if !self.failing => {
                tracing::warn!(%error, "the collector of `telemetry.otlp` takes no spans; they are tried again, then lost");
            }
            Ok(_) if self.failing => tracing::warn!("the collector takes spans again"),
            _ => {}
        }
        self.failing = sent.is_err();
    }
}
