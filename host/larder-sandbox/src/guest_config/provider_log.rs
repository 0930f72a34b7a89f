//! Limits the log lines that a provider causes. The bytes of its own output per second are limited over all calls of
//! all its revisions, and by the share of its team. Repeated lines of the host about one revision are summarized.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use larder_model::name::{Digest, ProviderName, TeamName};
use larder_model::policy::TokenBucket;
use larder_runtime::drain::Drain;
use larder_runtime::history::{Event, EventKind, EventLog};
use larder_runtime::log_limit::{Repeats, Suppressor};
use larder_runtime::shares::{Resource, SharePermit, TeamShares};

/// The limits on the output of all providers. All revisions of a provider share one limit. Otherwise an author, who can
/// replace the component at any time, could get more output.
#[derive(Debug, Default)]
pub(crate) struct OutputLimits {
    providers: Mutex<HashMap<(TeamName, ProviderName), OutputLimit>>,
    last_second: Arc<LastSecond>,
    log_each_fault: bool,
}

/// The output of all providers within the last second.
#[derive(Debug, Default)]
struct LastSecond(Mutex<VecDeque<(Instant, SharePermit)>>);

/// The limits on the output of one provider.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    bucket: Arc<TokenBucket>,
    last_second: Arc<LastSecond>,
    team: TeamShares,
    log_each_fault: bool,
}

#[derive(Debug)]
struct OutputLimit {
    per_second: u32,
    bucket: Arc<TokenBucket>,
}

impl OutputLimit {
    fn new(per_second: u32) -> Self {
        Self {
            per_second,
            bucket: Arc::new(TokenBucket::new(u64::from(per_second))),
        }
    }
}

impl OutputLimits {
    pub(crate) fn new(log_each_fault: bool) -> Self {
        Self {
            log_each_fault,
            ..Self::default()
        }
    }

    /// Returns the limit of a provider. If the operator changed the number of bytes, returns a new limit.
    pub(crate) fn of(
        &self,
        team: &TeamName,
        provider: &ProviderName,
        per_second: u32,
        shares: TeamShares,
    ) -> Output {
        let mut limits = self.providers.lock();
        // A full bucket that is not in use is equal to a new bucket.
        limits.retain(|_, limit| Arc::strong_count(&limit.bucket) > 1 || !limit.bucket.is_full());
        let limit = limits
            .entry((team.clone(), provider.clone()))
            .or_insert_with(|| OutputLimit::new(per_second));
        if limit.per_second != per_second {
            *limit = OutputLimit::new(per_second);
        }
        Output {
            bucket: limit.bucket.clone(),
            last_second: self.last_second.clone(),
            team: shares,
            log_each_fault: self.log_each_fault,
        }
    }
}

impl Output {
    /// Takes bytes for a line. Returns false if too few bytes are left in this second.
    fn admits(&self, bytes: usize) -> bool {
        self.bucket.take(bytes as u64).is_ok() && self.last_second.admits(&self.team, bytes)
    }
}

impl LastSecond {
    /// Takes bytes of the share of the team. The bytes are free again after a second.
    fn admits(&self, team: &TeamShares, bytes: usize) -> bool {
        if !team.is_divided(Resource::LogBytes) {
            return true;
        }
        let mut taken = self.0.lock();
        let now = Instant::now();
        while taken
            .pop_front_if(|(at, _)| now.duration_since(*at) >= Duration::from_secs(1))
            .is_some()
        {}
        match team.try_take(Resource::LogBytes, bytes as u64) {
            Some(line) => taken.push_back((now, line)),
            None => {
                team.count_refusal(Resource::LogBytes);
                return false;
            }
        }
        true
    }
}

/// The message of the lines about faults.
pub(crate) const FAULT: &str = "the provider failed";

/// The limits of one revision.
pub(crate) struct ProviderLog {
    output: Output,
    repeated: Suppressor<Kind>,
    /// What was last omitted or changed in a response.
    last_notes: Mutex<Vec<String>>,
}

/// Repeated lines of one kind are logged as one summary.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Kind {
    message: &'static str,
    /// For example the kind of the fault; empty if there is only one reason.
    reason: &'static str,
}

