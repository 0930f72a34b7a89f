//! The tasks of the shared sessions: they follow the store, handle the messages of other replicas, and store what
//! changed.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;

use super::SharedSessions;
use crate::Endpoint;
use crate::client_side::sealing::SealingKeys;
use crate::session::store::{SessionKey, SharedSessionStore, StoreChange};
use crate::session::{Session, Sessions};
use larder_runtime::drain::{Drain, SupervisedTask};
use larder_runtime::health::Impact;

/// The longest interval between two writes of the content that clients have of their resources.
const MAX_WRITE_INTERVAL: Duration = Duration::from_secs(30);
/// Interval in which data are removed that other replicas do not use any more.
const SWEEP_INTERVAL: Duration = Duration::from_secs(5);

impl Endpoint {
    /// Shares the sessions with other replicas that have the same store and the same keys. Other encrypted data that
    /// clients hold are also encrypted with these keys.
    pub fn share_sessions(&self, store: Arc<dyn SharedSessionStore>, keys: SealingKeys) {
        let inner = &self.0;
        let drain = &self.0.drain;
        inner.input_states.share(keys.clone());
        let shared = Arc::new(SharedSessions::new(
            store,
            keys,
            inner.fixed.session_idle_timeout,
            drain,
        ));
        inner.sessions.set_shared(shared.clone());
        let tasks = SharingTasks {
            sessions: inner.sessions.clone(),
            shared,
            drain: drain.clone(),
        };
        tasks.keep_running("changes of shared sessions", SharingTasks::follow);
        tasks.keep_running(
            "messages about shared sessions",
            SharingTasks::handle_messages,
        );
        tasks.keep_running("storing of shared sessions", SharingTasks::store_changes);
    }
}

/// The values that the tasks use to share sessions.
#[derive(Clone)]
struct SharingTasks {
    sessions: Arc<Sessions>,
    shared: Arc<SharedSessions>,
    drain: Drain,
}

impl SharingTasks {
    fn keep_running<T>(&self, name: &str, run: impl Fn(Self) -> T + Send + Sync + 'static)
    where
        T: Future<Output = ()> + Send + 'static,
    {
        let tasks = self.clone();
        let start = move || run(tasks.clone());
        self.drain
            .supervise_restarting(SupervisedTask::new(name, Impact::OperatorOnly), start);
    }

    async fn follow(self) {
        self.drain
            .run_until_stopping(self.sessions.follow(&self.shared))
            .await;
    }

    async fn handle_messages(self) {
        self.drain
            .run_until_stopping(self.shared.handle_messages())
            .await;
    }

    async fn store_changes(self) {
        self.drain
            .run_until_stopping(self.sessions.store_changes(&self.shared))
            .await;
        // All streams have ended, so the last position of each client is known.
        self.sessions.store_all().await;
    }
}

impl Sessions {
    /// Follows the changes that other replicas store.
    async fn follow(&self, shared: &Arc<SharedSessions>) {
        let mut listed: Option<HashSet<SessionKey>> = None;
        loop {
            match shared.store.next_change().await {
                StoreChange::Listing => listed = Some(HashSet::new()),
                StoreChange::Listed => {
                    let listed = listed.take().unwrap_or_default();
                    self.retain_listed(|key| listed.contains(key));
                    self.all()
                        .iter()
                        .for_each(|session| shared.look_after_listing(session, &listed));
                    shared.wake.notify_one();
                }
                StoreChange::Stored {
                    key,
                    revision,
                    head,
                } => {
                    if let Some(listed) = listed.as_mut() {
                        _ = listed.insert(key);
                    }
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

    /// Stores changed sessions, and removes ended sessions.
    async fn store_changes(&self, shared: &SharedSessions) {
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

impl SharedSessions {
    async fn remove_ended(&self) {
        let ended: Vec<_> = self.ended.lock().iter().copied().collect();
        for key in ended {
            if !self.store.is_connected() {
                return;
            }
            self.remove(key).await;
        }
    }

    /// Stores a session that is not in the store any more. Also stores changes that were made while there was no
    /// connection.
    fn look_after_listing(&self, session: &Session, listed: &HashSet<SessionKey>) {
        let Some(link) = session.link.get() else {
            return;
        };
        if listed.contains(&link.key) {
            return self.store_soon(link.key);
        }
        let recorder = link.recorder.clone();
        self.drain.spawn(async move { recorder.not_listed().await });
    }

    async fn store_changed(&self) {
        let changed = std::mem::take(&mut *self.changed.lock());
        for session in changed.into_iter().filter_map(|key| self.session(key)) {
            session.client.subscriptions.save().await;
        }
    }

    /// Drops data that are not used any more.
    fn sweep(&self) {
        self.readers.sweep();
        if let Some(time) = Instant::now().checked_sub(self.memory_of_ended()) {
            self.removed.lock().forget_before(time);
        }
        self.open
            .lock()
            .retain(|_, session| session.strong_count() > 0);
    }
}
