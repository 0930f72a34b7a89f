//! Who offers what to one team, now: an immutable value with one writer and many readers.
//! A request takes one snapshot and uses it to the end.

mod index;
mod lasting;
mod notice;
mod offer;
mod route;
mod shown;
mod updates;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::watch as level;

use self::index::Index;
use self::lasting::Lists;
pub use self::notice::{Collision, HeldBack, Rejected};
pub use self::offer::Offer;
pub use self::route::{Nearness, Route};
pub use self::updates::Moment;
use self::updates::Updates;
use self::watch::Hub;
pub use self::watch::{Change, News, Watch};
use crate::name::{Digest, ProviderName, TeamName};
use crate::resource::Freshness;
use crate::template::{Captures, Effort};
use crate::uri::Uri;

/// Everything that is offered at one moment, and what was not taken.
#[derive(Debug, Default)]
pub struct Catalog {
    offers: Vec<Arc<Offer>>,
    rejected: Vec<Rejected>,
    held_back: Vec<HeldBack>,
    collisions: Vec<Collision>,
    index: Index,
    lists: Lists,
}

impl Catalog {
    /// Puts a catalog together. Who was there first keeps what it has; then priority decides, then the name.
    pub fn new(mut offers: Vec<Arc<Offer>>, rejected: Vec<Rejected>, held_back: Vec<HeldBack>) -> Self {
        offers.sort_by(|a, b| a.name().cmp(b.name()));
        let (index, collisions) = Index::new(&offers);
        let lists = Lists::new(&offers);
        Self { offers, rejected, held_back, collisions, index, lists }
    }

    /// How long the list of entries may be reused as a whole; none where nothing is offered. The time of a personal
    /// list is that of the answer which its caller gets, and does not count here.
    pub fn entries_freshness(&self) -> Option<Freshness> {
        self.lists.entries()
    }

    /// The same for the list of templates.
    pub fn templates_freshness(&self) -> Option<Freshness> {
        self.lists.templates()
    }

    /// Whether one of the lists has outlived its time.
    pub fn is_stale(&self) -> bool {
        self.lists.are_stale()
    }

    /// What is offered, by name.
    pub fn offers(&self) -> &[Arc<Offer>] {
        &self.offers
    }

    /// What was not taken.
    pub fn rejected(&self) -> &[Rejected] {
        &self.rejected
    }

    /// What waits for its operator.
    pub fn held_back(&self) -> &[HeldBack] {
        &self.held_back
    }

    /// What two providers offer.
    pub fn collisions(&self) -> &[Collision] {
        &self.collisions
    }

    /// Who listed this URI, and keeps it.
    pub fn by_uri(&self, uri: &str) -> Option<&Arc<Offer>> {
        self.index.by_uri(uri).map(|at| &self.offers[at])
    }

    /// Whose templates match this URI: the most specific first. Each provider's take a share of the effort.
    pub fn by_template(&self, uri: &Uri) -> Vec<(&Arc<Offer>, &str, Captures)> {
        let near: Vec<_> = self.index.templates_for(uri.as_str()).collect();
        let offers: BTreeSet<usize> = near.iter().map(|(offer, _)| *offer).collect();
        let mut shares: BTreeMap<usize, Effort> =
            offers.iter().map(|at| (*at, Effort::shared_by(offers.len()))).collect();
        let mut found: Vec<_> = near
            .into_iter()
            .filter_map(|(at, template)| {
                let offer = &self.offers[at];
                let pattern = &offer.templates[template].pattern;
                let captures = pattern.matches_within(uri.as_str(), shares.get_mut(&at)?)?;
                Some((offer, pattern, captures))
            })
            .collect();
        found.sort_by(|(one, a, _), (other, b, _)| {
            b.specificity().cmp(&a.specificity()).then_with(|| one.name().cmp(other.name()))
        });
        found.into_iter().map(|(offer, pattern, captures)| (offer, pattern.as_str(), captures)).collect()
    }

    /// Who claims this URI: the longest prefix first.
    pub fn by_claim(&self, uri: &str) -> impl Iterator<Item = &Arc<Offer>> {
        self.index.claims_for(uri).map(|at| &self.offers[at])
    }

