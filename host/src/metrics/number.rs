//! The three kinds of numbers: what only grows, what goes up and down, and how long something takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Only grows.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// One more.
    pub fn one(&self) {
        self.add(1);
    }

    /// Some more.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Relaxed);
    }

    /// How many by now.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Goes up and down.
#[derive(Debug, Default)]
pub struct Level(Arc<AtomicI64>);

/// One that counts for as long as this lives.
#[derive(Debug)]
pub struct Hold(Arc<AtomicI64>);

impl Level {
    /// Up by this much.
    pub fn up(&self, by: u64) {
        self.0.fetch_add(signed(by), Relaxed);
    }

    /// Down by this much.
    pub fn down(&self, by: u64) {
        self.0.fetch_sub(signed(by), Relaxed);
    }

    /// One more, until what is returned is dropped.
    pub fn hold(&self) -> Hold {
        self.up(1);
        Hold(self.0.clone())
    }

    /// Where it stands. Between two threads it may pass below 0 for a moment.
    pub fn get(&self) -> u64 {
        u64::try_from(self.0.load(Relaxed)).unwrap_or(0)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

fn signed(by: u64) -> i64 {
    i64::try_from(by).unwrap_or(i64::MAX)
}

/// In microseconds: a call into a Rust component takes ten, one into an interpreter some hundreds, and one
/// that waits for the network up to its deadline.
const BOUNDS: [u64; 12] =
    [25, 100, 250, 1_000, 2_500, 10_000, 25_000, 100_000, 250_000, 1_000_000, 2_500_000, 10_000_000];

/// How long something takes.
#[derive(Debug, Default)]
pub struct Times {
    /// Not cumulative; the last one is for what takes longer than all bounds.
    buckets: [Count; BOUNDS.len() + 1],
    nanos: Count,
}

impl Times {
    /// It took this long once more.
    pub fn note(&self, time: Duration) {
        let at = BOUNDS.iter().position(|bound| time <= Duration::from_micros(*bound));
        self.buckets[at.unwrap_or(BOUNDS.len())].one();
        self.nanos.add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// How often, up to each bound in seconds; the last is for all.
    pub(super) fn cumulative(&self) -> impl Iterator<Item = (Option<f64>, u64)> {
        let bounds = BOUNDS.iter().map(|micros| Some(*micros as f64 / 1e6)).chain([None]);
        let mut sum = 0;
        bounds.zip(&self.buckets).map(move |(bound, bucket)| {
            sum += bucket.get();
            (bound, sum)
        })
    }

    /// Seconds in all.
    pub(super) fn seconds(&self) -> f64 {
        seconds(self.nanos.get())
    }
}

/// Nanoseconds as seconds.
pub(super) fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_fall_into_buckets() {
        let times = Times::default();
        for micros in [0, 25, 26, 10_000_001] {
            times.note(Duration::from_micros(micros));
        }
        let counts: Vec<_> = times.cumulative().collect();
        assert_eq!(counts[0], (Some(0.000_025), 2));
        assert_eq!(counts[1], (Some(0.000_1), 3));
        assert_eq!(counts[11], (Some(10.0), 3));
        assert_eq!(counts[12], (None, 4));
        assert!((times.seconds() - 10.000_052).abs() < 1e-9);
    }

    #[test]
    fn who_is_held_counts_until_he_goes() {
        let level = Level::default();
        let (one, _other) = (level.hold(), level.hold());
        drop(one);
        assert_eq!(level.get(), 1);
        level.up(5);
        level.down(6);
        assert_eq!(level.get(), 0);
    }
}
