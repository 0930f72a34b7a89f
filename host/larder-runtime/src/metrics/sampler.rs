//! Samples the counters regularly. This is the only cost of the history of calls: a call itself has no additional cost.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::ops::RangeInclusive;

use parking_lot::Mutex;

use super::{CallTotals, Metrics};
use crate::history::{MAX_SAMPLES, ProcessSample, SampleRing, Timeline};
use larder_model::name::TeamName;

/// Maximum number of samples of calls, over all providers: about 8 MiB.
const TOTAL_SAMPLES: usize = 400_000;
/// Minimum number of samples for each provider.
const MIN_SAMPLES: usize = 30;
/// The number of last intervals over which current latencies are computed: one minute.
const RECENT_INTERVALS: usize = 6;

/// The history of the whole process.
#[derive(Debug, Default)]
pub(super) struct ProcessHistory {
    timeline: Timeline,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    samples: SampleRing<ProcessSample>,
    /// The calls of the last intervals.
    recent: VecDeque<CallTotals>,
}

impl Metrics {
    /// Takes a sample of all counters in each interval, and never ends. `memory` returns the bytes that are charged to
    /// the memory budget.
    pub async fn sample(&self, memory: impl Fn() -> u64) -> Infallible {
        let timeline = &self.0.process.timeline;
        loop {
            let due = timeline.due(timeline.now() + 1);
            tokio::time::sleep_until(due.into()).await;
            self.take_sample(timeline.now(), memory());
        }
    }

    fn take_sample(&self, number: u32, memory: u64) {
        let providers = self.0.providers.live();
        let mut counts = BTreeMap::<&TeamName, usize>::new();
        for ((team, _), _) in &providers {
            *counts.entry(team).or_default() += 1;
        }
        let mut all = CallTotals::default();
        for ((team, _), provider) in &providers {
            // Each team has an equal part of the memory, which the providers of the team share.
            let sharing = counts.len() * counts.get(team).copied().unwrap_or(1);
            let max = (TOTAL_SAMPLES / sharing).clamp(MIN_SAMPLES, MAX_SAMPLES);
            let totals = provider.totals();
            let before = std::mem::replace(&mut *provider.sampled.lock(), totals);
            let since = totals.since(&before);
            all = all.plus(&since);
            match since.calls {
                0 => provider.history.trim_calls(number, max),
                _ => provider.history.record_calls(number, since.sample(), max),
            }
            provider.history.set_sharing(sharing);
        }
        self.keep_sample(number, memory, all);
    }

    fn keep_sample(&self, number: u32, memory: u64, calls: CallTotals) {
        let sample = ProcessSample {
            calls: calls.sample(),
            memory,
            streams: u32::try_from(self.gauge("larder_streams")).unwrap_or(u32::MAX),
        };
        let mut state = self.0.process.state.lock();
        state.samples.push(number, sample, MAX_SAMPLES);
        state.recent.push_back(calls);
        if state.recent.len() > RECENT_INTERVALS {
            state.recent.pop_front();
        }
    }

    /// The times of samples.
    pub fn timeline(&self) -> &Timeline {
        &self.0.process.timeline
    }

    /// The numbers of the samples of the last hour; empty before the first sample.
    pub fn sampled(&self) -> RangeInclusive<u32> {
        let last = self
            .0
            .process
            .state
            .lock()
            .samples
            .last()
            .map_or(0, |(number, _)| number);
        (last + 1)
            .saturating_sub(u32::try_from(MAX_SAMPLES).unwrap_or(u32::MAX))
            .max(1)..=last
    }

    /// Returns the samples with these numbers.
    pub fn samples(&self, numbers: RangeInclusive<u32>) -> Vec<Option<ProcessSample>> {
        self.0.process.state.lock().samples.range(numbers)
    }

    /// The calls of all providers in the last interval.
    pub fn last_calls(&self) -> CallTotals {
        self.0
            .process
            .state
            .lock()
            .recent
            .back()
            .copied()
            .unwrap_or_default()
    }

    /// The calls of all providers in the last minute.
    pub fn recent_calls(&self) -> CallTotals {
        let recent = &self.0.process.state.lock().recent;
        recent
            .iter()
            .fold(CallTotals::default(), |all, one| all.plus(one))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Outcome;
    use super::*;
    use larder_model::name::ProviderName;

    #[test]
    fn samples_what_was_added_in_an_interval() {
        let metrics = Metrics::default();
        let team = TeamName::default_team();
        let provider = metrics.provider(&team, &ProviderName::parse("a").unwrap());
        let call = |outcome, millis| {
            provider.record_call(outcome);
            provider.durations.observe(Duration::from_millis(millis));
        };
        assert!(metrics.sampled().is_empty());
        (0..3).for_each(|_| call(Outcome::Ok, 1));
        metrics.take_sample(1, 7);
        metrics.take_sample(2, 8);
        call(Outcome::Trap, 90);
        metrics.take_sample(4, 9);
        assert_eq!(metrics.sampled(), 1..=4);
        let all = metrics.samples(1..=4);
        let calls: Vec<_> = all
            .iter()
            .map(|one| one.map(|one| (one.calls.calls, one.calls.errors, one.memory)))
            .collect();
        assert_eq!(
            calls,
            [Some((3, 0, 7)), Some((0, 0, 8)), None, Some((1, 1, 9))]
        );
        assert!(all[1].unwrap().calls.p50.is_nan() && all[0].unwrap().calls.p99 <= 0.001);
        let own = provider.history.calls(1..=4);
        assert_eq!(
            own.iter().map(Option::is_some).collect::<Vec<_>>(),
            [true, false, false, true]
        );
        assert_eq!(
            (metrics.last_calls().calls, metrics.recent_calls().calls),
            (1, 4)
        );
        // When a provider is removed, its counters are removed too.
        drop(provider);
        metrics.take_sample(5, 0);
        assert_eq!(metrics.samples(5..=5)[0].unwrap().calls.calls, 0);
    }

    #[test]
    fn the_history_of_many_providers_is_small() {
        let metrics = Metrics::default();
        let team = TeamName::default_team();
        let providers: Vec<_> = (0..1_600)
            .map(|n| metrics.provider(&team, &ProviderName::parse(&format!("p{n}")).unwrap()))
            .collect();
        for number in 1..=300 {
            providers
                .iter()
                .for_each(|provider| provider.record_call(Outcome::Ok));
            metrics.take_sample(number, 0);
        }
        let of_one = providers[0].history.calls(1..=300).iter().flatten().count();
        assert_eq!(of_one, TOTAL_SAMPLES / 1_600);
        assert_eq!(metrics.sampled(), 1..=300);
    }

    #[test]
    fn a_team_with_many_providers_leaves_the_history_of_others() {
        let metrics = Metrics::default();
        let [many, few] = ["many", "few"].map(|name| TeamName::parse(name).unwrap());
        let provider =
            |team, n| metrics.provider(team, &ProviderName::parse(&format!("p{n}")).unwrap());
        let _many: Vec<_> = (0..1_600).map(|n| provider(&many, n)).collect();
        let one = provider(&few, 0);
        for number in 1..=300 {
            one.record_call(Outcome::Ok);
            one.history.record_line("info", &"x".repeat(400));
            metrics.take_sample(number, 0);
        }
        assert_eq!(one.history.calls(1..=300).iter().flatten().count(), 300);
        assert!(one.history.log(500, |_, _| true).len() > 100);
    }
}
