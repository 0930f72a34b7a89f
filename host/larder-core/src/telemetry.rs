//! Exports traces to a collector (OTLP over HTTP, in JSON) and decides which requests are recorded. Spans are
//! queued without waiting, and one task sends them in batches. Spans are dropped and counted when the queue
//! is full.

mod export;
mod otlp;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use tokio::sync::mpsc;

use self::export::Exporter;
use larder_model::name::TeamName;
use larder_model::policy::Secret;
use larder_model::resource::Call;
use larder_model::trace::{ActiveSpan, SpanData, SpanRecorder, TraceContext};
use larder_runtime::drain::{Drain, SupervisedTask};
use larder_runtime::health::Impact;
use larder_runtime::metrics::Metrics;
use larder_runtime::shares::{Resource, SPANS, SharePermit, TeamShares};

/// Sends a request without spans to a collector, as the server would. Returns what is wrong, if the collector does not
/// accept the request.
pub async fn probe(collector: &Collector) -> Result<(), String> {
    export::probe(collector).await
}

/// Configuration of tracing. `None` turns it off.
pub type Config = Option<Collector>;

/// The collector, and which requests are recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Collector {
    /// The complete URL, with the path.
    pub url: String,
    /// Request headers, such as an API key.
    pub headers: Vec<(String, Secret)>,
    /// The service name of this server.
    pub service: String,
    /// The share of requests that is recorded, from 0 to 1. It applies to requests without a trace context.
    pub sample: f64,
}

/// Why the exporter could not be created.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up TLS: {0}")]
pub struct TelemetryError(#[from] reqwest::Error);

/// Records requests. Clones share the same queue. The default records nothing.
#[derive(Debug, Clone, Default)]
pub struct Telemetry(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    recorders: ArcSwap<BTreeMap<TeamName, SpanRecorder>>,
    sample: f64,
    spans: mpsc::Sender<QueuedSpan>,
    metrics: Metrics,
    dropping: Arc<AtomicBool>,
}

/// A span in the queue, with its slot in the team's share: any client can cause its requests to be recorded.
struct QueuedSpan {
    span: SpanData,
    _share: SharePermit,
}

impl Telemetry {
    /// Starts exporting the spans of these teams. When the drain stops, the exporter sends the queued spans
    /// for a limited time and then ends.
    pub fn open(
        config: &Config,
        teams: BTreeMap<TeamName, TeamShares>,
        metrics: &Metrics,
        drain: &Drain,
    ) -> Result<Self, TelemetryError> {
        let Some(collector) = config else {
            return Ok(Self::default());
        };
        let (spans, queue) = mpsc::channel(SPANS);
        let dropping = Arc::<AtomicBool>::default();
        let exporter = Exporter::new(
            collector,
            queue,
            metrics.clone(),
            dropping.clone(),
            drain.clone(),
        )?;
        drain.supervise(
            SupervisedTask::new("traces", Impact::OperatorOnly),
            exporter.run(),
        );
        let recorders = ArcSwap::default();
        let sample = collector.sample;
        let metrics = metrics.clone();
        let telemetry = Self(Some(Arc::new(Inner {
            recorders,
            sample,
            spans,
            metrics,
            dropping,
        })));
        telemetry.set_teams(teams);
        Ok(telemetry)
    }

    /// Records the requests of these teams from now on.
    pub fn set_teams(&self, teams: BTreeMap<TeamName, TeamShares>) {
        let Some(inner) = &self.0 else { return };
        let recorders = teams
            .into_iter()
            .map(|(team, shares)| (team, inner.recorder(shares)))
            .collect();
        inner.recorders.store(Arc::new(recorders));
    }

    /// Whether tracing is turned on.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Starts the span of a request if the request is sampled. The client's trace context decides; without a trace
    /// context, a random number decides. Spans of this call are children of it from now on.
    pub fn start_request(&self, call: &mut Call, method: &str) -> Option<ActiveSpan> {
        let inner = self.0.as_ref()?;
        let parent = call.trace.as_ref();
        if !parent.map_or_else(|| random_share() < inner.sample, TraceContext::is_sampled) {
            return None;
        }
        let recorder = {
            let recorders = inner.recorders.load();
            let mut teams = call.caller.iter().flat_map(|caller| caller.teams.iter());
            teams.find_map(|team| recorders.get(team).cloned())?
        };
        let mut span = ActiveSpan::of_request(recorder, parent, method.to_owned());
        span.set_attribute("mcp.method.name", method);
        if let Some(id) = &call.request_id {
            let text = serde_json::from_str::<String>(id);
            span.set_attribute("jsonrpc.request.id", text.as_deref().unwrap_or(id));
        }
        if let Some(context) = span.context() {
            call.set_trace(context.clone());
        }
        Some(span)
    }
}

impl Inner {
    /// Creates the recorder of a team, which may use its share of the queue.
    fn recorder(&self, shares: TeamShares) -> SpanRecorder {
        let spans = self.spans.clone();
        let metrics = self.metrics.clone();
        let dropping = self.dropping.clone();
        SpanRecorder::new(move |span| {
            let share = shares.try_take(Resource::Spans, 1);
            if share
                .and_then(|_share| spans.try_send(QueuedSpan { span, _share }).ok())
                .is_none()
            {
                shares.count_refusal(Resource::Spans);
                count_dropped(&metrics, &dropping);
            }
        })
    }
}

fn count_dropped(metrics: &Metrics, dropping: &AtomicBool) {
    metrics.server().spans.dropped.inc();
    if !dropping.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            "the collector is too slow: spans are dropped and counted in larder_spans_total"
        );
    }
}

/// Returns a random number from 0 (inclusive) to 1 (exclusive).
fn random_share() -> f64 {
    let mut bytes = [0; 4];
    // If there are no random numbers, requests are recorded only if all of them are to be recorded.
    getrandom::fill(&mut bytes).map_or(0.999, |()| {
        f64::from(u32::from_le_bytes(bytes)) / (f64::from(u32::MAX) + 1.0)
    })
}
