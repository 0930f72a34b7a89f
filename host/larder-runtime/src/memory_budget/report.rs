//! The uses of the budget, in metrics and in the status.

use std::sync::atomic::Ordering::SeqCst;

use super::{MemoryBudget, MemoryUse};
use crate::metrics::{ComputedFamily, Metrics};

/// The budget and its use at one moment, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryReport {
    /// The size of the budget.
    pub limit: u64,
    /// The charged bytes, and how often memory was refused, by use.
    pub uses: Vec<(&'static str, u64, u64)>,
}

impl MemoryBudget {
    /// Returns the current uses of the budget.
    pub fn report(&self) -> MemoryReport {
        let refused = |what: MemoryUse| self.0.refused[what as usize].load(SeqCst);
        let of = |what: &MemoryUse| (what.label(), self.used_for(*what), refused(*what));
        MemoryReport {
            limit: self.limit(),
            uses: MemoryUse::ALL.iter().map(of).collect(),
        }
    }

    /// Registers the metrics of the budget.
    pub fn register_metrics(&self, metrics: &Metrics) {
        let limit = self.limit();
        metrics.register_gauge(
            "larder_memory_limit_bytes",
            "Size of the memory budget",
            move || limit,
        );
        let budget = self.clone();
        let used = ComputedFamily::gauges(move |samples| {
            budget
                .report()
                .uses
                .iter()
                .try_for_each(|(what, used, _)| samples.gauge(&[("use", what)], *used))
        });
        metrics.register(
            "larder_memory_bytes",
            "Bytes charged to the memory budget, by use",
            used,
        );
        let budget = self.clone();
        let refused = ComputedFamily::counters(move |samples| {
            budget
                .report()
                .uses
                .iter()
                .try_for_each(|(what, _, n)| samples.counter(&[("use", what)], *n))
        });
        metrics.register(
            "larder_memory_refused",
            "Memory refused for lack of budget, by use",
            refused,
        );
    }
}
