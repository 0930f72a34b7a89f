//! Metrics of the server as a whole.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::refusal::RefusalCounters;

/// Values of the `method` label. Any other method of a client is counted as `other`.
pub const METHODS: [&str; 17] = [
    "initialize",
    "ping",
    "discover",
    "list",
    "templates",
    "read",
    "complete",
    "search",
    "tools",
    "tool",
    "prompts",
    "prompt",
    "log-level",
    "subscribe",
    "unsubscribe",
    "listen",
    "other",
];

/// The two eras of MCP protocol versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtocolEra {
    /// With an `initialize` handshake.
    Legacy,
    /// Without a handshake.
    Modern,
}

/// The labels of a sample, with fixed values.
type Labels<const N: usize> = [(&'static str, &'static str); N];

/// Counters of records (audit lines, spans) by the result of writing them.
#[derive(Debug)]
pub struct WriteCounters {
    /// Records that were written.
    pub written: Counter,
    /// Records that were dropped because the queue was full.
    pub dropped: Counter,
    /// Records whose write failed.
    pub failed: Counter,
}

impl WriteCounters {
    fn register(registry: &mut Registry, name: &str, help: &str) -> Self {
        let family = Family::<Labels<1>, Counter>::default();
        registry.register(name, help, family.clone());
        let [written, dropped, failed] = ["written", "dropped", "failed"]
            .map(|outcome| family.get_or_create_owned(&[("outcome", outcome)]));
        Self {
            written,
            dropped,
            failed,
        }
    }
}

/// Metrics of the server as a whole.
#[derive(Debug)]
pub struct ServerMetrics {
    /// The counters of a family. They are stored here so that they are not looked up for each request.
    requests: [[Counter; METHODS.len()]; 2],
    /// Open client connections.
    pub connections: Gauge,
    /// Client connections that were refused because the limit was reached.
    pub connections_refused: Counter,
    /// Client connections without a valid request that were closed to make room for others.
    pub connections_replaced: Counter,
    /// Requests that were refused, by reason.
    pub refused: RefusalCounters,
    /// Lines of the audit log.
    pub audit: WriteCounters,
    /// Components in use whose code is not optimised yet.
    pub unoptimised_components: Gauge,
    /// Finished spans.
    pub spans: WriteCounters,
}

impl ServerMetrics {
    /// Counts a request with any result.
    pub fn request(&self, method: &str, era: ProtocolEra) {
        let at = METHODS
            .iter()
            .position(|known| *known == method)
            .unwrap_or(METHODS.len() - 1);
        self.requests[era as usize][at].inc();
    }

    pub(super) fn register(registry: &mut Registry) -> Self {
        Self {
            requests: request_counters(registry),
            connections: gauge(registry, "larder_connections", "Open client connections"),
            connections_refused: counter(
                registry,
                "larder_connections_refused",
                "Client connections refused because the limit was reached",
            ),
            connections_replaced: counter(
                registry,
                "larder_connections_replaced",
                "Client connections without a valid request that were closed to make room for others",
            ),
            unoptimised_components: gauge(
                registry,
                "larder_unoptimised_components",
                "Components in use whose code is not optimised yet",
            ),
            refused: RefusalCounters::register(registry),
            audit: WriteCounters::register(
                registry,
                "larder_audit_lines",
                "Audit log lines, by outcome",
            ),
            spans: WriteCounters::register(
                registry,
                "larder_spans",
                "Spans for the collector, by outcome",
            ),
        }
    }
}

fn request_counters(registry: &mut Registry) -> [[Counter; METHODS.len()]; 2] {
    let requests = Family::<Labels<2>, Counter>::default();
    let help = "Client requests, by method and protocol era";
    registry.register("larder_requests", help, requests.clone());
    ["legacy", "modern"].map(|era| {
        METHODS.map(|method| requests.get_or_create_owned(&[("method", method), ("era", era)]))
    })
}

fn gauge(registry: &mut Registry, name: &str, help: &str) -> Gauge {
    let gauge = Gauge::default();
    registry.register(name, help, gauge.clone());
    gauge
}

fn counter(registry: &mut Registry, name: &str, help: &str) -> Counter {
    let counter = Counter::default();
    registry.register(name, help, counter.clone());
    counter
}
