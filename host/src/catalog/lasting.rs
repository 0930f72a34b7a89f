//! How long lists may be reused, of all offers together: worked out once for a catalog, and not for each page.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Offer;
use crate::resource::{Freshness, Scope};

/// Until when something holds, and for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lasting {
    /// None for ever.
    until: Option<Instant>,
    scope: Scope,
}

impl Lasting {
    pub(super) fn of(freshness: Freshness, asked: Instant) -> Self {
        Self { until: asked.checked_add(freshness.ttl), scope: freshness.scope }
    }

    /// For as long as nobody else says that it does not.
    pub(super) fn for_ever(self) -> Self {
        Self { until: None, ..self }
    }

    fn merge(self, other: Self) -> Self {
        let until = [self.until, other.until].into_iter().flatten().min();
        let scope = if self.scope == Scope::Caller { self.scope } else { other.scope };
        Self { until, scope }
    }

    fn now(self) -> Freshness {
        let ttl = self.until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
        Freshness { ttl, scope: self.scope }
    }
}

/// What holds of the lists of a catalog.
#[derive(Debug, Default)]
pub(super) struct Lists {
    entries: Option<Lasting>,
    templates: Option<Lasting>,
    /// When the first of them should be asked for anew; none if none ever is.
    stale: Option<Instant>,
}

impl Lists {
    pub(super) fn new(offers: &[Arc<Offer>]) -> Self {
        let all = |of: fn(&Offer) -> Lasting| offers.iter().map(|offer| of(offer)).reduce(Lasting::merge);
        Self {
            entries: all(Offer::entries_last),
            templates: all(Offer::lasting),
            stale: offers.iter().filter_map(|offer| offer.stale_at()).min(),
        }
    }

    pub(super) fn entries(&self) -> Option<Freshness> {
        self.entries.map(Lasting::now)
    }

    pub(super) fn templates(&self) -> Option<Freshness> {
        self.templates.map(Lasting::now)
    }

    pub(super) fn are_stale(&self) -> bool {
        self.stale.is_some_and(|stale| stale <= Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_time_and_the_narrower_scope_hold() {
        let of = |seconds, scope| {
            Lasting::of(Freshness { ttl: Duration::from_secs(seconds), scope }, Instant::now())
        };
        let both = of(60, Scope::Everyone).merge(of(9_000, Scope::Caller)).now();
        assert!(both.ttl <= Duration::from_secs(60) && both.ttl > Duration::from_secs(50), "{both:?}");
        assert_eq!(both.scope, Scope::Caller);
        let endless = of(60, Scope::Everyone).for_ever();
        assert_eq!(endless.now().ttl, Duration::MAX);
        assert_eq!(endless.merge(of(0, Scope::Everyone)).now().ttl, Duration::ZERO);
        assert_eq!(of(u64::MAX, Scope::Everyone).now().ttl, Duration::MAX);
    }
}
