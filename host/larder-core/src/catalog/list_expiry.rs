//! How long clients may retain the lists of all offers together. The time is computed once for a catalog, not for each
//! page.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Offer;
use larder_model::resource::{Freshness, Scope};

/// Until when a list is valid, and for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Expiry {
    /// `None` for never.
    until: Option<Instant>,
    scope: Scope,
}

impl Expiry {
    pub(super) fn of(freshness: Freshness, from: Instant) -> Self {
        Self {
            until: from.checked_add(freshness.ttl),
            scope: freshness.scope,
        }
    }

    /// Removes the time limit, so that a merge takes the time limit of the other offers.
    pub(super) fn without_time_limit(self) -> Self {
        Self {
            until: None,
            ..self
        }
    }

    fn merge(self, other: Self) -> Self {
        let until = [self.until, other.until].into_iter().flatten().min();
        let scope = if self.scope == Scope::Caller {
            self.scope
        } else {
            other.scope
        };
        Self { until, scope }
    }

    fn freshness(self) -> Freshness {
        let ttl = self.until.map_or(Duration::MAX, |until| {
            until.saturating_duration_since(Instant::now())
        });
        Freshness {
            ttl,
            scope: self.scope,
        }
    }
}

/// The expiry of the catalog's lists.
#[derive(Debug, Default)]
pub(super) struct ListExpiry {
    entries: Option<Expiry>,
    templates: Option<Expiry>,
    /// When the first of the lists should be refreshed; `None` for never.
    refresh_at: Option<Instant>,
}

impl ListExpiry {
    pub(super) fn new(offers: &[Arc<Offer>]) -> Self {
        let all =
            |of: fn(&Offer) -> Expiry| offers.iter().map(|offer| of(offer)).reduce(Expiry::merge);
        Self {
            entries: all(Offer::entries_expiry),
            templates: all(Offer::expiry),
            refresh_at: offers.iter().filter_map(|offer| offer.refresh_at()).min(),
        }
    }

    pub(super) fn entries(&self) -> Option<Freshness> {
        self.entries.map(Expiry::freshness)
    }

    pub(super) fn templates(&self) -> Option<Freshness> {
        self.templates.map(Expiry::freshness)
    }

    pub(super) fn is_stale(&self) -> bool {
        self.refresh_at.is_some_and(|at| at <= Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_takes_the_shorter_time_and_the_narrower_scope() {
        let of = |seconds, scope| {
            Expiry::of(
                Freshness {
                    ttl: Duration::from_secs(seconds),
                    scope,
                },
                Instant::now(),
            )
        };
        let both = of(600, Scope::Everyone)
            .merge(of(9_000, Scope::Caller))
            .freshness();
        assert!(
            both.ttl <= Duration::from_secs(600) && both.ttl > Duration::from_secs(500),
            "{both:?}"
        );
        assert_eq!(both.scope, Scope::Caller);
        let endless = of(60, Scope::Everyone).without_time_limit();
        assert_eq!(endless.freshness().ttl, Duration::MAX);
        assert_eq!(
            endless.merge(of(0, Scope::Everyone)).freshness().ttl,
            Duration::ZERO
        );
        assert_eq!(of(u64::MAX, Scope::Everyone).freshness().ttl, Duration::MAX);
    }
}
