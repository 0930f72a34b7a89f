//! The outcome of a flood, and its table.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::Flood;
use crate::load::Window;
use crate::report::median;

/// The p99 during a flood may be this many times the undisturbed p99, or this many microseconds more.
const MAX_RATIO: f64 = 1.5;
const MAX_MORE: f64 = 1_000.0;

/// The latencies of the quiet team during one flood.
pub(crate) struct FloodOutcome {
    pub(super) flood: Flood,
    /// For each round: the window without the flood and the window with the flood.
    pub(super) windows: Vec<(Window, Window)>,
    /// For each round, per second: the answers of the server, or the connections that it accepted; and the refusals.
    pub(super) per_second: Vec<[f64; 2]>,
}

impl FloodOutcome {
    /// The medians of a latency of the quiet team without and with the flood, in microseconds.
    fn latencies(&self, quantile: f64) -> [f64; 2] {
        [
            median(
                self.windows
                    .iter()
                    .map(|(without, _)| without.latency(quantile)),
            ),
            median(self.windows.iter().map(|(_, with)| with.latency(quantile))),
        ]
    }

    fn is_met(&self) -> bool {
        let [without, with] = self.latencies(0.99);
        with <= without * MAX_RATIO || with <= without + MAX_MORE
    }

    /// The medians of the answered requests and of the refused requests.
    fn rates(&self) -> [f64; 2] {
        [0, 1].map(|at| median(self.per_second.iter().map(|rates| rates[at])))
    }

    pub(crate) fn json(&self) -> Value {
        let [answered, refused] = self.rates();
        json!({"flood": self.flood.name(), "answered_per_second": answered, "refused_per_second": refused,
            "p50_us": self.latencies(0.5), "p99_us": self.latencies(0.99), "met": self.is_met()})
    }
}

/// The table of the report; empty if no flood was measured.
pub(crate) fn table(outcomes: &[FloodOutcome]) -> String {
    if outcomes.is_empty() {
        return String::new();
    }
    let mut table = format!(
        "\n## Floods\n\nLatency of a quiet team without and with a flood, medians of {} rounds. The target is a p99 of at \
         most {MAX_RATIO} times\nthe undisturbed one, or {MAX_MORE} us more.\n\n\
         | flood | answered per second | refused | p50 us without | with | p99 us without | with | p99 with / without | |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---|\n",
        outcomes[0].windows.len()
    );
    for outcome in outcomes {
        let ([p50, p50_with], [p99, p99_with]) = (outcome.latencies(0.5), outcome.latencies(0.99));
        let [answered, refused] = outcome.rates();
        let met = if outcome.is_met() { "" } else { "missed" };
        // Writing to a string cannot fail.
        _ = writeln!(
            table,
            "| {} | {answered:.0} | {refused:.0} | {p50:.0} | {p50_with:.0} | {p99:.0} | {p99_with:.0} | {:.2} | {met} |",
            outcome.flood.name(),
            p99_with / p99
        );
    }
    table
}
