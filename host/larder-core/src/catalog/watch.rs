//! Listeners for changes. They receive states, not events: a change that is already pending is not added again. So a
//! slow listener uses bounded memory and does not block other listeners.

mod last_seen_lists;
mod resumed;
mod settled;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

pub(super) use self::last_seen_lists::LastSeenLists;
use self::settled::UnsettledUris;
use super::ContentState;
use larder_model::uri::Uri;

/// A change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The list of resources or of templates changed.
    List,
    /// The list of tools changed.
    Tools,
    /// The list of prompts changed.
    Prompts,
    /// The content of this URI changed.
    Updated(Uri),
}

/// Events for the change detector.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct WatchEvents {
    /// URIs that were not watched before.
    pub added: HashSet<Uri>,
    /// What resumed watchers knew about their URIs before a restart.
    pub resumed: HashMap<Uri, ContentState>,
    /// URIs whose update a provider reported. Their watchers have been notified.
    pub provider_updates: HashSet<Uri>,
}

/// How many listeners of a catalog may each reach the limit of one listener. The limit of URIs for all listeners
/// together is computed from this number.
const LISTENERS_AT_LIMIT: usize = 100;
/// Limit of the watched URIs of one catalog, in bytes.
const MAX_URI_BYTES: usize = 32 << 20;

#[derive(Debug)]
pub(super) struct WatchHub {
    max_uris: usize,
    state: Arc<Mutex<HubState>>,
}

#[derive(Debug, Default)]
struct HubState {
    next_id: u64,
    listeners: HashMap<u64, Arc<Listener>>,
    by_uri: HashMap<Uri, BTreeSet<u64>>,
    /// The number of the URIs of all listeners, and their bytes. A URI counts once for each listener.
    usage: UriUsage,
    limit: UriUsage,
    /// The results of the last checks of watched URIs. For each result, the watchers were notified, or a notification
    /// is pending.
    known: HashMap<Uri, ContentState>,
    unsettled: UnsettledUris,
    /// Contains only watched URIs, so that it is bounded even without a consumer.
    events: WatchEvents,
    wake: Arc<Notify>,
}

#[derive(Debug, Default, Clone, Copy)]
struct UriUsage {
    uris: usize,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Listener {
    pending: Mutex<PendingChanges>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct PendingChanges {
    wanted_lists: Lists,
    changed_lists: Lists,
    uris: BTreeSet<Uri>,
}

/// A set of lists.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Lists {
    /// The lists of resources and of templates.
    pub resources: bool,
    /// The list of tools.
    pub tools: bool,
    /// The list of prompts.
    pub prompts: bool,
}

impl PendingChanges {
    fn is_empty(&self) -> bool {
        self.changed_lists == Lists::default() && self.uris.is_empty()
    }
}

impl Lists {
    /// All four kinds of lists.
    pub const ALL: Self = Self {
        resources: true,
        tools: true,
        prompts: true,
    };
    /// The lists of resources and of templates.
    pub const RESOURCES: Self = Self {
        resources: true,
        tools: false,
        prompts: false,
    };

    fn and(self, other: Self) -> Self {
        Self {
            resources: self.resources & other.resources,
            tools: self.tools & other.tools,
            prompts: self.prompts & other.prompts,
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            resources: self.resources | other.resources,
            tools: self.tools | other.tools,
            prompts: self.prompts | other.prompts,
        }
    }

    fn changes(self) -> impl Iterator<Item = Change> {
        let all = [
            (self.resources, Change::List),
            (self.tools, Change::Tools),
            (self.prompts, Change::Prompts),
        ];
        all.into_iter()
            .filter_map(|(changed, change)| changed.then_some(change))
    }
}

impl WatchHub {
    pub(super) fn new(max_uris: usize) -> Self {
        let limit = UriUsage {
            uris: max_uris.saturating_mul(LISTENERS_AT_LIMIT),
            bytes: MAX_URI_BYTES,
        };
        Self {
            max_uris,
            state: Arc::new(Mutex::new(HubState {
                limit,
                ..HubState::default()
            })),
        }
    }

    fn register(&self, listener: &Arc<Listener>) -> Registration {
        let mut state = self.state.lock();
        let id = state.next_id;
        state.next_id += 1;
        state.listeners.insert(id, listener.clone());
        Registration {
            id,
            state: self.state.clone(),
        }
    }

