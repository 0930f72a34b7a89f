//! What one provider offers: what it said when it was probed, in the order in which it is shown.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::index::Prefixes;
use super::lasting::Lasting;
use super::shown::shown;
use crate::name::{Digest, ProviderName};
use crate::provider::{Probed, Provider};
use crate::resource::{Entry, Freshness, Scope, Template};

/// A list is not asked for anew more often than this, however short its time is.
const SELDOM: Duration = Duration::from_secs(1);
/// Longer than asking for a list takes under the usual limits: until then, an answer may still come.
const PATIENCE: Duration = Duration::from_secs(30);

/// One provider's part of the catalog.
#[derive(Debug)]
pub struct Offer {
    /// Who can be called.
    pub provider: Arc<Provider>,
    /// Its name for people.
    pub title: Option<String>,
    /// Its own version.
    pub version: Option<String>,
    /// For the reader of the catalog.
    pub summary: Option<String>,
    /// For the model.
    pub instructions: Option<String>,
    /// URI prefixes that are its own beyond what it lists.
    pub claims: Vec<String>,
    /// Its first entries, by URI.
    pub entries: Vec<Arc<Entry>>,
    /// Where its list goes on beyond those.
    pub rest: Option<String>,
    /// Its templates, by text.
    pub templates: Vec<Arc<Template>>,
    /// What was left out of its lists, and why.
    pub left_out: Vec<String>,
    /// The round in which it first came.
    pub since: u64,
    /// What its operator prefers where two came in the same round.
    pub priority: i32,
    /// Stands for all that a list shows of it.
    pub(super) shown: Digest,
    freshness: Freshness,
    asked: Instant,
    /// When a newer list was last asked for; the newer list is an offer of its own.
    refresh: Mutex<Option<Instant>>,
    schemes: BTreeSet<String>,
    /// Its templates, by what they begin with.
    pub(super) prefixes: Prefixes<usize>,
}

impl Offer {
    /// The offer of a provider that was probed.
    pub fn new(provider: Arc<Provider>, probed: Probed, since: u64, priority: i32) -> Self {
        let mut entries: Vec<_> = probed.entries.into_iter().map(Arc::new).collect();
        // Stable, so that of two entries with one URI the provider's first comes first.
        entries.sort_by(|a, b| a.uri.cmp(&b.uri));
        let mut templates: Vec<_> = probed.templates.into_iter().map(Arc::new).collect();
        templates.sort_by(|a, b| a.pattern.as_str().cmp(b.pattern.as_str()));
        let shown = shown(&entries, &templates, probed.rest.is_some(), probed.freshness.scope);
        let mut prefixes = Prefixes::default();
        for (at, template) in templates.iter().enumerate() {
            prefixes.add(template.pattern.literal_prefix(), at);
        }
        prefixes.seal();
        Self {
            prefixes,
            schemes: entries.iter().map(|entry| entry.uri.scheme().to_ascii_lowercase()).collect(),
            shown,
            provider,
            title: probed.title,
            version: probed.version,
            summary: probed.summary,
            instructions: probed.instructions,
            claims: probed.claims,
            entries,
            rest: probed.rest,
            templates,
            left_out: probed.left_out,
            since,
            priority,
            freshness: probed.freshness,
            asked: probed.asked,
            refresh: Mutex::default(),
        }
    }

    /// The provider's name.
    pub fn name(&self) -> &ProviderName {
        self.provider.name()
    }

    /// How long its part of a list may still be reused.
    pub(super) fn lasting(&self) -> Lasting {
        Lasting::of(self.freshness, self.asked)
    }

    /// The time of a personal list is that of the answer which its caller gets.
    pub(super) fn entries_last(&self) -> Lasting {
        if self.is_personal() { self.lasting().for_ever() } else { self.lasting() }
    }

    /// When it should be asked for a newer list; none if never.
    pub(super) fn stale_at(&self) -> Option<Instant> {
        let Freshness { ttl, .. } = self.freshness;
        (!ttl.is_zero()).then(|| self.asked.checked_add(ttl.max(SELDOM))).flatten()
    }

    /// Whether its list depends on who asks: what the catalog holds of it is what the host was shown.
    pub fn is_personal(&self) -> bool {
        self.freshness.scope == Scope::Caller
    }

    /// Whether its list has outlived its time and somebody should ask for a newer one. Says so once, and
    /// again only when no newer list has come for long.
    pub fn wants_refresh(&self) -> bool {
        if self.stale_at().is_none_or(|stale| Instant::now() <= stale) {
            return false;
        }
        let mut refresh = self.refresh.lock().unwrap_or_else(PoisonError::into_inner);
        let wants = refresh.is_none_or(|last| last.elapsed() > PATIENCE);
        if wants {
            *refresh = Some(Instant::now());
        }
        wants
    }

    /// A personal list of which the host is shown nothing may hold URIs of any scheme.
    pub(super) fn knows_scheme(&self, scheme: &str) -> bool {
        let unknown = self.is_personal() && self.schemes.is_empty();
        unknown || self.schemes.contains(&scheme.to_ascii_lowercase())
    }
}
