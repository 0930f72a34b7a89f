//! Values that are sampled regularly, and kept for an hour.

use std::collections::VecDeque;
use std::time::{Duration, Instant, SystemTime};

/// The time between two samples.
pub const SAMPLE_INTERVAL: Duration = Duration::from_secs(10);
/// The number of samples of an hour.
pub const MAX_SAMPLES: usize = 360;

/// When samples are taken: sample number `n` is `n` intervals after the start.
#[derive(Debug, Clone, Copy)]
pub struct Timeline {
    started: Instant,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            started: Instant::now(),
        }
    }
}

impl Timeline {
    /// The number of the sample that is taken now.
    pub fn now(&self) -> u32 {
        let intervals = self.started.elapsed().as_secs_f64() / SAMPLE_INTERVAL.as_secs_f64();
        // A timer is never early, but rounding may be.
        (intervals + 0.01) as u32
    }

    /// When the sample with this number is due.
    pub fn due(&self, number: u32) -> Instant {
        self.started + SAMPLE_INTERVAL * number
    }

    /// The time of the sample with this number: the end of the interval that the sample describes. It is computed from
    /// the current time, because the clock may have been changed since the start.
    pub fn time(&self, number: u32) -> SystemTime {
        SystemTime::now() - Instant::now().saturating_duration_since(self.due(number))
    }
}

/// The calls of one interval.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CallSample {
    /// The number of calls that ended.
    pub calls: u32,
    /// How many of these calls failed because of the provider.
    pub errors: u32,
    /// The median duration in seconds; not a number if no call ended.
    pub p50: f32,
    /// The 99th percentile of the durations in seconds; not a number if no call ended.
    pub p99: f32,
}

/// The use of the process in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ProcessSample {
    /// The calls of all providers.
    pub calls: CallSample,
    /// Bytes that are charged to the memory budget, at the end of the interval.
    pub memory: u64,
    /// Open notification streams, at the end of the interval.
    pub streams: u32,
}

/// The samples of the last hour. Intervals without a sample need no memory.
#[derive(Debug)]
pub struct SampleRing<T>(VecDeque<(u32, T)>);

impl<T> Default for SampleRing<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T: Copy> SampleRing<T> {
    /// Adds a sample with a higher number than all others. Removes the samples beyond `max` and the samples that are
    /// too old.
    pub fn push(&mut self, number: u32, sample: T, max: usize) {
        self.0.push_back((number, sample));
        self.trim(number, max);
    }

    /// Removes the samples beyond `max` and the samples that are too old.
    pub fn trim(&mut self, now: u32, max: usize) {
        let first = first_of_hour(now);
        while self.0.front().is_some_and(|(number, _)| *number < first) || self.0.len() > max {
            self.0.pop_front();
        }
        if self.0.capacity() > 16 && self.0.capacity() / 4 > self.0.len() {
            self.0.shrink_to(self.0.len() * 2);
        }
    }

    /// Returns the last sample with its number.
    pub fn last(&self) -> Option<(u32, T)> {
        self.0.back().copied()
    }

    /// Returns the samples with these numbers; none for each number without a sample.
    pub fn range(&self, numbers: std::ops::RangeInclusive<u32>) -> Vec<Option<T>> {
        let first = *numbers.start();
        let mut samples = self
            .0
            .iter()
            .skip_while(|(number, _)| *number < first)
            .peekable();
        numbers
            .map(|number| {
                samples
                    .next_if(|(own, _)| *own == number)
                    .map(|(_, sample)| *sample)
            })
            .collect()
    }
}

/// The number of the first sample that is kept if the last sample has this number.
pub(super) fn first_of_hour(last: u32) -> u32 {
    (last + 1).saturating_sub(MAX_SAMPLES as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_one_hour_with_gaps() {
        let mut ring = SampleRing::default();
        (1..=1_000)
            .filter(|n| n % 10 != 0)
            .for_each(|n| ring.push(n, n, MAX_SAMPLES));
        assert_eq!(
            ring.range(998..=1_002),
            [Some(998), Some(999), None, None, None]
        );
        assert_eq!(
            ring.0.front().unwrap().0,
            641,
            "the numbers 640 to 999 are one hour"
        );
        assert_eq!(ring.last(), Some((999, 999)));
        ring.trim(1_300, MAX_SAMPLES);
        assert_eq!(ring.0.front().unwrap().0, 941);
        ring.trim(1_300, 5);
        assert_eq!((ring.0.len(), ring.range(999..=999)), (5, vec![Some(999)]));
        ring.trim(9_000, 5);
        assert!(ring.0.is_empty() && ring.0.capacity() <= 16);
    }
}
