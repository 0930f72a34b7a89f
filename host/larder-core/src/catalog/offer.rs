//! What one provider offers, as its last probe returned it, in the order of the lists.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::definitions::Definitions;
use super::index::PrefixMap;
use super::list_digest::list_digest;
use super::list_expiry::Expiry;
use larder_model::name::{Digest, ProviderName, TeamName};
use larder_model::policy::{ApprovalMode, Grant, NotInTeam, Permit, is_page_type};
use larder_model::resource::{Call, Entry, Freshness, Scope, Template};
use larder_model::settings::Problem;
use larder_model::uri::Uri;
use larder_provider::{ProbeResult, Provider};

/// The shortest time between two refreshes of a list, also if the time to live is shorter.
const MIN_REFRESH_INTERVAL: Duration = Duration::from_secs(1);
/// After this time without a new list, a refresh is requested again. A refresh takes less time under the usual limits.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of pages of one provider that can be approved. The tools come first.
const MAX_PAGES: usize = 256;

/// One provider's part of the catalog.
#[derive(Debug)]
pub struct Offer {
    /// The provider to call.
    pub provider: Arc<dyn Provider>,
    /// The provider's display name.
    pub title: Option<String>,
    /// The version that the provider declares for itself.
    pub version: Option<String>,
    /// A description for people.
    pub summary: Option<String>,
    /// Instructions for the model.
    pub instructions: Option<String>,
    /// URI prefixes that the provider claims in addition to the URIs that it lists.
    pub claims: Vec<String>,
    /// The first entries, sorted by URI.
    pub entries: Vec<Arc<Entry>>,
    /// The cursor after the entries that the catalog holds, if there are more.
    pub next_cursor: Option<String>,
    /// The templates, sorted by text.
    pub templates: Vec<Arc<Template>>,
    /// The tools and prompts that clients can use.
    pub definitions: Definitions,
    /// What was omitted from the lists, and why.
    pub omitted: Vec<String>,
    /// Differences between the configured settings and those that the provider declares.
    pub setting_problems: Vec<Problem>,
    /// The generation in which the provider was first served.
    pub generation: u64,
    /// The operator's priority, for two providers of the same generation.
    pub priority: i32,
    /// Whether skills and pages that changed wait for an approval.
    pub approval_mode: ApprovalMode,
    /// The URIs of the pages of apps that tools name or that are listed, up to a limit.
    pub(crate) pages: BTreeSet<Uri>,
    /// The digest of everything that lists show of this offer.
    pub(crate) list_digest: Digest,
    freshness: Freshness,
    probed_at: Instant,
    /// When a refresh was last requested. A newer list is a new `Offer`.
    refresh_requested: Mutex<Option<Instant>>,
    schemes: BTreeSet<String>,
    /// The mean size of the provider's entries in a response; 0 if it has none.
    mean_entry_bytes: usize,
    /// The templates, by their literal prefix.
    pub(super) templates_by_prefix: PrefixMap<usize>,
}

impl Offer {
    /// Creates the offer of a probed provider.
    pub fn new(
        provider: Arc<dyn Provider>,
        probed: ProbeResult,
        definitions: Definitions,
        generation: u64,
        priority: i32,
    ) -> Self {
        // A stable sort: of two entries with the same URI, the entry that the provider listed first stays first.
        let entries = sorted(probed.entries, |a, b| a.uri.cmp(&b.uri));
        let templates = sorted(probed.templates, |a, b| {
            a.uri_template.as_str().cmp(b.uri_template.as_str())
        });
        let is_partial = probed.next_cursor.is_some();
        Self {
            mean_entry_bytes: mean_bytes(&entries),
            templates_by_prefix: by_prefix(&templates),
            schemes: schemes(&entries),
            pages: pages(&entries, &definitions),
            approval_mode: ApprovalMode::Always,
            list_digest: list_digest(&entries, &templates, is_partial, probed.freshness.scope),
            provider,
            title: probed.title,
            version: probed.version,
            summary: probed.summary,
            instructions: probed.instructions,
            claims: probed.claims,
            entries,
            next_cursor: probed.next_cursor,
            templates,
            definitions,
            omitted: probed.omitted,
            setting_problems: probed.setting_problems,
            generation,
            priority,
            freshness: probed.freshness,
            probed_at: probed.probed_at,
            refresh_requested: Mutex::default(),
        }
    }

    /// Sets whether changed skills and pages wait for an approval.
    pub(crate) fn with_approval_mode(self, approval_mode: ApprovalMode) -> Self {
        Self {
            approval_mode,
            ..self
        }
    }

    /// Whether clients read its pages from approved snapshots.
    pub(crate) fn has_approved_pages(&self) -> bool {
        self.approval_mode == ApprovalMode::Ask && !self.pages.is_empty()
    }

    /// Whether clients read something of it from snapshots.
    pub(crate) fn has_snapshots(&self) -> bool {
        self.grant().skills || self.has_approved_pages()
    }

    /// Returns the provider's name.
    pub fn name(&self) -> &ProviderName {
        self.provider.name()
    }

