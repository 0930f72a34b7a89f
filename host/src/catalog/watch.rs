//! Those who want to hear of changes. What they hear are levels, not events: a change that is
//! already waiting to be told is not told twice, so a slow listener costs a bounded amount and holds nobody up.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::name::{TeamName, Teams};
use crate::uri::Uri;

/// Something that differs from what was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// What can be listed.
    List,
    /// What this URI holds.
    Updated(Uri),
}

/// A URI that somebody of a team watches.
pub type Watched = (TeamName, Uri);

/// What is of interest to one who finds out what differs.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct News {
    /// What nobody watched before.
    pub begun: HashSet<Watched>,
    /// What a provider said was updated; those who watch have been told.
    pub said: HashSet<Watched>,
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
    by_uri: HashMap<Watched, BTreeSet<u64>>,
    /// Holds only what is watched, so that it is bounded even if nobody asks for it.
    news: News,
    bell: Arc<Notify>,
}

#[derive(Debug)]
struct Watcher {
    teams: Teams,
    waiting: Mutex<Waiting>,
    bell: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    wants_list: bool,
    wanted: BTreeSet<Uri>,
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

    pub(super) fn watch(&self, teams: &Teams) -> Watch {
        let watcher =
            Arc::new(Watcher { teams: teams.clone(), waiting: Mutex::default(), bell: Notify::new() });
        let mut watchers = lock(&self.watchers);
        let id = watchers.next;
        watchers.next += 1;
        watchers.all.insert(id, watcher.clone());
        Watch { id, watcher, most_uris: self.most_uris, watchers: self.watchers.clone() }
    }

    pub(super) fn list_changed(&self) {
        for watcher in lock(&self.watchers).all.values() {
            let mut waiting = lock(&watcher.waiting);
            waiting.list = waiting.wants_list;
            watcher.bell.notify_one();
        }
    }

    pub(super) fn updated(&self, team: &TeamName, uri: &Uri) {
        lock(&self.watchers).tell(team, uri);
    }

    pub(super) fn said(&self, team: &TeamName, uri: &Uri) {
        let mut watchers = lock(&self.watchers);
        watchers.tell(team, uri);
        let key = (team.clone(), uri.clone());
        if watchers.by_uri.contains_key(&key) {
            watchers.news.said.insert(key);
            watchers.bell.notify_one();
        }
    }

