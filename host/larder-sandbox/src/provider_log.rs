//! Limits of what a provider adds to the log: the bytes of its own output per second, over all calls of all its
//! revisions, and the lines of the host about one revision, which are summarized when they repeat.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use larder_model::name::{Digest, ProviderName, TeamName};
use larder_model::policy::TokenBucket;
use larder_runtime::drain::Drain;
use larder_runtime::history::{Event, EventKind, EventLog};
use larder_runtime::log_limit::{Repeats, Suppressor};

/// The limits on the output of all providers. The revisions of a provider share one, so that replacing a component, which
/// its author can do at any time, does not allow more output.
#[derive(Debug, Default)]
pub(super) struct OutputLimits(Mutex<HashMap<(TeamName, ProviderName), OutputLimit>>);

#[derive(Debug)]
struct OutputLimit {
    per_second: u32,
    bucket: Arc<TokenBucket>,
}

impl OutputLimits {
    /// Returns the limit of a provider. It is a new one if the operator changed the number of bytes.
    pub(super) fn of(&self, team: &TeamName, provider: &ProviderName, per_second: u32) -> Arc<TokenBucket> {
        let mut limits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A full bucket that nobody uses is like a new one.
        limits.retain(|_, limit| Arc::strong_count(&limit.bucket) > 1 || !limit.bucket.is_full());
        let new = || OutputLimit { per_second, bucket: Arc::new(TokenBucket::new(u64::from(per_second))) };
        let limit = limits.entry((team.clone(), provider.clone())).or_insert_with(new);
        if limit.per_second != per_second {
            *limit = new();
        }
        limit.bucket.clone()
    }
}

/// The message of the lines about faults.
pub(super) const FAULT: &str = "the provider failed";

/// The limits of one revision.
pub(super) struct ProviderLog {
    output: Arc<TokenBucket>,
    repeated: Suppressor<Kind>,
    /// What was last omitted or changed in a response.
    last_notes: Mutex<Vec<String>>,
}

/// Lines of one kind are summarized together.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Kind {
    message: &'static str,
    /// For instance the kind of the fault; empty if there is only one.
    reason: &'static str,
}

impl ProviderLog {
    pub(super) fn new(
        (team, provider, digest): (TeamName, ProviderName, Digest),
        output: Arc<TokenBucket>,
        events: EventLog,
        drain: &Drain,
    ) -> Self {
        let summarize = move |Kind { message, reason }, Repeats { times, last }: &Repeats| {
            if message == FAULT {
                let text = format!("{provider} failed {times} more times: {reason}");
                let event = Event::new(EventKind::Fault, text).of_team(&team).of_provider(&provider);
                events.record(event.with("kind", reason).with("subject", last));
            }
            let (team, provider, digest) = (team.non_default(), provider.as_str(), digest.short());
            let (reason, last) =
                (Some(reason).filter(|r| !r.is_empty()), Some(last).filter(|l| !l.is_empty()));
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
        Self { output, repeated: Suppressor::new(drain, summarize), last_notes: Mutex::default() }
    }

    /// Keeps what was omitted or changed in a response, for a command that checks it.
    pub(super) fn keep_notes(&self, notes: &[String]) {
        *self.last_notes.lock().unwrap_or_else(PoisonError::into_inner) = notes.to_vec();
    }

    /// Takes what was last omitted or changed in a response. Empty if there was nothing since the last time.
    pub(super) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.last_notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes bytes for a line of the guests' own output. Returns false if there are none left in this second.
    pub(super) fn admits(&self, bytes: usize) -> bool {
        self.output.take(bytes as u64).is_ok()
    }

    /// Counts a line of the host. Returns whether it must be logged now; otherwise it becomes part of a summary.
    pub(super) fn is_first(&self, message: &'static str, reason: &'static str, subject: &str) -> bool {
        self.repeated.is_first(Kind { message, reason }, subject)
    }

    /// Does the same for several lines without a reason.
    pub(super) fn is_first_of(&self, times: u64, message: &'static str) -> bool {
        self.repeated.is_first_of(times, Kind { message, reason: "" }, "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_revisions_of_a_provider_share_a_limit() {
        let (limits, team) = (OutputLimits::default(), TeamName::default_team());
        let of = |name: &str, bytes| limits.of(&team, &ProviderName::parse(name).unwrap(), bytes);
        let first = of("a", 100);
        while first.take(100).is_ok() {}
        assert!(of("a", 100).take(1).is_err() && of("b", 100).take(1).is_ok());
        // Also while there is no revision, because the last one was rejected.
        drop(first);
        assert!(of("a", 100).take(1).is_err());
        assert!(of("a", 200).take(1).is_ok(), "the operator changed the limit");
        assert_eq!(limits.0.lock().unwrap().len(), 2);
    }
}
