//! The metric values that prometheus-client lacks: a histogram without a lock, and a guard for gauges.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::{MetricType, TypedMetric};

/// Counts as one in a gauge until this value is dropped.
#[derive(Debug)]
pub struct GaugeGuard(Gauge);

impl GaugeGuard {
    /// Increases the value by one.
    pub fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Upper bounds of the buckets in microseconds. A call of a Rust component takes about 10 µs, a call of an interpreter
/// takes some hundreds, and a call that waits for the network can take as long as its timeout.
const BOUNDS: [u64; 12] = [
    25, 100, 250, 1_000, 2_500, 10_000, 25_000, 100_000, 250_000, 1_000_000, 2_500_000, 10_000_000,
];

/// A histogram of durations. Clones share the same values. The histogram of prometheus-client has a mutex, which costs
/// a third more when two threads observe durations.
#[derive(Debug, Clone, Default)]
pub struct Histogram(Arc<Buckets>);

#[derive(Debug, Default)]
struct Buckets {
    /// Counts per bucket, not cumulative. The last bucket is for durations above all bounds.
    counts: [AtomicU64; BOUNDS.len() + 1],
    nanos: AtomicU64,
}

impl Histogram {
    /// Records one duration.
    pub fn observe(&self, time: Duration) {
        let at = BOUNDS
            .iter()
            .position(|bound| time <= Duration::from_micros(*bound));
        self.0.counts[at.unwrap_or(BOUNDS.len())].fetch_add(1, Relaxed);
        self.0.nanos.fetch_add(nanos(time), Relaxed);
    }

    /// Returns a copy of the values.
    pub fn counts(&self) -> HistogramCounts {
        HistogramCounts {
            counts: std::array::from_fn(|at| self.0.counts[at].load(Relaxed)),
            nanos: self.0.nanos.load(Relaxed),
        }
    }
}

/// A copy of the values of a histogram.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HistogramCounts {
    counts: [u64; BOUNDS.len() + 1],
    nanos: u64,
}

impl HistogramCounts {
    /// Counts per bucket, not cumulative, with the upper bounds in seconds.
    pub fn buckets(&self) -> [(f64, u64); BOUNDS.len() + 1] {
        std::array::from_fn(|at| {
            let bound = BOUNDS
                .get(at)
                .map_or(f64::INFINITY, |micros| *micros as f64 / 1e6);
            (bound, self.counts[at])
        })
    }

    /// The number of durations.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The sum of all durations in seconds.
    pub fn sum_seconds(&self) -> f64 {
        seconds(self.nanos)
    }

    /// The difference between these counts and an earlier copy.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            counts: std::array::from_fn(|at| self.counts[at].saturating_sub(before.counts[at])),
            nanos: self.nanos.saturating_sub(before.nanos),
        }
    }

    /// The sum of both histograms.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            counts: std::array::from_fn(|at| self.counts[at] + other.counts[at]),
            nanos: self.nanos.saturating_add(other.nanos),
        }
    }

    /// Estimates a quantile in seconds. Assumes that the durations in a bucket are distributed evenly. Durations above
    /// all bounds count as the highest bound. None without durations.
    pub fn quantile(&self, quantile: f64) -> Option<f64> {
        let mut rank = quantile * self.total() as f64;
        let mut lower = 0.0;
        for (upper, count) in self.buckets() {
            let count = count as f64;
            if count > 0.0 && rank <= count {
                return Some(if upper.is_finite() {
                    lower + (upper - lower) * (rank / count)
                } else {
                    lower
                });
            }
            rank -= count;
            lower = if upper.is_finite() { upper } else { lower };
        }
        (self.total() > 0).then_some(lower)
    }
}

impl EncodeMetric for Histogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let buckets = self.counts().buckets();
        let count = buckets.iter().map(|(_, count)| count).sum();
        encoder.encode_histogram::<NoLabelSet>(
            seconds(self.0.nanos.load(Relaxed)),
            count,
            &buckets,
            None,
        )
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

impl TypedMetric for Histogram {
    const TYPE: MetricType = MetricType::Histogram;
}

/// Converts a duration to nanoseconds.
pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Converts nanoseconds to seconds.
pub(super) fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_durations_into_buckets() {
        let histogram = Histogram::default();
        for micros in [0, 25, 26, 10_000_001] {
            histogram.observe(Duration::from_micros(micros));
        }
        let counts = histogram.counts();
        let buckets = counts.buckets();
        assert_eq!(buckets[0], (0.000_025, 2));
        assert_eq!(buckets[1], (0.000_1, 1));
        assert_eq!(buckets[11], (10.0, 0));
        assert_eq!(buckets[12], (f64::INFINITY, 1));
        assert_eq!(histogram.0.nanos.load(Relaxed), 10_000_052_000);
        histogram.observe(Duration::from_micros(1));
        let since = histogram.counts().since(&counts);
        assert_eq!(
            (since.total(), since.plus(&counts)),
            (1, histogram.counts())
        );
    }

    #[test]
    fn estimates_quantiles_within_a_bucket() {
        let histogram = Histogram::default();
        assert_eq!(histogram.counts().quantile(0.5), None);
        (0..98).for_each(|_| histogram.observe(Duration::from_micros(500)));
        (0..2).for_each(|_| histogram.observe(Duration::from_secs(20)));
        let quantile = |q| histogram.counts().quantile(q).unwrap();
        assert!(
            (quantile(0.5) - 0.000_632).abs() < 0.000_001,
            "{}",
            quantile(0.5)
        );
        assert_eq!((quantile(0.98), quantile(0.99)), (0.001, 10.0));
    }

    #[test]
    fn a_guard_counts_until_it_is_dropped() {
        let gauge = Gauge::default();
        let one = GaugeGuard::new(&gauge);
        let _other = GaugeGuard::new(&gauge);
        drop(one);
        assert_eq!(gauge.get(), 1);
    }
}
