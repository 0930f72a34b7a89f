//! Sessions of an earlier run of the server: the endpoint lists them at the start, and continues each one when its
//! client sends a request.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use super::recorder::{Recorder, StoreContent};
use super::storage::Storage;
use super::store::{SessionKey, SessionOwner, SessionRecord, SessionStore};
use super::{RUN_LENGTH, Session, Sessions, random_id};
use crate::Endpoint;
use crate::protocol::legacy::Client;
use crate::subscribe::replay::{EarlierEvents, Replay};
use crate::subscribe::subscriptions::Subscriptions;
use crate::wire::rpc_error::RpcError;
use larder_model::resource::Caller;
use larder_model::uri::Uri;

/// Interval between two writes of the times of last use, and of the content that clients have of their resources.
const WRITE_INTERVAL: Duration = Duration::from_secs(30);
/// Maximum number of sessions that are removed from the store together.
const MAX_REMOVALS: usize = 1_000;

impl Endpoint {
    /// Keeps sessions in this store, and continues the sessions that are in it. If the store cannot be read, sessions
    /// are kept only in memory.
    pub async fn keep_sessions(&self, store: Arc<dyn SessionStore>) {
        let inner = &self.0;
        let listed = match store.list().await {
            Ok(listed) => listed,
            Err(error) => {
                tracing::warn!(%error, "stored sessions cannot be read: sessions end at the next restart");
                return;
            }
        };
        let (storage, removals) = Storage::new(store, &inner.drain);
        inner.sessions.add_stored(listed, storage);
        inner
            .sessions
            .retain_callers(|caller| inner.authenticator.accepts_caller(caller));
        let sessions = inner.sessions.clone();
        let drain = inner.drain.clone();
        inner.drain.spawn(async move {
            let writing = sessions.write_changes(removals);
            drain.run_until_stopping(writing).await;
            // All streams have ended, so the last position of each client is known.
            sessions.write_all().await;
        });
    }

    /// Continues a stored session of this caller. `None` if the session does not exist.
    pub(crate) async fn restore_session(
        &self,
        id: &str,
        caller: &Caller,
    ) -> Result<Option<Arc<Session>>, RpcError> {
        let sessions = &self.0.sessions;
        let Some(storage) = sessions.storage_of(id, caller) else {
            return Ok(None);
        };
        let record = storage
            .store
            .load(SessionKey::of(id))
            .await
            .map_err(|error| {
                storage.report("load", &error.to_string());
                RpcError::overloaded("the stored sessions cannot be read")
            })?;
        let Some(record) = record.filter(|record| record.owner == SessionOwner::of(caller)) else {
            return Ok(None);
        };
        let SessionRecord {
            version,
            client,
            events,
            subscriptions: stored,
            ..
        } = record;
        let subscriptions = Subscriptions::new(self.0.gateway.watch(caller), caller.clone());
        let client = Client::restore(version, subscriptions, &stored, client);
        let updated = stored
            .iter()
            .filter_map(|stored| Some((Uri::parse(&stored.uri).ok()?, stored.updated?)));
        let earlier = EarlierEvents {
            ids: events,
            updated: updated.collect(),
        };
        sessions
            .restore(id, client, caller.clone(), earlier)
            .map(Some)
    }
}

impl Sessions {
    /// Stores a new session, if sessions are stored.
    pub(crate) async fn store(&self, session: &Arc<Session>) {
        self.record(session, StoreContent::Nothing);
        session.client.subscriptions.save().await;
    }

    fn restore(
        &self,
        id: &str,
        client: Client,
        caller: Caller,
        earlier: EarlierEvents,
    ) -> Result<Arc<Session>, RpcError> {
        let ids = earlier.ids.in_run(&random_id()?[..RUN_LENGTH]);
        let replay = Replay::new(ids, client.log.clone(), self.budget.clone()).after(earlier);
        let session = Arc::new(Session::new(id.to_owned(), client, caller, replay));
        // Another request may have restored the session at the same time.
        let restored = self.insert_restored(session.clone())?;
        if Arc::ptr_eq(&restored, &session) {
            self.record(&session, StoreContent::Earlier);
        }
        Ok(restored)
    }

    fn record(&self, session: &Session, stored: StoreContent) {
        let Some(storage) = self.storage.get() else {
            return;
        };
        let recorder = Recorder::new(
            storage.clone(),
            &session.id,
            &session.client,
            SessionOwner::of(&session.caller),
            session.replay.ids(),
            session.ended.clone(),
            stored,
        );
        session.client.subscriptions.keep_in(Arc::new(recorder));
    }

    /// Removes ended sessions from the store, and writes changed sessions.
    async fn write_changes(&self, mut removals: mpsc::UnboundedReceiver<SessionKey>) {
        let mut timer = tokio::time::interval(WRITE_INTERVAL);
        timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let mut removed = Vec::new();
            tokio::select! {
                count = removals.recv_many(&mut removed, MAX_REMOVALS) => match self.storage.get() {
                    Some(storage) if count > 0 => storage.remove(removed).await,
                    _ => return,
                },
                _ = timer.tick() => self.write_all().await,
            }
        }
    }

    /// Writes the changes of each session, and when the session was last used.
    async fn write_all(&self) {
        let Some(storage) = self.storage.get() else {
            return;
        };
        let mut used = Vec::new();
        for session in self.all() {
            let has_changed = session.client.subscriptions.save().await;
            // A write changes the stored time as well.
            // There can be many sessions with many subscriptions, and requests must not wait for all of them.
            tokio::task::yield_now().await;
            used.extend(
                session
                    .time_to_store(has_changed)
                    .map(|time| (SessionKey::of(&session.id), time)),
            );
        }
        if !used.is_empty() {
            storage.touch(used).await;
        }
    }
}
