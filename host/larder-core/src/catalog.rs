//! The catalog: what the providers of one team offer now. It is an immutable value with one writer and many
//! readers. A request takes one snapshot and uses it to the end.

mod index;
mod list_digest;
mod list_expiry;
mod notice;
mod offer;
mod route;
mod updates;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::watch as watch_channel;

use self::index::Index;
use self::list_expiry::ListExpiry;
pub use self::notice::{Collision, PendingApproval, RejectedComponent};
pub use self::offer::Offer;
pub use self::route::{Route, RouteRank};
pub use self::updates::LogicalTime;
use self::updates::UpdateTimes;
use self::watch::WatchHub;
pub use self::watch::{Change, Watch, WatchEvents};
use larder_model::name::{Digest, ProviderName, TeamName};
use larder_model::resource::Freshness;
use larder_model::uri::Uri;
use larder_uri_template::{Captures, MatchBudget};

/// Everything that is offered at one time, and the components that are not served.
#[derive(Debug, Default)]
pub struct Catalog {
    offers: Vec<Arc<Offer>>,
    rejected: Vec<RejectedComponent>,
    pending_approvals: Vec<PendingApproval>,
    collisions: Vec<Collision>,
    index: Index,
    list_expiry: ListExpiry,
}

impl Catalog {
    /// Builds a catalog. The provider of the earlier generation owns a URI; then priority decides, then the
    /// name.
    pub fn new(
        mut offers: Vec<Arc<Offer>>,
        rejected: Vec<RejectedComponent>,
        pending_approvals: Vec<PendingApproval>,
    ) -> Self {
        offers.sort_by(|a, b| a.name().cmp(b.name()));
        let (index, collisions) = Index::new(&offers);
        let list_expiry = ListExpiry::new(&offers);
        Self { offers, rejected, pending_approvals, collisions, index, list_expiry }
    }

    /// Returns how long the list of entries may be reused as a whole, or `None` if nothing is offered.
    /// Personal lists do not count: their freshness is that of the answer to the caller.
    pub(crate) fn entries_freshness(&self) -> Option<Freshness> {
        self.list_expiry.entries()
    }

    /// Returns how long the list of templates may be reused as a whole.
    pub(crate) fn templates_freshness(&self) -> Option<Freshness> {
        self.list_expiry.templates()
    }

    /// Returns whether one of the lists has expired.
    pub(crate) fn is_stale(&self) -> bool {
        self.list_expiry.is_stale()
    }

    /// Returns the offers, sorted by name.
    pub fn offers(&self) -> &[Arc<Offer>] {
        &self.offers
    }

    /// Returns the components that were rejected.
    pub fn rejected(&self) -> &[RejectedComponent] {
        &self.rejected
    }

    /// Returns the revisions that wait for approval.
    pub fn pending_approvals(&self) -> &[PendingApproval] {
        &self.pending_approvals
    }

    /// Returns the URIs and templates that two providers offer.
    pub fn collisions(&self) -> &[Collision] {
        &self.collisions
    }

    /// Returns the offer that owns this listed URI.
    pub fn by_uri(&self, uri: &str) -> Option<&Arc<Offer>> {
        self.index.by_uri(uri).map(|at| &self.offers[at])
    }

    /// Returns the offers with a template that matches this URI, the most specific first. The providers share
    /// the matching budget equally.
    pub fn by_template(&self, uri: &Uri) -> Vec<(&Arc<Offer>, &str, Captures)> {
        let near: Vec<_> = self.index.templates_for(uri.as_str()).collect();
        let offers: BTreeSet<usize> = near.iter().map(|(offer, _)| *offer).collect();
        let mut shares: BTreeMap<usize, MatchBudget> =
            offers.iter().map(|at| (*at, MatchBudget::shared_by(offers.len()))).collect();
        let mut found: Vec<_> = near
            .into_iter()
            .filter_map(|(at, template)| {
                let offer = &self.offers[at];
                let uri_template = &offer.templates[template].uri_template;
                let captures = uri_template.matches_within(uri.as_str(), shares.get_mut(&at)?)?;
                Some((offer, uri_template, captures))
            })
            .collect();
        found.sort_by(|(one, a, _), (other, b, _)| {
            b.specificity().cmp(&a.specificity()).then_with(|| one.name().cmp(other.name()))
        });
        found
            .into_iter()
            .map(|(offer, uri_template, captures)| (offer, uri_template.as_str(), captures))
            .collect()
    }

    /// Returns the offers that claim this URI, the longest prefix first.
    pub(crate) fn by_claim(&self, uri: &str) -> impl Iterator<Item = &Arc<Offer>> {
        self.index.claims_for(uri).map(|at| &self.offers[at])
    }

