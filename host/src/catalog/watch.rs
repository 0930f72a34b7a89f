//! Those who want to hear of changes. What they hear are levels, not events: a change that is
//! already waiting to be told is not told twice, so a slow listener costs a bounded amount and holds nobody up.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::uri::Uri;

/// Something that differs from what was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// What can be listed.
    List,
    /// What this URI holds.
    Updated(Uri),
}

/// What is of interest to one who finds out what differs.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct News {
    /// What nobody watched before.
    pub begun: HashSet<Uri>,
    /// What a provider said was updated; those who watch have been told.
    pub said: HashSet<Uri>,
}

#[derive(Debug)]
pub(super) struct Hub {
    most_uris: usize,
    watchers: Arc<Mutex<Watchers>>,
}

#[derive(Debug, Default)]
struct Watchers {
    next: u64,
    all: HashMap<u64, Arc<Watcher>>,
    by_uri: HashMap<Uri, BTreeSet<u64>>,
    /// Holds only what is watched, so that it is bounded even if nobody asks for it.
    news: News,
    bell: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Watcher {
    waiting: Mutex<Waiting>,
    bell: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    wants_list: bool,
    list: bool,
    uris: BTreeSet<Uri>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    pub(super) fn new(most_uris: usize) -> Self {
        Self { most_uris, watchers: Arc::default() }
    }

    fn enter(&self, watcher: &Arc<Watcher>) -> Place {
        let mut watchers = lock(&self.watchers);
        let id = watchers.next;
        watchers.next += 1;
        watchers.all.insert(id, watcher.clone());
        Place { id, watchers: self.watchers.clone() }
    }

    pub(super) fn list_changed(&self) {
        for watcher in lock(&self.watchers).all.values() {
            let mut waiting = lock(&watcher.waiting);
            waiting.list = waiting.wants_list;
            watcher.bell.notify_one();
        }
    }

    pub(super) fn updated(&self, uri: &Uri) {
        lock(&self.watchers).tell(uri);
    }

    pub(super) fn said(&self, uri: &Uri) {
        let mut watchers = lock(&self.watchers);
        watchers.tell(uri);
        if watchers.by_uri.contains_key(uri) {
            watchers.news.said.insert(uri.clone());
            watchers.bell.notify_one();
        }
    }

    pub(super) fn watched(&self) -> Vec<Uri> {
        lock(&self.watchers).by_uri.keys().cloned().collect()
    }

    /// Watches, and URIs that are watched.
    pub(super) fn count(&self) -> (usize, usize) {
        let watchers = lock(&self.watchers);
        (watchers.all.len(), watchers.by_uri.len())
    }

    pub(super) async fn news(&self) -> News {
        let bell = lock(&self.watchers).bell.clone();
        loop {
            let news = std::mem::take(&mut lock(&self.watchers).news);
            if news != News::default() {
                return news;
            }
            bell.notified().await;
        }
    }
}

/// One listener, to one catalog or to several: what differs in any of them is told once. Dropping it ends the
/// watching.
#[derive(Debug)]
pub struct Watch {
    watcher: Arc<Watcher>,
    most_uris: usize,
    /// Held while it changes, so that all hubs know the same of it.
    wanted: Mutex<BTreeSet<Uri>>,
    places: Vec<Place>,
}

/// A listener's place in one hub.
#[derive(Debug)]
struct Place {
    id: u64,
    watchers: Arc<Mutex<Watchers>>,
}

impl Watch {
    pub(super) fn over<'a>(hubs: impl Iterator<Item = &'a Hub>) -> Self {
        let watcher = Arc::new(Watcher::default());
        let mut watch = Self { watcher, most_uris: 0, wanted: Mutex::default(), places: Vec::new() };
        for hub in hubs {
            watch.most_uris = watch.most_uris.max(hub.most_uris);
            watch.places.push(hub.enter(&watch.watcher));
        }
        watch
    }

    /// Whether to hear of a list that differs.
    pub fn list_changes(&self, on: bool) {
        let mut waiting = lock(&self.watcher.waiting);
        waiting.wants_list = on;
        waiting.list &= on;
    }

    /// Wants to hear of this URI. False if that would be more than one listener may watch.
    pub fn add(&self, uri: Uri) -> bool {
        let mut wanted = lock(&self.wanted);
        if wanted.len() >= self.most_uris && !wanted.contains(&uri) {
            return false;
        }
        for place in &self.places {
            lock(&place.watchers).add(place.id, uri.clone());
        }
        wanted.insert(uri);
        true
    }

    /// Whether it wants to hear of this URI.
    pub fn wants(&self, uri: &Uri) -> bool {
        lock(&self.wanted).contains(uri)
    }

    /// Does not want to hear of this URI any more.
    pub fn remove(&self, uri: &str) {
        let mut wanted = lock(&self.wanted);
        let Some(uri) = wanted.take(uri) else { return };
        for place in &self.places {
            lock(&place.watchers).forget(place.id, &uri);
        }
        lock(&self.watcher.waiting).uris.remove(&uri);
    }

    /// Counts everything that is wanted as different, for somebody who may have missed some of it.
    pub fn in_doubt(&self) {
        let wanted = lock(&self.wanted);
        let mut waiting = lock(&self.watcher.waiting);
        waiting.list = waiting.wants_list;
        waiting.uris = wanted.clone();
        self.watcher.bell.notify_one();
    }

    /// Waits until something differs, and gives all that does. May be dropped and called again without loss.
    pub async fn next(&self) -> Vec<Change> {
        loop {
            let changes = self.take();
            if !changes.is_empty() {
                return changes;
            }
            self.watcher.bell.notified().await;
        }
    }

