//! Metrics of the server as a whole.

use super::text::{MetricKind, PrometheusText};
use super::value::{Counter, Gauge};

/// Values of the `method` label. Any other method that a client sends is counted as `other`.
pub const METHODS: [&str; 11] = [
    "initialize",
    "ping",
    "discover",
    "list",
    "templates",
    "read",
    "complete",
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

/// Counters of records (audit lines, spans) by the result of writing them.
#[derive(Debug, Default)]
pub struct WriteCounters {
    /// Records that were written.
    pub written: Counter,
    /// Records that were dropped because the queue was full.
    pub dropped: Counter,
    /// Records whose write failed.
    pub failed: Counter,
}

impl WriteCounters {
    fn by_outcome(&self) -> [(&'static str, &Counter); 3] {
        [("written", &self.written), ("dropped", &self.dropped), ("failed", &self.failed)]
    }
}

/// Metrics of the server as a whole.
#[derive(Debug, Default)]
pub struct ServerMetrics {
    requests: [[Counter; METHODS.len()]; 2],
    /// Open client connections.
    pub connections: Gauge,
    /// Client connections that were refused because the limit was reached.
    pub connections_refused: Counter,
    /// Lines of the audit log.
    pub audit: WriteCounters,
    /// Finished spans.
    pub spans: WriteCounters,
}

impl ServerMetrics {
    /// Counts a request, whatever its result.
    pub fn request(&self, method: &str, era: ProtocolEra) {
        let at = METHODS.iter().position(|known| *known == method).unwrap_or(METHODS.len() - 1);
        self.requests[era as usize][at].increment();
    }

    pub(super) fn render(&self, text: &mut PrometheusText) {
        let name = "larder_requests_total";
        text.family(name, MetricKind::Counter, "Client requests, by method and protocol era.");
        for (era, methods) in ["legacy", "modern"].iter().zip(&self.requests) {
            for (method, count) in METHODS.iter().zip(methods) {
                text.sample(name, &[("method", method), ("era", era)], count.get());
            }
        }
        let name = "larder_connections";
        text.family(name, MetricKind::Gauge, "Open client connections.");
        text.sample(name, &[], self.connections.get());
        let name = "larder_connections_refused_total";
        text.family(name, MetricKind::Counter, "Client connections refused because the limit was reached.");
        text.sample(name, &[], self.connections_refused.get());
        write_counters(text, "larder_audit_lines_total", "Audit log lines, by outcome.", &self.audit);
        write_counters(text, "larder_spans_total", "Spans for the collector, by outcome.", &self.spans);
    }
}

fn write_counters(text: &mut PrometheusText, name: &str, help: &str, counters: &WriteCounters) {
    text.family(name, MetricKind::Counter, help);
    for (outcome, count) in counters.by_outcome() {
        text.sample(name, &[("outcome", outcome)], count.get());
    }
}
