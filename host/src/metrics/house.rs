//! What is counted of the house as a whole.

use super::number::{Count, Level};
use super::text::{Kind, Text};

/// Words for the methods that are counted. Whatever a client makes up is `other`.
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

/// The two eras of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// With a handshake.
    Legacy,
    /// Without one.
    Modern,
}

/// What became of the lines of a log of ours.
#[derive(Debug, Default)]
pub struct Lines {
    /// They stand where they belong.
    pub written: Count,
    /// There was no room for them.
    pub dropped: Count,
    /// They could not be written.
    pub failed: Count,
}

impl Lines {
    fn all(&self) -> [(&'static str, &Count); 3] {
        [("written", &self.written), ("dropped", &self.dropped), ("failed", &self.failed)]
    }
}

/// What is counted of the house as a whole.
#[derive(Debug, Default)]
pub struct House {
    requests: [[Count; METHODS.len()]; 2],
    /// Connections of clients that are open.
    pub connections: Level,
    /// Connections that were one too many.
    pub turned_away: Count,
    /// Lines of the audit log.
    pub audit: Lines,
    /// Spans that were ended.
    pub spans: Lines,
}

impl House {
    /// A request came, whatever becomes of it.
    pub fn request(&self, method: &str, era: Era) {
        let at = METHODS.iter().position(|known| *known == method).unwrap_or(METHODS.len() - 1);
        self.requests[era as usize][at].one();
    }

    pub(super) fn show(&self, text: &mut Text) {
        let name = "larder_requests_total";
        text.family(name, Kind::Counter, "Requests of clients, by method and era of the protocol.");
        for (era, methods) in ["legacy", "modern"].iter().zip(&self.requests) {
            for (method, count) in METHODS.iter().zip(methods) {
                text.sample(name, &[("method", method), ("era", era)], count.get());
            }
        }
        let name = "larder_connections";
        text.family(name, Kind::Gauge, "Open connections of clients.");
        text.sample(name, &[], self.connections.get());
        let name = "larder_connections_refused_total";
        text.family(name, Kind::Counter, "Connections that were one too many.");
        text.sample(name, &[], self.turned_away.get());
        lines(
            text,
            "larder_audit_lines_total",
            "Lines of the audit log, by what became of them.",
            &self.audit,
        );
        lines(text, "larder_spans_total", "Spans for the collector, by what became of them.", &self.spans);
    }
}

fn lines(text: &mut Text, name: &str, help: &str, lines: &Lines) {
    text.family(name, Kind::Counter, help);
    for (word, count) in lines.all() {
        text.sample(name, &[("outcome", word)], count.get());
    }
}
