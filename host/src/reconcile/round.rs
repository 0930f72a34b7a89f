//! What changed, in one line that a person understands.

use std::fmt;
use std::time::Duration;

use crate::catalog::{Collision, HeldBack, Offer, Rejected};
use crate::name::{Digest, ProviderName};

/// What one round changed.
#[derive(Debug, Clone, Default)]
pub struct Round {
    /// New providers.
    pub loaded: Vec<Arrival>,
    /// Newer revisions of providers.
    pub replaced: Vec<Arrival>,
    /// Components that were rejected now.
    pub rejected: Vec<Rejected>,
    /// Revisions that wait for their operator since now.
    pub held_back: Vec<HeldBack>,
    /// Providers that are not there any more.
    pub gone: Vec<ProviderName>,
    /// What two providers offer.
    pub collisions: Vec<Collision>,
    /// What was left out of what providers offer, or changed, where it was not told before.
    pub left_out: Vec<String>,
    /// What is wrong with the folder.
    pub troubles: Vec<String>,
    /// How long it took.
    pub took: Duration,
    /// Components with which something was wrong, and is not any more.
    pub(super) over: Vec<String>,
    /// A provider was asked anew for its lists.
    pub(super) relisted: bool,
    /// And says that they differ, in a part that only its callers see.
    pub(super) unseen: bool,
}

/// A revision that came. It says what there is to say, and does not keep the provider alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// Whose revision it is.
    pub provider: ProviderName,
    /// Its digest.
    pub digest: Digest,
    offers: String,
}

impl Arrival {
    pub(super) fn of(offer: &Offer) -> Self {
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let more = if offer.rest.is_some() { " and more" } else { "" };
        let entries = count(offer.entries.len(), "resource");
        let offers = format!("{entries}{more}, {}", count(offer.templates.len(), "template"));
        let (provider, digest) = (offer.name().clone(), offer.provider.digest());
        Self { provider, digest, offers }
    }
}

impl fmt::Display for Arrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.provider, self.digest.short(), self.offers)
    }
}

impl Round {
    /// Whether there is nothing to publish or to tell.
    pub(super) fn is_quiet(&self) -> bool {
        let nothing_new = self.loaded.is_empty() && self.replaced.is_empty() && self.gone.is_empty();
        nothing_new
            && self.rejected.is_empty()
            && self.held_back.is_empty()
            && self.left_out.is_empty()
            && self.troubles.is_empty()
            && self.over.is_empty()
    }

    /// Says in the log what happened.
    pub(super) fn tell(&self) {
        if self.is_quiet() {
            return;
        }
        if self.rejected.is_empty()
            && self.held_back.is_empty()
            && self.left_out.is_empty()
            && self.troubles.is_empty()
            && self.collisions.is_empty()
        {
            tracing::info!("{self}");
        } else {
            tracing::warn!("{self}");
        }
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = self.troubles.clone();
        parts.extend(self.loaded.iter().map(|arrival| format!("loaded {arrival}")));
        parts.extend(self.replaced.iter().map(|arrival| format!("replaced {arrival}")));
        parts.extend(self.rejected.iter().map(|line| format!("rejected {}: {}", line.file, line.reason)));
        parts.extend(self.held_back.iter().map(ToString::to_string));
        parts.extend(self.gone.iter().map(|name| format!("{name} is gone")));
        parts.extend(self.over.iter().map(|stem| format!("what was wrong with {stem} is over")));
        parts.extend(self.left_out.iter().cloned());
        parts.extend(self.collisions.iter().map(ToString::to_string));
        if parts.is_empty() {
            parts.push("nothing new".into());
        }
        f.write_str(&parts.join("; "))?;
        // What is only seen takes no time that is worth telling.
        if self.took.is_zero() { Ok(()) } else { write!(f, " (in {:.1?})", self.took) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_one_line() {
        let since = std::time::SystemTime::now();
        let rejected =
            Rejected { file: "c.wasm".into(), digest: None, reason: "the file is empty".into(), since };
        let round = Round {
            rejected: vec![rejected],
            gone: vec![ProviderName::parse("a").unwrap()],
            took: Duration::from_millis(12),
            ..Round::default()
        };
        assert_eq!(round.to_string(), "rejected c.wasm: the file is empty; a is gone (in 12.0ms)");
        assert_eq!(Round::default().to_string(), "nothing new");
    }
}