    /// Whose list is longer than what the catalog holds of it, and has URIs of this kind.
    pub fn by_rest(&self, uri: &Uri) -> impl Iterator<Item = &Arc<Offer>> {
        self.offers.iter().filter(move |offer| {
            let longer = offer.rest.is_some() || offer.is_personal();
            longer && offer.knows_scheme(uri.scheme())
        })
    }

    /// Who keeps the template of this text.
    pub fn template(&self, text: &str) -> Option<(&Arc<Offer>, usize)> {
        self.index.template(text).map(|(offer, template)| (&self.offers[offer], template))
    }

    /// Whether this provider may speak for this URI.
    pub fn speaks_for(&self, provider: &ProviderName, uri: &Uri) -> bool {
        let is_own = |offer: &Arc<Offer>| offer.name() == provider;
        self.by_uri(uri.as_str()).is_some_and(is_own)
            || self.by_template(uri).iter().any(|(offer, ..)| is_own(offer))
            || self.by_claim(uri.as_str()).any(is_own)
            // Of what nobody lists, a guess is enough; what somebody lists is not another's to speak for.
            || (self.by_uri(uri.as_str()).is_none() && self.by_rest(uri).any(is_own))
    }

    /// Whether this provider may give a content of this URI when it is asked for the other: the one that was asked
    /// for, and what is below it or its own, unless somebody else lists it.
    pub fn may_answer(&self, provider: &ProviderName, asked: &Uri, uri: &Uri) -> bool {
        let is_below = || {
            let rest = uri.as_str().strip_prefix(asked.as_str());
            rest.is_some_and(|rest| asked.as_str().ends_with('/') || rest.starts_with(['/', '?', '#']))
        };
        let is_free = || self.by_uri(uri.as_str()).is_none_or(|offer| offer.name() == provider);
        uri == asked || (is_free() && (is_below() || self.speaks_for(provider, uri)))
    }

    /// Whether two catalogs show a client the same lists.
    fn lists_like(&self, other: &Self) -> bool {
        self.lists() == other.lists()
    }

    /// Stands for what clients are shown: of each offer of which they see something, all that it lists, and what of that
    /// they do not see.
    fn lists(&self) -> Vec<(&ProviderName, Digest, Vec<&str>)> {
        let mut lost: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for Collision { what, loses, .. } in &self.collisions {
            lost.entry(loses).or_default().push(what.as_str());
        }
        let seen = self.offers.iter().filter(|offer| self.is_seen(offer));
        seen.map(|offer| (offer.name(), offer.shown, lost.remove(offer.name()).unwrap_or_default())).collect()
    }

    fn is_seen(&self, offer: &Arc<Offer>) -> bool {
        let is_kept = |keeper: Option<&Arc<Offer>>| keeper.is_some_and(|keeper| Arc::ptr_eq(keeper, offer));
        offer.rest.is_some()
            || offer.is_personal()
            || offer.entries.iter().any(|entry| is_kept(self.by_uri(entry.uri.as_str())))
            || offer
                .templates
                .iter()
                .any(|template| is_kept(self.template(template.pattern.as_str()).map(|(keeper, _)| keeper)))
    }
}

/// An empty catalog of this team's, and the two ends of it.
pub fn catalog(team: TeamName, watched_uris: usize) -> (Writer, Reader) {
    let shelf = Arc::new(Shelf {
        team,
        now: ArcSwap::default(),
        updates: Updates::default(),
        hub: Hub::new(watched_uris),
        published: level::Sender::default(),
    });
    (Writer { shelf: shelf.clone() }, Reader { shelf })
}

/// A watch over several catalogs, with nothing in it yet.
pub fn watch<'a>(readers: impl IntoIterator<Item = &'a Reader>) -> Watch {
    Watch::over(readers.into_iter().map(|reader| &reader.shelf.hub))
}

#[derive(Debug)]
struct Shelf {
    team: TeamName,
    now: ArcSwap<Catalog>,
    updates: Updates,
    hub: Hub,
    /// Grows with each catalog.
    published: level::Sender<u64>,
}

/// The one writer. It cannot be cloned.
#[derive(Debug)]
pub struct Writer {
    shelf: Arc<Shelf>,
}