    /// Returns the team of the provider.
    pub(crate) fn team(&self) -> &TeamName {
        self.provider.team()
    }

    /// Returns what the operator grants to the provider.
    pub(crate) fn grant(&self) -> &Grant {
        self.provider.grant()
    }

    /// Returns the permit to call the provider for this caller.
    pub(crate) fn permit(&self, call: &Arc<Call>) -> Result<Permit, NotInTeam> {
        Permit::for_team(call, self.team())
    }

    /// Returns the entry of this URI in the part of the list that the catalog holds.
    pub(crate) fn listed_entry(&self, uri: &Uri) -> Option<&Arc<Entry>> {
        let entries = &self.entries;
        let at = entries.binary_search_by(|entry| entry.uri.cmp(uri)).ok()?;
        Some(&entries[at])
    }

    /// Whether the provider has a tool with this name, as clients see it.
    pub(super) fn has_tool(&self, name: &str) -> bool {
        let mut tools = self.definitions.tools.iter();
        tools.any(|tool| tool.name.as_str() == name)
    }

    /// Returns the full name of the provider: the name of its team, if that is not the default team, then the name of
    /// the provider.
    pub(crate) fn full_name(&self) -> String {
        let team = self.team().non_default();
        team.map_or_else(
            || self.name().to_string(),
            |team| format!("{team}/{}", self.name()),
        )
    }

    /// Estimates how many of the entries of this offer have this size together. The estimate is at least one.
    pub(crate) fn count_within(&self, bytes: usize) -> usize {
        bytes
            .checked_div(self.mean_entry_bytes)
            .unwrap_or(usize::MAX)
            .max(1)
    }

    /// Returns when the provider's lists expire.
    pub(super) fn expiry(&self) -> Expiry {
        Expiry::of(self.freshness, self.probed_at)
    }

    /// Returns when the entries of this offer expire. A personal list does not count: the provider's answer to the
    /// caller contains the freshness of a personal list.
    pub(super) fn entries_expiry(&self) -> Expiry {
        if self.is_personal() {
            self.expiry().without_time_limit()
        } else {
            self.expiry()
        }
    }

    /// Returns when to refresh the lists, or `None` for never.
    pub(super) fn refresh_at(&self) -> Option<Instant> {
        let Freshness { ttl, .. } = self.freshness;
        (!ttl.is_zero())
            .then(|| self.probed_at.checked_add(ttl.max(MIN_REFRESH_INTERVAL)))
            .flatten()
    }

    /// Returns whether the list depends on the caller. Then the catalog holds the entries that the provider returned to
    /// the host.
    pub(crate) fn is_personal(&self) -> bool {
        self.freshness.scope == Scope::Caller
    }

    /// Returns whether the lists have expired and the caller should request a refresh. Returns true once, and
    /// again only if no new list arrived for a long time.
    pub(crate) fn claim_refresh(&self) -> bool {
        if !self.is_stale() {
            return false;
        }
        let mut requested = self.refresh_requested.lock();
        let is_due = requested.is_none_or(|last| last.elapsed() > REFRESH_TIMEOUT);
        if is_due {
            *requested = Some(Instant::now());
        }
        is_due
    }

    fn is_stale(&self) -> bool {
        self.refresh_at()
            .is_some_and(|stale| Instant::now() > stale)
    }

    /// Returns whether the provider may have URIs of this scheme. A personal list without entries for the
    /// host may have URIs of any scheme.
    pub(super) fn knows_scheme(&self, scheme: &str) -> bool {
        let unknown = self.is_personal() && self.schemes.is_empty();
        unknown || self.schemes.contains(&scheme.to_ascii_lowercase())
    }
}

fn sorted<T>(items: Vec<T>, compare: impl Fn(&T, &T) -> Ordering) -> Vec<Arc<T>> {
    let mut items: Vec<_> = items.into_iter().map(Arc::new).collect();
    items.sort_by(|a, b| compare(a, b));
    items
}

fn mean_bytes(entries: &[Arc<Entry>]) -> usize {
    let bytes: usize = entries.iter().map(|entry| entry.wire_size()).sum();
    bytes.div_ceil(entries.len().max(1))
}

fn schemes(entries: &[Arc<Entry>]) -> BTreeSet<String> {
    entries
        .iter()
        .map(|entry| entry.uri.scheme().to_ascii_lowercase())
        .collect()
}

fn pages(entries: &[Arc<Entry>], definitions: &Definitions) -> BTreeSet<Uri> {
    let tools = definitions.tools.iter();
    let named = tools.filter_map(|tool| tool.page.as_ref());
    let listed = entries
        .iter()
        .filter(|entry| entry.mime_type.as_deref().is_some_and(is_page_type));
    let all = named.chain(listed.map(|entry| &entry.uri));
    all.take(MAX_PAGES).cloned().collect()
}

fn by_prefix(templates: &[Arc<Template>]) -> PrefixMap<usize> {
    let mut prefixes = PrefixMap::default();
    for (at, template) in templates.iter().enumerate() {
        prefixes.add(template.uri_template.literal_prefix(), at);
    }
    prefixes.finish();
    prefixes
}