    /// Notifies the listeners of changed lists. Returns how many listeners there are.
    pub(super) fn lists_changed(&self, lists: Lists) -> usize {
        if lists == Lists::default() {
            return 0;
        }
        let state = self.state.lock();
        let mut notified = 0;
        for listener in state.listeners.values() {
            let mut pending = listener.pending.lock();
            notified += usize::from(pending.wanted_lists.and(lists) != Lists::default());
            pending.changed_lists = pending.changed_lists.or(lists).and(pending.wanted_lists);
            listener.wake.notify_one();
        }
        notified
    }

    /// Notifies the listeners of a URI. Returns how many listeners there are.
    pub(super) fn updated(&self, uri: &Uri) -> usize {
        self.state.lock().mark_updated(uri)
    }

    /// Notifies the listeners of an update that the provider reported.
    pub(super) fn provider_updated(&self, uri: &Uri) -> usize {
        let mut state = self.state.lock();
        let notified = state.mark_updated(uri);
        if state.by_uri.contains_key(uri) {
            state.events.provider_updates.insert(uri.clone());
            state.wake.notify_one();
        }
        notified
    }

    pub(super) fn watched(&self) -> Vec<Uri> {
        self.state.lock().by_uri.keys().cloned().collect()
    }

    /// Returns the number of watches and of watched URIs.
    pub(super) fn count(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.listeners.len(), state.by_uri.len())
    }

    pub(super) async fn next_events(&self) -> WatchEvents {
        let wake = self.state.lock().wake.clone();
        self.state.lock().unsettled.detector_started();
        loop {
            let events = std::mem::take(&mut self.state.lock().events);
            if events != WatchEvents::default() {
                return events;
            }
            wake.notified().await;
        }
    }
}

/// A listener on one or several catalogs. A change that appears in several catalogs is reported once. Dropping the
/// listener ends the watch.
#[derive(Debug)]
pub struct Watch {
    listener: Arc<Listener>,
    max_uris: usize,
    /// Locked during changes, so that all hubs have the same set of URIs.
    uris: Mutex<BTreeSet<Uri>>,
    registrations: Vec<Registration>,
    /// For a listener on several catalogs.
    seen: Option<LastSeenLists>,
}

/// The registration of a listener in one hub.
#[derive(Debug)]
struct Registration {
    id: u64,
    state: Arc<Mutex<HubState>>,
}