impl Writer {
    /// What is published now.
    pub fn current(&self) -> Arc<Catalog> {
        self.shelf.now.load_full()
    }

    /// Puts a new catalog in the place of the old one, in one step, and tells those who watch the list
    /// if it differs.
    pub fn publish(&mut self, catalog: Catalog) {
        let old = self.shelf.now.swap(Arc::new(catalog));
        self.shelf.published.send_modify(|count| *count += 1);
        if !self.current().lists_like(&old) {
            self.shelf.hub.list_changed();
        }
    }

    /// Tells those who watch the list that it differs in a part that no catalog has.
    pub fn list_changed(&self) {
        self.shelf.hub.list_changed();
    }

    /// Tells those who watch this URI what its provider said: that its content differs.
    pub fn updated(&self, uri: &Uri) {
        self.shelf.updates.note(uri);
        self.shelf.hub.said(uri);
    }

    /// For one who finds out by itself what differs.
    pub fn herald(&self) -> Herald {
        Herald { shelf: self.shelf.clone() }
    }
}

/// Knows what is watched, and tells those who watch. It cannot publish.
#[derive(Debug, Clone)]
pub struct Herald {
    shelf: Arc<Shelf>,
}

impl Herald {
    /// Tells those who watch this URI that its content differs.
    pub fn updated(&self, uri: &Uri) {
        // Before anybody is told: who is told asks again, and must not be given what was kept.
        self.shelf.updates.note(uri);
        self.shelf.hub.updated(uri);
    }

    /// Each URI that somebody watches, once.
    pub fn watched(&self) -> Vec<Uri> {
        self.shelf.hub.watched()
    }

    /// Waits until somebody begins to watch what nobody watched, or a provider says what was updated;
    /// gives all of it that is still watched. For one who asks; may be dropped and called again without loss.
    pub async fn news(&self) -> News {
        self.shelf.hub.news().await
    }
}

/// One of many readers.
#[derive(Debug, Clone)]
pub struct Reader {
    shelf: Arc<Shelf>,
}

impl Reader {
    /// Whose catalog it is.
    pub fn team(&self) -> &TeamName {
        &self.shelf.team
    }

    /// The catalog of this moment.
    pub fn snapshot(&self) -> Arc<Catalog> {
        self.shelf.now.load_full()
    }

    /// This moment, to be compared with updates that come later.
    pub fn moment(&self) -> Moment {
        self.shelf.updates.now()
    }

    /// Whether nobody has said since then that this URI differs. It may say no without a reason, never yes.
    pub fn is_same_since(&self, moment: Moment, uri: &Uri) -> bool {
        self.shelf.updates.none_since(moment, uri)
    }

    /// Changes whenever a newer catalog is there.
    pub fn published(&self) -> level::Receiver<u64> {
        self.shelf.published.subscribe()
    }

    /// How many watch, and how many URIs they watch.
    pub fn watchers(&self) -> (usize, usize) {
        self.shelf.hub.count()
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_reader_keeps_its_snapshot() {
        let (mut writer, reader) = catalog(TeamName::sole(), 8);
        let rejected = |file: &str| Rejected {
            file: file.into(),
            digest: None,
            reason: "empty".into(),
            since: SystemTime::now(),
        };
        let before = reader.snapshot();
        writer.publish(Catalog::new(vec![], vec![rejected("a.wasm")], vec![]));
        assert_eq!((before.rejected().len(), reader.snapshot().rejected().len()), (0, 1));
    }

    #[tokio::test]
    async fn a_publish_that_shows_nothing_new_is_not_told() {
        let (mut writer, reader) = catalog(TeamName::sole(), 8);
        let watch = watch([&reader]);
        watch.list_changes(true);
        let since = SystemTime::now();
        let rejected = Rejected { file: "a.wasm".into(), digest: None, reason: "empty".into(), since };
        writer.publish(Catalog::new(vec![], vec![rejected], vec![]));
        let uri = Uri::parse("x:y").unwrap();
        watch.add(uri.clone());
        writer.updated(&uri);
        assert_eq!(watch.next().await, [Change::Updated(uri)]);
    }
}