    /// Returns the offers whose list is longer than what the catalog holds, and that have URIs of this
    /// scheme.
    pub(crate) fn with_unlisted_entries(&self, uri: &Uri) -> impl Iterator<Item = &Arc<Offer>> {
        self.offers.iter().filter(move |offer| {
            let longer = offer.next_cursor.is_some() || offer.is_personal();
            longer && offer.knows_scheme(uri.scheme())
        })
    }

    /// Returns the offer that owns the template with this text, and the template's position in it.
    pub fn template(&self, text: &str) -> Option<(&Arc<Offer>, usize)> {
        self.index.template(text).map(|(offer, template)| (&self.offers[offer], template))
    }

    /// Returns whether this provider may report updates of this URI.
    pub fn owns(&self, provider: &ProviderName, uri: &Uri) -> bool {
        let is_own = |offer: &Arc<Offer>| offer.name() == provider;
        self.by_uri(uri.as_str()).is_some_and(is_own)
            || self.has_matching_template(provider, uri)
            || self.by_claim(uri.as_str()).any(is_own)
            // Nobody lists the URI, so it may be one of the entries that the catalog does not hold.
            || (self.by_uri(uri.as_str()).is_none() && self.with_unlisted_entries(uri).any(is_own))
    }

    /// Returns whether a template of this provider matches this URI. The templates of others are not tried.
    fn has_matching_template(&self, provider: &ProviderName, uri: &Uri) -> bool {
        let mut budget = MatchBudget::default();
        self.index.templates_for(uri.as_str()).any(|(offer, template)| {
            let offer = &self.offers[offer];
            offer.name() == provider
                && offer.templates[template].uri_template.matches_within(uri.as_str(), &mut budget).is_some()
        })
    }

    /// Returns whether this provider may return content of `uri` in an answer to `requested`: the same URI,
    /// or one below it or of its own, unless another provider lists it.
    pub(crate) fn may_return(&self, provider: &ProviderName, requested: &Uri, uri: &Uri) -> bool {
        let is_below = || {
            let rest = uri.as_str().strip_prefix(requested.as_str());
            rest.is_some_and(|rest| requested.as_str().ends_with('/') || rest.starts_with(['/', '?', '#']))
        };
        let is_free = || self.by_uri(uri.as_str()).is_none_or(|offer| offer.name() == provider);
        uri == requested || (is_free() && (is_below() || self.owns(provider, uri)))
    }

    /// Returns whether two catalogs show the same lists to clients.
    fn has_same_lists(&self, other: &Self) -> bool {
        self.visible_lists() == other.visible_lists()
    }

    /// Returns what clients see: for each visible offer, the digest of its lists and what it lost to other
    /// offers.
    fn visible_lists(&self) -> Vec<(&ProviderName, Digest, Vec<&str>)> {
        let mut lost: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for Collision { what, loser, .. } in &self.collisions {
            lost.entry(loser).or_default().push(what.as_str());
        }
        let seen = self.offers.iter().filter(|offer| self.is_visible(offer));
        seen.map(|offer| (offer.name(), offer.list_digest, lost.remove(offer.name()).unwrap_or_default()))
            .collect()
    }

    fn is_visible(&self, offer: &Arc<Offer>) -> bool {
        let is_offer = |owner: Option<&Arc<Offer>>| owner.is_some_and(|owner| Arc::ptr_eq(owner, offer));
        offer.next_cursor.is_some()
            || offer.is_personal()
            || offer.entries.iter().any(|entry| is_offer(self.by_uri(entry.uri.as_str())))
            || offer.templates.iter().any(|template| {
                is_offer(self.template(template.uri_template.as_str()).map(|(owner, _)| owner))
            })
    }
}

/// Creates the empty catalog of a team. Returns its writer and its reader.
pub fn catalog(team: TeamName, watched_uris: usize) -> (Writer, Reader) {
    let cell = Arc::new(CatalogCell {
        team,
        now: ArcSwap::default(),
        updates: UpdateTimes::default(),
        hub: WatchHub::new(watched_uris),
        published: watch_channel::Sender::default(),
    });
    (Writer { cell: cell.clone() }, Reader { cell })
}

/// Creates a watch over several catalogs. It watches nothing yet.
pub fn watch<'a>(readers: impl IntoIterator<Item = &'a Reader>) -> Watch {
    Watch::new(readers.into_iter().map(|reader| &reader.cell.hub))
}