    pub(super) fn watched(&self) -> Vec<Watched> {
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

/// One listener. Dropping it ends the watching.
#[derive(Debug)]
pub struct Watch {
    id: u64,
    watcher: Arc<Watcher>,
    most_uris: usize,
    watchers: Arc<Mutex<Watchers>>,
}

impl Watch {
    /// Whether to hear of a list that differs.
    pub fn list_changes(&self, on: bool) {
        let mut waiting = lock(&self.watcher.waiting);
        waiting.wants_list = on;
        waiting.list &= on;
    }

    /// Wants to hear of this URI. False if that would be more than one listener may watch.
    pub fn add(&self, uri: Uri) -> bool {
        let mut watchers = lock(&self.watchers);
        let mut waiting = lock(&self.watcher.waiting);
        if waiting.wanted.len() >= self.most_uris && !waiting.wanted.contains(&uri) {
            return false;
        }
        waiting.wanted.insert(uri.clone());
        drop(waiting);
        for team in self.watcher.teams.iter() {
            watchers.add(self.id, (team.clone(), uri.clone()));
        }
        true
    }

    /// Does not want to hear of this URI any more.
    pub fn remove(&self, uri: &str) {
        let mut watchers = lock(&self.watchers);
        let mut waiting = lock(&self.watcher.waiting);
        if let Some(uri) = waiting.wanted.take(uri) {
            waiting.uris.remove(&uri);
            watchers.forget(self.id, &self.watcher.teams, &uri);
        }
    }

    /// Counts everything that is wanted as different, for somebody who may have missed some of it.
    pub fn in_doubt(&self) {
        let mut waiting = lock(&self.watcher.waiting);
        waiting.list = waiting.wants_list;
        waiting.uris = waiting.wanted.clone();
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
        let mut watchers = lock(&self.watchers);
        watchers.all.remove(&self.id);
        for uri in std::mem::take(&mut lock(&self.watcher.waiting).wanted) {
            watchers.forget(self.id, &self.watcher.teams, &uri);
        }
    }
}

impl Watchers {
    fn tell(&self, team: &TeamName, uri: &Uri) {
        let ids = self.by_uri.get(&(team.clone(), uri.clone())).into_iter().flatten();
        for watcher in ids.filter_map(|id| self.all.get(id)) {
            lock(&watcher.waiting).uris.insert(uri.clone());
            watcher.bell.notify_one();
        }
    }

    fn add(&mut self, id: u64, key: Watched) {
        let ids = self.by_uri.entry(key.clone()).or_default();
        ids.insert(id);
        if ids.len() == 1 && self.news.begun.insert(key) {
            self.bell.notify_one();
        }
    }

    fn forget(&mut self, id: u64, teams: &Teams, uri: &Uri) {
        for key in teams.iter().map(|team| (team.clone(), uri.clone())) {
            let Some(ids) = self.by_uri.get_mut(&key) else { continue };
            ids.remove(&id);
            if ids.is_empty() {
                self.by_uri.remove(&key);
                self.news.begun.remove(&key);
                self.news.said.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &str) -> Uri {
        Uri::parse(text).unwrap()
    }

    #[tokio::test]
    async fn changes_that_wait_are_told_once() {
        let hub = Hub::new(8);
        let watch = hub.watch(&Teams::sole());
        watch.list_changes(true);
        assert!(watch.add(uri("a:1")) && watch.add(uri("a:2")));
        for _ in 0..1_000 {
            hub.updated(&TeamName::sole(), &uri("a:1"));
            hub.list_changed();
        }
        assert_eq!(watch.next().await, [Change::List, Change::Updated(uri("a:1"))]);
        assert!(watch.take().is_empty());
    }

    #[test]
    fn nobody_hears_what_he_did_not_ask_for() {
        let hub = Hub::new(1);
        let (watch, team) = (hub.watch(&Teams::sole()), TeamName::parse("other").unwrap());
        assert!(watch.add(uri("a:1")) && watch.add(uri("a:1")) && !watch.add(uri("a:2")));
        hub.list_changed();
        hub.updated(&team, &uri("a:1"));
        hub.updated(&TeamName::sole(), &uri("a:2"));
        assert!(watch.take().is_empty());
        hub.updated(&TeamName::sole(), &uri("a:1"));
        watch.remove("a:1");
        assert!(watch.take().is_empty());
    }

    #[tokio::test]
    async fn in_doubt_everything_that_is_wanted_is_told_and_nothing_else() {
        let hub = Hub::new(8);
        let watch = hub.watch(&Teams::sole());
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
        let watch = hub.watch(&Teams::sole());
        watch.add(uri("a:1"));
        hub.said(&TeamName::sole(), &uri("a:1"));
        drop(watch);
        let watchers = lock(&hub.watchers);
        assert!(watchers.all.is_empty() && watchers.by_uri.is_empty());
        assert_eq!(watchers.news, News::default());
    }

    #[tokio::test]
    async fn news_are_what_begins_and_what_was_said() {
        let hub = Hub::new(8);
        let (one, other) = (hub.watch(&Teams::sole()), hub.watch(&Teams::sole()));
        let watched = |text| HashSet::from([(TeamName::sole(), uri(text))]);
        one.add(uri("a:1"));
        other.add(uri("a:1"));
        let begun = News { begun: watched("a:1"), ..News::default() };
        assert_eq!(hub.news().await, begun);
        hub.updated(&TeamName::sole(), &uri("a:1"));
        hub.said(&TeamName::sole(), &uri("a:2"));
        hub.said(&TeamName::sole(), &uri("a:1"));
        assert_eq!(hub.news().await, News { said: watched("a:1"), ..News::default() });
        drop(one);
        assert_eq!(hub.watched(), Vec::from_iter(watched("a:1")));
    }
}
