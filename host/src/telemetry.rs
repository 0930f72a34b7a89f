//! Traces for a collector: which requests are recorded, and their spans on the way out (OTLP over HTTP, in JSON).
//! What is recorded is handed over without waiting; one task sends it in batches, and what it has no room for is
//! counted and left out.

mod export;
mod otlp;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use self::export::Export;
use crate::drain::Drain;
use crate::metrics::Metrics;
use crate::name::TeamName;
use crate::policy::Secret;
use crate::resource::Call;
use crate::trace::{Open, Recorder, Span, Trace};

/// Spans that wait to be sent.
const WAITING: usize = 4_096;
/// Each team has its share of them, as any client can have its requests recorded; but never less than this.
const LEAST: usize = 256;

/// What the operator decides about it: none for no traces.
pub type Config = Option<Collector>;

/// Where spans go, and which.
#[derive(Debug, Clone, PartialEq)]
pub struct Collector {
    /// The whole address, with the path.
    pub url: String,
    /// What is sent along, such as a key.
    pub headers: Vec<(String, Secret)>,
    /// What this server is called there.
    pub service: String,
    /// The part of all requests that is recorded, where who asks does not say it.
    pub sample: f64,
}

/// Why nothing can be sent at all.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up TLS: {0}")]
pub struct TelemetryError(#[from] reqwest::Error);

/// Records requests. Clones are the same; the default records none.
#[derive(Debug, Clone, Default)]
pub struct Telemetry(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    recorders: BTreeMap<TeamName, Recorder>,
    sample: f64,
}

/// A span that waits, on one of the places of its team.
struct Waiting {
    span: Span,
    _place: OwnedSemaphorePermit,
}

impl Telemetry {
    /// Sends what is recorded for these teams until this drain stops, and then what is left, for as long as there is
    /// time.
    pub fn open(
        config: &Config,
        teams: impl IntoIterator<Item = TeamName>,
        metrics: &Metrics,
        drain: &Drain,
    ) -> Result<Self, TelemetryError> {
        let Some(collector) = config else { return Ok(Self::default()) };
        let (spans, waiting) = mpsc::channel(WAITING);
        let dropping = Arc::<AtomicBool>::default();
        let export = Export::new(collector, waiting, metrics.clone(), dropping.clone(), drain.clone())?;
        drain.spawn(export.run());
        let teams: Vec<_> = teams.into_iter().collect();
        let share = (WAITING / teams.len().max(1)).max(LEAST);
        let recorder = || {
            let places = Arc::new(Semaphore::new(share));
            let (spans, metrics, dropping) = (spans.clone(), metrics.clone(), dropping.clone());
            Recorder::new(move |span| {
                let place = places.clone().try_acquire_owned().ok();
                if place.and_then(|_place| spans.try_send(Waiting { span, _place }).ok()).is_none() {
                    left_out(&metrics, &dropping);
                }
            })
        };
        let recorders = teams.into_iter().map(|team| (team, recorder())).collect();
        Ok(Self(Some(Arc::new(Inner { recorders, sample: collector.sample }))))
    }

    /// Whether anything is recorded at all.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Begins the span of a request, if it is to be recorded: as the client wants it, or by chance. What the request
    /// causes is below it from now on.
    pub fn request(&self, call: &mut Call, method: &str) -> Option<Open> {
        let inner = self.0.as_ref()?;
        let teams = call.caller.iter().flat_map(|caller| caller.teams.iter());
        let recorder = teams.filter_map(|team| inner.recorders.get(team)).next()?;
        let wanted = call.trace.as_ref().map_or_else(|| chance() < inner.sample, Trace::is_sampled);
        let mut open =
            wanted.then(|| Open::of_request(recorder.clone(), call.trace.as_ref(), method.to_owned()))?;
        open.say("mcp.method.name", method);
        if let Some(id) = &call.request {
            open.say("jsonrpc.request.id", serde_json::from_str::<String>(id).as_deref().unwrap_or(id));
        }
        if let Some(place) = open.place() {
            call.put_into(place.clone());
        }
        Some(open)
    }
}

fn left_out(metrics: &Metrics, dropping: &AtomicBool) {
    metrics.house().spans.dropped.one();
    if !dropping.swap(true, Ordering::Relaxed) {
        tracing::warn!("the collector cannot keep up: spans are left out, and counted in larder_spans_total");
    }
}

/// A number from 0 up to, but without, 1.
fn chance() -> f64 {
    let mut bytes = [0; 4];
    // Where there is no chance, what is wanted of all is all that is recorded.
    getrandom::fill(&mut bytes)
        .map_or(0.999, |()| f64::from(u32::from_le_bytes(bytes)) / (f64::from(u32::MAX) + 1.0))
}
