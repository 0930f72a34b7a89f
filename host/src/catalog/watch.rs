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

/// As many times what one listener may watch may be watched in one catalog, by all together.
const LISTENERS: usize = 100;
/// Bytes of URIs that are watched in one catalog, by all together.
const BYTES: usize = 32 << 20;

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
    /// What all watch, a URI once for each who does, and its bytes.
    load: Load,
    most: Load,
    /// Holds only what is watched, so that it is bounded even if nobody asks for it.
    news: News,
    bell: Arc<Notify>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Load {
    uris: usize,
    bytes: usize,
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
        let most = Load { uris: most_uris.saturating_mul(LISTENERS), bytes: BYTES };
        Self { most_uris, watchers: Arc::new(Mutex::new(Watchers { most, ..Watchers::default() })) }
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

    /// Wants to hear of this URI. False if that would be more than one listener may watch, or all of a team together.
    pub fn add(&self, uri: Uri) -> bool {
        let mut wanted = lock(&self.wanted);
        if wanted.contains(&uri) {
            return true;
        }
        if wanted.len() >= self.most_uris {
            return false;
        }
        for (at, place) in self.places.iter().enumerate() {
            if !lock(&place.watchers).add(place.id, &uri) {
                self.places[..at].iter().for_each(|place| lock(&place.watchers).forget(place.id, &uri));
                return false;
            }
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

    /// False if that would be more than there is room for.
    fn add(&mut self, id: u64, uri: &Uri) -> bool {
        let load = Load { uris: self.load.uris + 1, bytes: self.load.bytes + uri.as_str().len() };
        if load.uris > self.most.uris || load.bytes > self.most.bytes {
            return false;
        }
        let ids = self.by_uri.entry(uri.clone()).or_default();
        if ids.insert(id) {
            self.load = load;
        }
        if ids.len() == 1 && self.news.begun.insert(uri.clone()) {
            self.bell.notify_one();
        }
        true
    }

    fn forget(&mut self, id: u64, uri: &Uri) {
        let Some(ids) = self.by_uri.get_mut(uri) else { return };
        if ids.remove(&id) {
            self.load.uris -= 1;
            self.load.bytes -= uri.as_str().len();
        }
        if ids.is_empty() {
            self.by_uri.remove(uri);
            self.news.begun.remove(uri);
            self.news.said.remove(uri);
        }
    }
}

#[cfg(test)]
mod tests;
