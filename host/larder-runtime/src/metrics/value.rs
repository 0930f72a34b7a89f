//! The metric values: counters, gauges and duration histograms.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// A value that only increases.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds one.
    pub fn increment(&self) {
        self.add(1);
    }

    /// Adds `count`.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Relaxed);
    }

    /// Current value.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// A value that increases and decreases.
#[derive(Debug, Default)]
pub struct Gauge(Arc<AtomicI64>);

/// Counts as one in its gauge until it is dropped.
#[derive(Debug)]
pub struct GaugeGuard(Arc<AtomicI64>);

impl Gauge {
    /// Increases the value.
    pub fn add(&self, by: u64) {
        self.0.fetch_add(signed(by), Relaxed);
    }

    /// Decreases the value.
    pub fn sub(&self, by: u64) {
        self.0.fetch_sub(signed(by), Relaxed);
    }

    /// Increases the value by one until the returned guard is dropped.
    pub fn guard(&self) -> GaugeGuard {
        self.add(1);
        GaugeGuard(self.0.clone())
    }

    /// Current value, at least 0. With concurrent updates the stored value can be negative for a moment.
    pub fn get(&self) -> u64 {
        u64::try_from(self.0.load(Relaxed)).unwrap_or(0)
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

fn signed(by: u64) -> i64 {
    i64::try_from(by).unwrap_or(i64::MAX)
}

/// Upper bounds of the buckets in microseconds. A call into a Rust component takes about 10 µs, one into an
/// interpreter some hundreds, and one that waits for the network can take as long as its timeout.
const BOUNDS: [u64; 12] =
    [25, 100, 250, 1_000, 2_500, 10_000, 25_000, 100_000, 250_000, 1_000_000, 2_500_000, 10_000_000];

/// A histogram of durations.
#[derive(Debug, Default)]
pub struct Histogram {
    /// Counts per bucket, not cumulative. The last bucket is for durations above all bounds.
    buckets: [Counter; BOUNDS.len() + 1],
    nanos: Counter,
}

impl Histogram {
    /// Records one duration.
    pub fn observe(&self, time: Duration) {
        let at = BOUNDS.iter().position(|bound| time <= Duration::from_micros(*bound));
        self.buckets[at.unwrap_or(BOUNDS.len())].increment();
        self.nanos.add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Cumulative counts with their bounds in seconds. The last one has no bound and counts everything.
    pub(super) fn cumulative(&self) -> impl Iterator<Item = (Option<f64>, u64)> {
        let bounds = BOUNDS.iter().map(|micros| Some(*micros as f64 / 1e6)).chain([None]);
        let mut sum = 0;
        bounds.zip(&self.buckets).map(move |(bound, bucket)| {
            sum += bucket.get();
            (bound, sum)
        })
    }

    /// Sum of all durations in seconds.
    pub(super) fn sum_seconds(&self) -> f64 {
        seconds(self.nanos.get())
    }
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
        let counts: Vec<_> = histogram.cumulative().collect();
        assert_eq!(counts[0], (Some(0.000_025), 2));
        assert_eq!(counts[1], (Some(0.000_1), 3));
        assert_eq!(counts[11], (Some(10.0), 3));
        assert_eq!(counts[12], (None, 4));
        assert!((histogram.sum_seconds() - 10.000_052).abs() < 1e-9);
    }

    #[test]
    fn a_guard_counts_until_it_is_dropped() {
        let gauge = Gauge::default();
        let (one, _other) = (gauge.guard(), gauge.guard());
        drop(one);
        assert_eq!(gauge.get(), 1);
        gauge.add(5);
        gauge.sub(6);
        assert_eq!(gauge.get(), 0);
    }
}
