//! Limits of what one revision of a provider adds to the log: the bytes of its own output per second, over all of its
//! calls, and the lines of the host about it, which are summarized when they repeat.

use larder_model::name::{Digest, ProviderName, TeamName};
use larder_model::policy::{Limits, TokenBucket};
use larder_runtime::drain::Drain;
use larder_runtime::log_limit::{Repeats, Suppressor};

/// The limits of one revision.
pub(super) struct ProviderLog {
    output: TokenBucket,
    repeated: Suppressor<Kind>,
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
        limits: &Limits,
        drain: &Drain,
    ) -> Self {
        let summarize = move |Kind { message, reason }, Repeats { times, last }: &Repeats| {
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
        Self { output: TokenBucket::new(u64::from(limits.log)), repeated: Suppressor::new(drain, summarize) }
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
