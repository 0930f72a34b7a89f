//! What is counted of the house as a whole.

use super::number::{Count, Level, Times};
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

/// How a component's load ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// A new revision is served.
    Served,
    /// It turned out to be known.
    Same,
    /// It was rejected.
    Rejected,
    /// It waits for its operator.
    HeldBack,
}

impl Load {
    const ALL: [Self; 4] = [Self::Served, Self::Same, Self::Rejected, Self::HeldBack];

    fn word(self) -> &'static str {
        match self {
            Self::Served => "served",
            Self::Same => "same",
            Self::Rejected => "rejected",
            Self::HeldBack => "held-back",
        }
    }
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
    loads: [Count; Load::ALL.len()],
    /// How long loads take.
    pub load_times: Times,
    /// Passes over the plugins folders that changed something, or tried to.
    pub rounds: Count,
    /// Connections of clients that are open.
    pub connections: Level,
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

    /// A load ended.
    pub fn loaded(&self, load: Load) {
        self.loads[load as usize].one();
    }

    pub(super) fn show(&self, text: &mut Text) {
        let name = "larder_requests_total";
        text.family(name, Kind::Counter, "Requests of clients, by method and era of the protocol.");
        for (era, methods) in ["legacy", "modern"].iter().zip(&self.requests) {
            for (method, count) in METHODS.iter().zip(methods) {
                text.sample(name, &[("method", method), ("era", era)], count.get());
            }
        }
        let name = "larder_loads_total";
        text.family(name, Kind::Counter, "Components that were loaded or tried, by what came of it.");
        for load in Load::ALL {
            text.sample(name, &[("outcome", load.word())], self.loads[load as usize].get());
        }
        let name = "larder_load_seconds";
        text.family(name, Kind::Histogram, "Time that a load takes: reading, compiling, probing.");
        text.times(name, &[], &self.load_times);
        let name = "larder_rounds_total";
        text.family(name, Kind::Counter, "Rounds in which something in a plugins folder differed.");
        text.sample(name, &[], self.rounds.get());
        let name = "larder_connections";
        text.family(name, Kind::Gauge, "Open connections of clients.");
        text.sample(name, &[], self.connections.get());
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
