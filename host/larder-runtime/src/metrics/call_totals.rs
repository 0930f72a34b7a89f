//! Sums of the counters of calls.

use super::HistogramCounts;
use crate::history::CallSample;

/// The calls of one or several providers: how many calls ended, and how long they took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallTotals {
    /// The number of calls.
    pub calls: u64,
    /// How many calls failed because of the provider.
    pub errors: u64,
    /// The durations of the calls that opened a guest.
    pub durations: HistogramCounts,
}

impl CallTotals {
    /// The difference between these totals and earlier totals.
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            calls: self.calls.saturating_sub(before.calls),
            errors: self.errors.saturating_sub(before.errors),
            durations: self.durations.since(&before.durations),
        }
    }

    /// The sum of both totals.
    pub(super) fn plus(&self, other: &Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            errors: self.errors + other.errors,
            durations: self.durations.plus(&other.durations),
        }
    }

    /// The form in which the totals are stored.
    pub(super) fn sample(&self) -> CallSample {
        let quantile = |quantile| {
            self.durations
                .quantile(quantile)
                .map_or(f32::NAN, |seconds| seconds as f32)
        };
        CallSample {
            calls: u32::try_from(self.calls).unwrap_or(u32::MAX),
            errors: u32::try_from(self.errors).unwrap_or(u32::MAX),
            p50: quantile(0.5),
            p99: quantile(0.99),
        }
    }
}