#[derive(Debug)]
struct CatalogCell {
    team: TeamName,
    now: ArcSwap<Catalog>,
    updates: UpdateTimes,
    hub: WatchHub,
    /// Increases with each catalog.
    published: watch_channel::Sender<u64>,
}

/// The only writer. It cannot be cloned.
#[derive(Debug)]
pub struct Writer {
    cell: Arc<CatalogCell>,
}

impl Writer {
    /// Returns the current catalog.
    pub fn current(&self) -> Arc<Catalog> {
        self.cell.now.load_full()
    }

    /// Replaces the catalog in one step, and notifies the watchers of the list if it differs.
    pub fn publish(&mut self, catalog: Catalog) {
        let old = self.cell.now.swap(Arc::new(catalog));
        self.cell.published.send_modify(|count| *count += 1);
        if !self.current().has_same_lists(&old) {
            self.cell.hub.list_changed();
        }
    }

    /// Notifies the watchers of the list of a change that the catalog does not show.
    pub fn list_changed(&self) {
        self.cell.hub.list_changed();
    }

    /// Notifies the watchers of this URI of an update that its provider reported.
    pub fn updated(&self, uri: &Uri) {
        self.cell.updates.record(uri);
        self.cell.hub.provider_updated(uri);
    }

    /// Returns the notifier for the change detector.
    pub fn notifier(&self) -> Notifier {
        Notifier { cell: self.cell.clone() }
    }
}

/// Knows the watched URIs and notifies their watchers. It cannot publish.
#[derive(Debug, Clone)]
pub struct Notifier {
    cell: Arc<CatalogCell>,
}

impl Notifier {
    /// Notifies the watchers of this URI that its content changed.
    pub fn updated(&self, uri: &Uri) {
        // Recorded before the notification: a notified client reads again, and must not get a cached
        // response.
        self.cell.updates.record(uri);
        self.cell.hub.updated(uri);
    }

    /// Returns each watched URI once.
    pub fn watched(&self) -> Vec<Uri> {
        self.cell.hub.watched()
    }

    /// Waits until a URI is newly watched or a provider reports an update, and returns all such URIs that are
    /// still watched. For a single consumer. Cancel safe.
    pub(crate) async fn next_events(&self) -> WatchEvents {
        self.cell.hub.next_events().await
    }
}

/// A reader. It can be cloned.
#[derive(Debug, Clone)]
pub struct Reader {
    cell: Arc<CatalogCell>,
}

impl Reader {
    /// Returns the team of the catalog.
    pub fn team(&self) -> &TeamName {
        &self.cell.team
    }

    /// Returns the current catalog.
    pub fn snapshot(&self) -> Arc<Catalog> {
        self.cell.now.load_full()
    }

    /// Returns the current logical time, to compare with later updates.
    pub(crate) fn logical_time(&self) -> LogicalTime {
        self.cell.updates.now()
    }

    /// Returns whether there was no update of this URI since then. May return false without an update, but
    /// never true after one.
    pub(crate) fn unchanged_since(&self, time: LogicalTime, uri: &Uri) -> bool {
        self.cell.updates.unchanged_since(time, uri)
    }

    /// Returns a receiver that changes with each new catalog.
    pub fn published(&self) -> watch_channel::Receiver<u64> {
        self.cell.published.subscribe()
    }

    /// Returns the number of watches and the number of watched URIs.
    pub fn watchers(&self) -> (usize, usize) {
        self.cell.hub.count()
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_snapshot_is_not_changed_by_publish() {
        let (mut writer, reader) = catalog(TeamName::default_team(), 8);
        let rejected = |file: &str| RejectedComponent {
            origin: file.into(),
            digest: None,
            reason: "empty".into(),
            stderr: String::new(),
            since: SystemTime::now(),
        };
        let before = reader.snapshot();
        writer.publish(Catalog::new(vec![], vec![rejected("a.wasm")], vec![]));
        assert_eq!((before.rejected().len(), reader.snapshot().rejected().len()), (0, 1));
    }

    #[tokio::test]
    async fn publishing_the_same_lists_notifies_nobody() {
        let (mut writer, reader) = catalog(TeamName::default_team(), 8);
        let watch = watch([&reader]);
        watch.watch_list(true);
        let since = SystemTime::now();
        let rejected = RejectedComponent {
            origin: "a.wasm".into(),
            digest: None,
            reason: "empty".into(),
            stderr: String::new(),
            since,
        };
        writer.publish(Catalog::new(vec![], vec![rejected], vec![]));
        let uri = Uri::parse("x:y").unwrap();
        watch.add(uri.clone());
        writer.updated(&uri);
        assert_eq!(watch.next().await, [Change::Updated(uri)]);
    }
}