impl Watch {
    pub(super) fn new<'a>(hubs: impl Iterator<Item = &'a WatchHub>) -> Self {
        let listener = Arc::new(Listener::default());
        let uris = Mutex::default();
        let registrations = Vec::new();
        let mut watch = Self {
            listener,
            max_uris: 0,
            uris,
            registrations,
            seen: None,
        };
        for hub in hubs {
            watch.max_uris = watch.max_uris.max(hub.max_uris);
            watch.registrations.push(hub.register(&watch.listener));
        }
        watch
    }

    /// From now on, reports a change of the tools or prompts of one catalog only if it changes what the listener sees
    /// in all of its catalogs together.
    pub(super) fn compare(&mut self, seen: LastSeenLists) {
        self.seen = Some(seen);
    }

    /// Sets whether changes of the lists of resources and templates are reported. Changes of other lists are never
    /// reported then.
    pub fn watch_list(&self, on: bool) {
        self.watch_lists(Lists {
            resources: on,
            ..Lists::default()
        });
    }

    /// Sets of which lists changes are reported.
    pub fn watch_lists(&self, lists: Lists) {
        let mut pending = self.listener.pending.lock();
        pending.wanted_lists = lists;
        pending.changed_lists = pending.changed_lists.and(lists);
        if pending.is_empty() {
            self.seen.iter().for_each(LastSeenLists::remember)
        } else {
            self.seen.iter().for_each(LastSeenLists::forget)
        }
    }

    /// Adds a URI. Returns false if the URI would exceed the limit of this listener or of all listeners together. Wait
    /// for [`Self::settled`] before telling the client that it is subscribed.
    pub fn add(&self, uri: Uri) -> bool {
        self.add_and(uri, |_, _| {})
    }

    /// Adds a URI, and calls `then` for each hub in the same step.
    fn add_and(&self, uri: Uri, mut then: impl FnMut(usize, &mut HubState)) -> bool {
        let mut uris = self.uris.lock();
        if uris.contains(&uri) {
            return true;
        }
        if uris.len() >= self.max_uris {
            return false;
        }
        for (at, registration) in self.registrations.iter().enumerate() {
            let mut hub = registration.state.lock();
            if hub.add(registration.id, &uri) {
                then(at, &mut hub);
            } else {
                drop(hub);
                self.registrations[..at].iter().for_each(|registration| {
                    registration.state.lock().remove(registration.id, &uri)
                });
                return false;
            }
        }
        uris.insert(uri);
        true
    }

    /// Returns whether this URI is watched.
    pub fn contains(&self, uri: &Uri) -> bool {
        self.uris.lock().contains(uri)
    }

    /// Removes a URI.
    pub fn remove(&self, uri: &str) {
        let mut uris = self.uris.lock();
        let Some(uri) = uris.take(uri) else { return };
        for registration in &self.registrations {
            registration.state.lock().remove(registration.id, &uri);
        }
        self.listener.pending.lock().uris.remove(&uri);
    }

    /// Marks everything watched as changed, for a client that may have missed changes.
    pub fn mark_all_changed(&self) {
        self.seen.iter().for_each(LastSeenLists::forget);
        let uris = self.uris.lock();
        let mut pending = self.listener.pending.lock();
        pending.changed_lists = pending.wanted_lists;
        pending.uris = uris.clone();
        self.listener.wake.notify_one();
    }

    /// Waits until there is a change, and returns all pending ones. Cancel safe.
    pub async fn next(&self) -> Vec<Change> {
        loop {
            let changes = self.take();
            if !changes.is_empty() {
                return changes;
            }
            self.listener.wake.notified().await;
        }
    }

    /// Returns all pending changes.
    pub fn take(&self) -> Vec<Change> {
        let mut pending = self.listener.pending.lock();
        let lists = std::mem::take(&mut pending.changed_lists);
        let uris = std::mem::take(&mut pending.uris)
            .into_iter()
            .map(Change::Updated);
        drop(pending);
        let lists = self.seen.as_ref().map_or(lists, |seen| seen.confirm(lists));
        lists.changes().chain(uris).collect()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let uris = self.uris.lock();
        for registration in &self.registrations {
            let mut state = registration.state.lock();
            state.listeners.remove(&registration.id);
            uris.iter()
                .for_each(|uri| state.remove(registration.id, uri));
        }
    }
}

impl HubState {
    /// Notifies the listeners of a URI. Returns how many listeners there are.
    fn mark_updated(&self, uri: &Uri) -> usize {
        let ids = self.by_uri.get(uri).into_iter().flatten();
        let listeners = ids.filter_map(|id| self.listeners.get(id));
        listeners
            .inspect(|listener| {
                listener.pending.lock().uris.insert(uri.clone());
                listener.wake.notify_one();
            })
            .count()
    }

    /// Adds a URI. Returns false if the URI would exceed the limit.
    fn add(&mut self, id: u64, uri: &Uri) -> bool {
        let usage = UriUsage {
            uris: self.usage.uris + 1,
            bytes: self.usage.bytes + uri.as_str().len(),
        };
        if usage.uris > self.limit.uris || usage.bytes > self.limit.bytes {
            return false;
        }
        let ids = self.by_uri.entry(uri.clone()).or_default();
        if ids.insert(id) {
            self.usage = usage;
        }
        if ids.len() == 1 && self.events.added.insert(uri.clone()) {
            self.unsettled.add(uri);
            self.wake.notify_one();
        }
        true
    }

    fn remove(&mut self, id: u64, uri: &Uri) {
        let Some(ids) = self.by_uri.get_mut(uri) else {
            return;
        };
        if ids.remove(&id) {
            self.usage.uris -= 1;
            self.usage.bytes -= uri.as_str().len();
        }
        if ids.is_empty() {
            self.by_uri.remove(uri);
            self.known.remove(uri);
            self.unsettled.remove(uri);
            self.events.added.remove(uri);
            self.events.resumed.remove(uri);
            self.events.provider_updates.remove(uri);
        }
    }
}

#[cfg(test)]
mod tests;
