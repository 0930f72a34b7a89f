//! The rows of the tables of reads and of overload.

use super::{median, quantile};
use crate::load::Window;
use crate::overload::FloodResult;
use crate::reads::{CaseResult, Variant};

/// One row of the overload table: latencies without and with the flood.
pub(super) struct OverloadRow {
    pub(super) flood: &'static str,
    pub(super) refused_per_second: f64,
    pub(super) p50: [f64; 2],
    pub(super) p99: [f64; 2],
    /// p99 with the flood divided by p99 without it.
    pub(super) ratio: f64,
}

impl OverloadRow {
    pub(super) fn new(result: &FloodResult) -> Self {
        let windows = &result.windows;
        let latencies = |quantile: f64| {
            [
                median(windows.iter().map(|(without, _)| without.latency(quantile))),
                median(windows.iter().map(|(_, with)| with.latency(quantile))),
            ]
        };
        Self {
            flood: result.flood.name(),
            refused_per_second: median(result.refused_per_second.iter().copied()),
            p50: latencies(0.5),
            p99: latencies(0.99),
            ratio: median(
                windows
                    .iter()
                    .map(|(without, with)| with.latency(0.99) / without.latency(0.99)),
            ),
        }
    }
}

/// One row of the read table.
pub(super) struct Row {
    pub(super) document: String,
    pub(super) connections: usize,
    pub(super) era: &'static str,
    pub(super) variant: &'static str,
    pub(super) ratio: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) cpu: f64,
    pub(super) throughput: f64,
    pub(super) p50: f64,
    pub(super) p99: f64,
}

pub(super) fn rows(result: &CaseResult) -> impl Iterator<Item = Row> {
    let case = result.case;
    let baseline = result.windows.get(&Variant::Baseline);
    result.windows.iter().map(move |(variant, windows)| {
        let median_of = |metric: &dyn Fn(&Window) -> f64| median(windows.iter().map(metric));
        let ratios: Vec<f64> = baseline
            .into_iter()
            .flat_map(|baseline| windows.iter().zip(baseline))
            .map(|(one, baseline)| one.per_cpu_second() / baseline.per_cpu_second())
            .collect();
        Row {
            document: case.document.to_string(),
            connections: case.connections,
            era: case.era.name(),
            variant: variant.name(),
            ratio: median(ratios.iter().copied()),
            low: quantile(ratios.iter().copied(), 0.1),
            high: quantile(ratios, 0.9),
            cpu: 1e6 / median_of(&|window| window.per_cpu_second()),
            throughput: median_of(&|window| window.per_second()),
            p50: median_of(&|window| window.latency(0.5)),
            p99: median_of(&|window| window.latency(0.99)),
        }
    })
}
