//! Sessions of an earlier run of the server: the endpoint lists them at the start, and continues each one when its
//! client sends a request.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use super::recorder::StoreContent;
use super::storage::EarlierSessions;
use super::store::{SessionKey, SessionOwner, SessionRecord};
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
    /// Continues the sessions of earlier runs of the server, and stores the changes of all sessions.
    pub(crate) fn continue_sessions(&self, earlier: EarlierSessions) {
        let inner = &self.0;
        inner.sessions.add_stored(earlier.listed);
        inner
            .sessions
            .retain_callers(|caller| inner.authenticator.accepts_caller(caller));
        let sessions = inner.sessions.clone();
        let drain = inner.drain.clone();
        inner.drain.spawn(async move {
            let writing = sessions.write_changes(earlier.removals);
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
    fn restore(
        &self,
        id: &str,
        client: Client,
        caller: Caller,
        earlier: EarlierEvents,
    ) -> Result<Arc<Session>, RpcError> {
        let ids = earlier.ids.in_run(&random_id()?[..RUN_LENGTH]);
        let replay = Replay::new(ids, client.log.clone(), self.budget.clone()).after(earlier);
        let session = Session::new(id.to_owned(), client, caller, replay);
        let session = self.recorded(session, StoreContent::Earlier);
        // Another request may have restored the session at the same time.
        self.insert_restored(Arc::new(session))
    }

    /// Removes ended sessions from the store, and writes changed sessions.
    async fn write_changes(&self, mut removals: mpsc::UnboundedReceiver<SessionKey>) {
        let mut timer = tokio::time::interval(WRITE_INTERVAL);
        timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let mut removed = Vec::new();
            tokio::select! {
                count = removals.recv_many(&mut removed, MAX_REMOVALS) => match &self.storage {
                    Some(storage) if count > 0 => storage.remove(removed).await,
                    _ => return,
                },
                _ = timer.tick() => self.write_all().await,
            }
        }
    }

    /// Writes the changes of each session, and when the session was last used.
    async fn write_all(&self) {
        let Some(storage) = &self.storage else {
            return;
        };
        let mut used = Vec::new();
        for session in self.all() {
            let has_changed = session.client.save().await;
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
