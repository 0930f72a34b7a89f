//! Watches that continue after a restart of the server. Before the restart, the state of each URI was stored; now the
//! watchers are notified of the URIs whose content differs.

use super::{HubState, LastSeenLists, Watch, WatchHub};
use crate::catalog::ContentState;
use larder_model::uri::Uri;

impl WatchHub {
    /// Records the result of a check in one step with the notification, so that no watcher stores the new state without
    /// being notified of it. Returns how many watchers were notified.
    pub(in crate::catalog) fn checked(
        &self,
        uri: &Uri,
        state: Option<ContentState>,
        notify: bool,
    ) -> usize {
        let mut hub = self.state.lock();
        if !hub.by_uri.contains_key(uri) {
            return 0;
        }
        if let Some(state) = state {
            hub.known.insert(uri.clone(), state);
        }
        if notify { hub.mark_updated(uri) } else { 0 }
    }
}

impl HubState {
    /// Compares what a watcher knew of a URI with what is known now. Returns whether the watcher must be notified.
    fn resume(&mut self, uri: &Uri, last: Option<&ContentState>) -> bool {
        let Some(last) = last else { return true };
        if let Some(known) = self.known.get(uri).or_else(|| self.events.resumed.get(uri)) {
            return known.differs(last);
        }
        self.events.resumed.insert(uri.clone(), last.clone());
        self.wake.notify_one();
        false
    }
}

impl Watch {
    /// Adds a URI. `last` contains what the watcher knew about it in each catalog, in the order of [`Self::states`]. A
    /// change since then is reported. A URI about which nothing was known counts as changed. Returns false if the URI
    /// would exceed the limit.
    pub fn resume(&self, uri: Uri, last: &[Option<ContentState>]) -> bool {
        let mut has_changed = false;
        // Both happen in one step: otherwise a first check could begin without anything to compare with.
        let added = self.add_and(uri.clone(), |at, hub| {
            has_changed |= hub.resume(&uri, last.get(at).and_then(Option::as_ref));
        });
        if added && has_changed {
            self.listener.pending.lock().uris.insert(uri);
            self.listener.wake.notify_one();
        }
        added
    }

    /// Marks a URI as changed, if it is watched, for a client that may have missed its update.
    pub fn mark_changed(&self, uri: &Uri) {
        if self.contains(uri) {
            self.listener.pending.lock().uris.insert(uri.clone());
            self.listener.wake.notify_one();
        }
    }

    /// Marks the watched lists as changed, for a client that may have missed changes.
    pub fn mark_lists_changed(&self) {
        self.seen.iter().for_each(LastSeenLists::forget);
        let mut pending = self.listener.pending.lock();
        pending.changed_lists = pending.wanted_lists;
        self.listener.wake.notify_one();
    }

    /// Returns what is known about a watched URI in each catalog. Nothing is known while a change is pending.
    pub fn states(&self, uri: &Uri) -> Vec<Option<ContentState>> {
        let states = self.registrations.iter().map(|registration| {
            let hub = registration.state.lock();
            let is_pending = self.listener.pending.lock().uris.contains(uri);
            hub.known.get(uri).filter(|_| !is_pending).cloned()
        });
        states.collect()
    }

    /// Waits until there is a change, and does not take it. Cancel safe.
    pub async fn changed(&self) {
        while self.listener.pending.lock().is_empty() {
            self.listener.wake.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Change, WatchHub};
    use super::*;
    use crate::catalog::content_state::ContentFingerprint;

    fn uri(text: &str) -> Uri {
        Uri::parse(text).unwrap()
    }

    fn version(text: &str) -> ContentState {
        ContentState::Present(ContentFingerprint {
            version: Some(text.into()),
            digest: None,
        })
    }

    fn watch(hubs: &[&WatchHub]) -> Watch {
        Watch::new(hubs.iter().copied())
    }

    #[tokio::test]
    async fn a_state_is_known_only_while_no_change_is_pending() {
        let hub = WatchHub::new(10);
        let one = watch(&[&hub]);
        let other = uri("a:1");
        hub.checked(&other, Some(version("1")), false);
        assert!(one.add(other.clone()));
        assert_eq!(one.states(&other), [None], "the check was before the watch");
        hub.checked(&other, Some(version("1")), false);
        assert_eq!(one.states(&other), [Some(version("1"))]);
        hub.checked(&other, Some(version("2")), true);
        one.changed().await;
        assert_eq!(
            one.states(&other),
            [None],
            "the watcher was not notified yet"
        );
        assert_eq!(one.take(), [Change::Updated(other.clone())]);
        assert_eq!(one.states(&other), [Some(version("2"))]);
        one.remove("a:1");
        assert!(one.add(other.clone()));
        assert_eq!(one.states(&other), [None]);
    }

    #[tokio::test]
    async fn a_resumed_watch_compares_with_what_is_known() {
        let hub = WatchHub::new(10);
        let first = watch(&[&hub]);
        assert!(first.resume(uri("a:1"), &[Some(version("1"))]) && first.resume(uri("a:2"), &[]));
        assert_eq!(
            first.take(),
            [Change::Updated(uri("a:2"))],
            "of this one nothing was known"
        );
        let events = hub.next_events().await;
        assert_eq!(
            (events.added.len(), &events.resumed[&uri("a:1")]),
            (2, &version("1"))
        );
        hub.checked(&uri("a:1"), Some(version("1")), false);
        let same = watch(&[&hub]);
        let differs = watch(&[&hub]);
        assert!(same.resume(uri("a:1"), &[Some(version("1"))]));
        assert!(differs.resume(uri("a:1"), &[Some(ContentState::Missing)]));
        assert!(same.take().is_empty() && first.take().is_empty());
        assert_eq!(differs.take(), [Change::Updated(uri("a:1"))]);
    }

    #[test]
    fn each_catalog_is_compared() {
        let hubs = [WatchHub::new(10), WatchHub::new(10)];
        let resumed = watch(&[&hubs[0], &hubs[1]]);
        assert!(resumed.resume(
            uri("a:1"),
            &[Some(version("1")), Some(ContentState::Missing)]
        ));
        assert!(resumed.take().is_empty());
        assert!(resumed.resume(uri("a:2"), &[Some(version("1"))]));
        assert_eq!(resumed.take(), [Change::Updated(uri("a:2"))]);
    }
}
