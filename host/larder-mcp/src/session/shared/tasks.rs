//! The tasks of the shared sessions: they follow the store, handle the messages of other replicas, and store what changed.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use super::{Shared, lock};
use crate::Endpoint;
use crate::sealing::SealingKeys;
use crate::session::store::{SessionKey, SharedSessionStore, StoreChange};
use crate::session::{Session, Sessions};

/// The longest interval between two writes of what clients know of their resources.
const MAX_WRITE_INTERVAL: Duration = Duration::from_secs(30);
/// Interval of removing what other replicas do not use any more.
const SWEEP_INTERVAL: Duration = Duration::from_secs(5);

impl Endpoint {
    /// Shares the sessions with other replicas that have the same store and the same keys. What else clients hold that
    /// is encrypted is encrypted with these keys too.
    pub fn share_sessions(&self, store: Arc<dyn SharedSessionStore>, keys: SealingKeys) {
        let (inner, drain) = (&self.0, &self.0.drain);
        inner.input_states.share(keys.clone());
        let shared = Arc::new(Shared::new(store, keys, inner.fixed.session_idle_timeout, drain));
        inner.sessions.set_shared(shared.clone());
        let (sessions, followed, stopping) = (inner.sessions.clone(), shared.clone(), drain.clone());
        drain.spawn(async move {
            stopping.run_until_stopping(sessions.follow(&followed)).await;
        });
        let (receiver, stopping) = (shared.clone(), drain.clone());
        drain.spawn(async move {
            stopping.run_until_stopping(receiver.handle_messages()).await;
        });
        let (sessions, stopping) = (inner.sessions.clone(), drain.clone());
        drain.spawn(async move {
            stopping.run_until_stopping(sessions.store_changes(&shared)).await;
            // The streams have ended, so that the last position of each client is known.
            sessions.store_all().await;
        });
    }
}

impl Sessions {
    /// Follows what other replicas store.
    async fn follow(&self, shared: &Arc<Shared>) {
        let mut listed: Option<HashSet<SessionKey>> = None;
        loop {
            match shared.store.next_change().await {
                StoreChange::Listing => listed = Some(HashSet::new()),
                StoreChange::Listed => {
                    let listed = listed.take().unwrap_or_default();
                    self.retain_listed(|key| listed.contains(key));
                    self.all().iter().for_each(|session| shared.look_after_listing(session, &listed));
                    shared.wake.notify_one();
                }
                StoreChange::Stored { key, revision, head } => {
                    listed.as_mut().into_iter().for_each(|listed| _ = listed.insert(key));
                    match shared.open_head(key, &head) {
                        Some(head) => self.noticed(shared, key, revision, head),
                        None => shared.report(
                            "read",
                            "a session was stored with a key that this replica does not have",
                        ),
                    }
                }
                StoreChange::Removed { key } => self.ended_elsewhere(shared, key),
            }
        }
    }

    /// Stores what changed, and removes sessions that ended.
    async fn store_changes(&self, shared: &Shared) {
        let write_interval = (shared.idle_timeout / 8).min(MAX_WRITE_INTERVAL);
        let mut timer = tokio::time::interval(write_interval.max(Duration::from_millis(100)));
        let mut sweep = tokio::time::interval(SWEEP_INTERVAL);
        timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = shared.wake.notified() => {
                    shared.remove_ended().await;
                    shared.store_changed().await;
                }
                _ = timer.tick() => {
                    shared.remove_ended().await;
                    self.store_all().await;
                }
                _ = sweep.tick() => shared.sweep(),
            }
        }
    }

    async fn store_all(&self) {
        for session in self.all() {
            session.client.subscriptions.save().await;
            // There can be many sessions with many subscriptions, and requests must not wait for all of them.
            tokio::task::yield_now().await;
        }
    }
}

impl Shared {
    async fn remove_ended(&self) {
        let ended: Vec<_> = lock(&self.ended).iter().copied().collect();
        for key in ended {
            if !self.store.is_connected() {
                return;
            }
            self.remove(key).await;
        }
    }

    /// Stores a session that is not in the store any more, or what changed while there was no connection.
    fn look_after_listing(&self, session: &Session, listed: &HashSet<SessionKey>) {
        let Some(link) = session.link.get() else { return };
        if listed.contains(&link.key) {
            return self.store_soon(link.key);
        }
        let recorder = link.recorder.clone();
        self.drain.spawn(async move { recorder.not_listed().await });
    }

    async fn store_changed(&self) {
        let changed = std::mem::take(&mut *lock(&self.changed));
        for session in changed.into_iter().filter_map(|key| self.session(key)) {
            session.client.subscriptions.save().await;
        }
    }

    /// Drops what is not used any more.
    fn sweep(&self) {
        self.readers.sweep();
        lock(&self.open).retain(|_, session| session.strong_count() > 0);
    }
}