    fn take(&self) -> Vec<Change> {
        let mut waiting = lock(&self.watcher.waiting);
        let list = std::mem::take(&mut waiting.list).then_some(Change::List);
        let uris = std::mem::take(&mut waiting.uris).into_iter().map(Change::Updated);
        list.into_iter().chain(uris).collect()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let wanted = lock(&self.wanted);
        for place in &self.places {
            let mut watchers = lock(&place.watchers);
            watchers.all.remove(&place.id);
            wanted.iter().for_each(|uri| watchers.forget(place.id, uri));
        }
    }
}

impl Watchers {
    fn tell(&self, uri: &Uri) {
        let ids = self.by_uri.get(uri).into_iter().flatten();
        for watcher in ids.filter_map(|id| self.all.get(id)) {
            lock(&watcher.waiting).uris.insert(uri.clone());
            watcher.bell.notify_one();
        }
    }

    fn add(&mut self, id: u64, uri: Uri) {
        let ids = self.by_uri.entry(uri.clone()).or_default();
        ids.insert(id);
        if ids.len() == 1 && self.news.begun.insert(uri) {
            self.bell.notify_one();
        }
    }

    fn forget(&mut self, id: u64, uri: &Uri) {
        let Some(ids) = self.by_uri.get_mut(uri) else { return };
        ids.remove(&id);
        if ids.is_empty() {
            self.by_uri.remove(uri);
            self.news.begun.remove(uri);
            self.news.said.remove(uri);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(hub: &Hub) -> Watch {
        Watch::over([hub].into_iter())
    }

    fn uri(text: &str) -> Uri {
        Uri::parse(text).unwrap()
    }

    #[tokio::test]
    async fn changes_that_wait_are_told_once() {
        let hub = Hub::new(8);
        let watch = watch(&hub);
        watch.list_changes(true);
        assert!(watch.add(uri("a:1")) && watch.add(uri("a:2")));
        for _ in 0..1_000 {
            hub.updated(&uri("a:1"));
            hub.list_changed();
        }
        assert_eq!(watch.next().await, [Change::List, Change::Updated(uri("a:1"))]);
        assert!(watch.take().is_empty());
    }

    #[test]
    fn nobody_hears_what_he_did_not_ask_for() {
        let hub = Hub::new(1);
        let (watch, other) = (watch(&hub), Hub::new(1));
        assert!(watch.add(uri("a:1")) && watch.add(uri("a:1")) && !watch.add(uri("a:2")));
        hub.list_changed();
        other.updated(&uri("a:1"));
        hub.updated(&uri("a:2"));
        assert!(watch.take().is_empty());
        hub.updated(&uri("a:1"));
        watch.remove("a:1");
        assert!(watch.take().is_empty());
    }

    #[tokio::test]
    async fn in_doubt_everything_that_is_wanted_is_told_and_nothing_else() {
        let hub = Hub::new(8);
        let watch = watch(&hub);
        assert!(watch.add(uri("a:1")) && watch.add(uri("a:2")));
        watch.remove("a:1");
        watch.in_doubt();
        assert_eq!(watch.next().await, [Change::Updated(uri("a:2"))]);
        watch.list_changes(true);
        watch.in_doubt();
        assert_eq!(watch.next().await, [Change::List, Change::Updated(uri("a:2"))]);
    }

    #[test]
    fn a_dropped_watch_leaves_nothing_behind() {
        let hub = Hub::new(8);
        let watch = watch(&hub);
        watch.add(uri("a:1"));
        hub.said(&uri("a:1"));
        drop(watch);
        let watchers = lock(&hub.watchers);
        assert!(watchers.all.is_empty() && watchers.by_uri.is_empty());
        assert_eq!(watchers.news, News::default());
    }

    #[tokio::test]
    async fn news_are_what_begins_and_what_was_said() {
        let hub = Hub::new(8);
        let (one, other) = (watch(&hub), watch(&hub));
        let watched = |text| HashSet::from([uri(text)]);
        one.add(uri("a:1"));
        other.add(uri("a:1"));
        let begun = News { begun: watched("a:1"), ..News::default() };
        assert_eq!(hub.news().await, begun);
        hub.updated(&uri("a:1"));
        hub.said(&uri("a:2"));
        hub.said(&uri("a:1"));
        assert_eq!(hub.news().await, News { said: watched("a:1"), ..News::default() });
        drop(one);
        assert_eq!(hub.watched(), Vec::from_iter(watched("a:1")));
    }

    #[tokio::test]
    async fn what_differs_in_several_catalogs_is_told_once() {
        let (one, other, third) = (Hub::new(2), Hub::new(2), Hub::new(2));
        let watch = Watch::over([&one, &other].into_iter());
        watch.list_changes(true);
        assert!(watch.add(uri("a:1")) && watch.add(uri("a:2")) && !watch.add(uri("a:3")));
        for hub in [&one, &other, &third] {
            hub.list_changed();
            hub.updated(&uri("a:1"));
        }
        assert_eq!(watch.next().await, [Change::List, Change::Updated(uri("a:1"))]);
        third.updated(&uri("a:2"));
        assert!(watch.take().is_empty());
        watch.remove("a:1");
        assert_eq!((one.watched(), other.watched()), (vec![uri("a:2")], vec![uri("a:2")]));
        drop(watch);
        assert!(one.watched().is_empty() && other.watched().is_empty());
    }
}