impl ProviderLog {
    pub(crate) fn new(
        team: TeamName,
        provider: ProviderName,
        digest: Digest,
        output: Output,
        events: EventLog,
        drain: &Drain,
    ) -> Self {
        let summarize = move |Kind { message, reason }: &Kind,
                              Repeats { times, last }: &Repeats| {
            if *message == FAULT {
                let text = format!("{provider} failed {times} more times: {reason}");
                let event = Event::new(EventKind::Fault, text)
                    .of_team(&team)
                    .of_provider(&provider);
                events.record(event.with("kind", *reason).with("subject", last));
            }
            let team = team.non_default();
            let provider = provider.as_str();
            let digest = digest.short();
            let reason = Some(*reason).filter(|r| !r.is_empty());
            let last = Some(last).filter(|l| !l.is_empty());
            tracing::warn!(
                team,
                provider,
                digest,
                reason,
                times,
                last = last.map(tracing::field::debug),
                "repeated: {message}"
            );
        };
        Self {
            output,
            repeated: Suppressor::new(drain, summarize),
            last_notes: Mutex::default(),
        }
    }

    /// Stores what was omitted or changed in a response, for a command that checks it.
    pub(crate) fn keep_notes(&self, notes: &[String]) {
        *self.last_notes.lock() = notes.to_vec();
    }

    /// Takes what was last omitted or changed in a response. Empty if nothing was omitted or changed since the last
    /// call of this method.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.last_notes.lock())
    }

    /// Takes bytes for a line of the guests' own output. Returns false if too few bytes are left in this second.
    pub(crate) fn admits(&self, bytes: usize) -> bool {
        self.output.admits(bytes)
    }

    /// Counts a line of the host. Returns whether the line must be logged now; otherwise it becomes part of a summary.
    pub(crate) fn is_first(
        &self,
        message: &'static str,
        reason: &'static str,
        subject: &str,
    ) -> bool {
        if self.output.log_each_fault && message == FAULT {
            return true;
        }
        self.repeated.is_first(Kind { message, reason }, subject)
    }

    /// Like [`Self::is_first`], for several lines without a reason.
    pub(crate) fn is_first_of(&self, times: u64, message: &'static str) -> bool {
        self.repeated.is_first_of(
            times,
            Kind {
                message,
                reason: "",
            },
            "",
        )
    }
}

#[cfg(test)]
mod tests {
    use larder_runtime::ledger::SeveralTeams;
    use larder_runtime::shares::{ShareLimits, Shares};

    use super::*;

    #[test]
    fn the_revisions_of_a_provider_share_a_limit() {
        let limits = OutputLimits::default();
        let team = TeamName::default_team();
        let [shares] = teams([&team]);
        let of = |name: &str, bytes| {
            limits.of(
                &team,
                &ProviderName::parse(name).unwrap(),
                bytes,
                shares.clone(),
            )
        };
        let first = of("a", 100);
        while first.admits(100) {}
        assert!(!of("a", 100).admits(1) && of("b", 100).admits(1));
        // The limit also applies while there is no revision, because the last revision was rejected.
        drop(first);
        assert!(!of("a", 100).admits(1));
        assert!(of("a", 200).admits(1), "the operator changed the limit");
        assert_eq!(limits.providers.lock().len(), 2);
    }

    fn teams<const N: usize>(names: [&TeamName; N]) -> [TeamShares; N] {
        let several_teams = SeveralTeams::default();
        several_teams.set_team_count(N);
        let shares = Shares::new(
            ShareLimits {
                log: 8_000,
                ..ShareLimits::default()
            },
            &several_teams,
        );
        names.map(|name| shares.team(name))
    }

    #[test]
    fn the_providers_of_a_team_leave_a_part_of_the_log_to_other_teams() {
        let [noisy, quiet] = ["noisy", "quiet"].map(|name| TeamName::parse(name).unwrap());
        let [of_noisy, of_quiet] = teams([&noisy, &quiet]);
        let limits = OutputLimits::default();
        let of = |team, name: usize, shares: &TeamShares| {
            limits.of(
                team,
                &ProviderName::parse(&format!("p{name}")).unwrap(),
                1_000,
                shares.clone(),
            )
        };
        let lines = (0..20).filter(|name| of(&noisy, *name, &of_noisy).admits(1_000));
        assert_eq!(
            lines.count(),
            3,
            "half of the six that are not the reserve of the host"
        );
        let later = of(&quiet, 0, &of_quiet);
        assert!(later.admits(1_000));
        // Bytes that were written before do not count after a second.
        let mut taken = limits.last_second.0.lock();
        taken
            .iter_mut()
            .for_each(|(at, _)| *at -= Duration::from_secs(1));
        drop(taken);
        assert!(of(&quiet, 1, &of_quiet).admits(1_000) && of_noisy.used(Resource::LogBytes) == 0);
    }
}
