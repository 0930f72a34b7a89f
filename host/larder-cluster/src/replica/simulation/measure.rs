//! The measurements of a phase of the simulation.

use std::fmt;
use std::time::Duration;

use super::bus::Traffic;

/// The figures of a phase.
#[derive(Debug)]
pub(super) struct Phase {
    pub(super) name: String,
    pub(super) time: Duration,
    pub(super) traffic: Traffic,
    /// The longest time for which a watched URI had no poller.
    pub(super) longest_without_poller: Duration,
    /// The longest time for which a watched URI had several pollers.
    pub(super) longest_with_several: Duration,
    /// How many watched URIs each replica polls.
    pub(super) polled: Vec<usize>,
    /// The number of URIs that would be polled if each replica polled all URIs that it watches.
    pub(super) polled_without_cluster: usize,
}

impl Phase {
    pub(super) const HEADER: &'static str = "phase             seconds  published/s     KiB/s  delivered/s     KiB/s  no poller  several  polled: min mean  max    all  (without cluster)";
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.time.as_secs_f64();
        let rate = |count: u64| count as f64 / seconds;
        let Traffic {
            published,
            published_bytes,
            delivered,
            delivered_bytes,
        } = self.traffic;
        let total: usize = self.polled.iter().sum();
        write!(
            f,
            "{:16}  {seconds:7.0}  {:11.0}  {:8.0}  {:11.0}  {:8.0}  {:7.1} s  {:5.1} s  {:11} {:4} {:4} {total:6}  {:17}",
            self.name,
            rate(published),
            rate(published_bytes) / 1024.0,
            rate(delivered),
            rate(delivered_bytes) / 1024.0,
            self.longest_without_poller.as_secs_f64(),
            self.longest_with_several.as_secs_f64(),
            self.polled.iter().min().unwrap_or(&0),
            total / self.polled.len().max(1),
            self.polled.iter().max().unwrap_or(&0),
            self.polled_without_cluster,
        )
    }
}

/// How long URIs have been without a poller, or with several.
#[derive(Debug, Default)]
pub(super) struct PollerTimes {
    without: Vec<Duration>,
    several: Vec<Duration>,
    pub(super) longest_without: Duration,
    pub(super) longest_several: Duration,
}

impl PollerTimes {
    pub(super) fn new(uris: usize) -> Self {
        let none = vec![Duration::ZERO; uris];
        Self {
            without: none.clone(),
            several: none,
            ..Self::default()
        }
    }

    /// Records how many replicas poll a URI; none if no client watches it.
    pub(super) fn record(&mut self, uri: usize, pollers: Option<usize>, passed: Duration) {
        let add = |time: &mut Duration, is_so: bool| {
            *time = if is_so {
                *time + passed
            } else {
                Duration::ZERO
            };
            *time
        };
        let without = add(&mut self.without[uri], pollers == Some(0));
        let several = add(
            &mut self.several[uri],
            pollers.is_some_and(|pollers| pollers > 1),
        );
        self.longest_without = self.longest_without.max(without);
        self.longest_several = self.longest_several.max(several);
    }

    pub(super) fn restart(&mut self) {
        (self.longest_without, self.longest_several) = Default::default();
    }
}
