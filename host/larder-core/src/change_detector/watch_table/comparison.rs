//! Checks of everything that is watched, spread over some seconds if there are many URIs.

use std::time::{Duration, Instant};

use super::provider_queue::BATCH_SIZE;
use super::{CheckMethod, OwningRevision, WatchEntry, WatchTable};
use crate::replicas::TeamReplicas;
use larder_model::uri::Uri;

/// The time over which the checks are spread.
const SPREAD: Duration = Duration::from_secs(4);
/// The time between two steps.
const INTERVAL: Duration = Duration::from_millis(100);

/// A comparison in progress.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    remaining: Vec<Uri>,
    step: usize,
    next: Option<Instant>,
    /// Whether to begin again at the end: URIs that were compared before the last request may have changed since.
    again: bool,
}

impl Comparison {
    fn start(&mut self, uris: Vec<Uri>, now: Instant) {
        let steps = SPREAD.div_duration_f32(INTERVAL) as usize;
        self.step = uris.len().div_ceil(steps).max(BATCH_SIZE);
        self.next = (!uris.is_empty()).then_some(now);
        self.remaining = uris;
    }

    /// Returns the URIs of the next step, if that step is due.
    fn take_step(&mut self, now: Instant) -> Vec<Uri> {
        if self.next.is_none_or(|next| now < next) {
            return Vec::new();
        }
        let rest = self.remaining.len().saturating_sub(self.step);
        let step = self.remaining.split_off(rest);
        self.next = (rest > 0).then_some(now + INTERVAL);
        step
    }
}

impl WatchTable {
    /// Checks everything that is watched, after changes may have been missed.
    pub(in crate::change_detector) fn compare_all(&mut self, now: Instant) {
        self.entries
            .values_mut()
            .for_each(WatchEntry::signals_were_missed);
        self.start_comparison(now);
    }

    pub(super) fn start_comparison(&mut self, now: Instant) {
        if self.comparison.next.is_some() {
            self.comparison.again = true;
        } else {
            self.comparison
                .start(self.entries.keys().cloned().collect(), now);
        }
    }

    /// Checks the URIs that other replicas poll, if this replica has one of these methods for them.
    pub(in crate::change_detector) fn compare_polled_elsewhere(
        &mut self,
        methods: &[CheckMethod],
        replicas: &dyn TeamReplicas,
        now: Instant,
    ) {
        if self.comparison.next.is_some() {
            return;
        }
        let is_periodic =
            |owner: &OwningRevision| owner.check_method().is_some_and(|it| methods.contains(&it));
        let polled = self.entries.iter().filter(|(watched, entry)| {
            entry.owners.first().is_some_and(is_periodic) && !entry.sharing.polls(watched, replicas)
        });
        let uris = polled.map(|(watched, _)| watched.clone()).collect();
        self.comparison.start(uris, now);
    }

    /// Returns when the next step of a comparison is due.
    pub(in crate::change_detector) fn next_comparison(&self) -> Option<Instant> {
        self.comparison.next
    }

    /// Makes the next step of a comparison.
    pub(in crate::change_detector) fn continue_comparison(&mut self, now: Instant) {
        for watched in self.comparison.take_step(now) {
            if self.entries.contains_key(&watched) {
                self.make_due(&watched);
            }
        }
        if self.comparison.next.is_none() && std::mem::take(&mut self.comparison.again) {
            self.start_comparison(now);
        }
    }
}
