//! Sessions of other replicas: what each replica stores about all of them, and how a session is continued here when its
//! client sends a request.

use std::collections::HashMap;
use std::sync::Arc;

use super::link::{OtherReplicas, SessionLink};
use super::recorder::SharedRecorder;
use super::{Head, OpenedSession, SharedSessions, instant_of};
use crate::Endpoint;
use crate::protocol::legacy::Client;
use crate::session::store::{SessionKey, SessionOwner, SessionRecord};
use crate::session::{EarlierSession, Session, Sessions, random_id};
use crate::subscribe::replay::{EarlierEvents, Replay};
use crate::subscribe::subscriptions::Subscriptions;
use crate::wire::rpc_error::RpcError;
use larder_model::resource::Caller;
use larder_model::uri::Uri;

impl Endpoint {
    /// Continues a session of another replica. `None` if this caller has no such session.
    pub(in crate::session) async fn restore_shared(
        &self,
        shared: &Arc<SharedSessions>,
        id: &str,
        caller: &Caller,
    ) -> Result<Option<Arc<Session>>, RpcError> {
        let sessions = &self.0.sessions;
        let key = SessionKey::of(id);
        if !sessions.may_be_elsewhere(id, key, caller) || shared.has_ended(key) {
            return Ok(None);
        }
        let loaded = shared.load(key).await.map_err(|error| {
            shared.report("load", &error.to_string());
            RpcError::overloaded("the sessions of other replicas cannot be read at the moment")
        })?;
        let opened = loaded
            .ok()
            .filter(|opened| opened.record.owner == SessionOwner::of(caller));
        let opened = opened.filter(|opened| !shared.is_too_old(&opened.head));
        let Some(opened) = opened else {
            return Ok(None);
        };
        let session = self.continue_session(shared, id, caller, &opened)?;
        // Another request may have continued the session at the same time.
        let continued = sessions.insert_restored(session.clone())?;
        if Arc::ptr_eq(&continued, &session) {
            sessions.share(shared, &session, Some(&opened));
        }
        Ok(Some(continued))
    }

    fn continue_session(
        &self,
        shared: &SharedSessions,
        id: &str,
        caller: &Caller,
        opened: &OpenedSession,
    ) -> Result<Arc<Session>, RpcError> {
        let SessionRecord {
            version,
            client,
            subscriptions: stored,
            log_level,
            events,
            ..
        } = &opened.record;
        let subscriptions = Subscriptions::new(self.0.gateway.watch(caller), caller.clone());
        let client = Client::restore(*version, subscriptions, stored, client.clone());
        log_level
            .iter()
            .for_each(|level| client.side.set_log_level_name(level));
        let ids = events.in_run(&shared.new_run()?);
        let replay = Replay::new(ids, client.log.clone(), self.0.sessions.budget.clone());
        let replay = replay.after(earlier_events(&opened.record));
        Ok(Arc::new(Session::new(
            id.to_owned(),
            client,
            caller.clone(),
            replay,
        )))
    }
}

/// The notifications that another replica sent.
pub(super) fn earlier_events(record: &SessionRecord) -> EarlierEvents {
    let updated = record.subscriptions.iter();
    let updated = updated.filter_map(|one| Some((Uri::parse(&one.uri).ok()?, one.updated?)));
    EarlierEvents {
        ids: record.events.clone(),
        updated: updated.collect::<HashMap<_, _>>(),
    }
}

impl SharedSessions {
    /// The part of event ids for this process. It is random, and contains the name of this replica.
    pub(in crate::session) fn new_run(&self) -> Result<String, RpcError> {
        let random = random_id()?;
        Ok(format!(
            "{}{}",
            &random[..crate::subscribe::replay::RUN_LENGTH],
            self.store.replica()
        ))
    }
}

impl Sessions {
    /// Connects an open session with the other replicas. `opened` is the stored session; none if the session is new.
    pub(in crate::session) fn share(
        &self,
        shared: &Arc<SharedSessions>,
        session: &Arc<Session>,
        opened: Option<&OpenedSession>,
    ) {
        let key = SessionKey::of(&session.id);
        let recorder = Arc::new(SharedRecorder::new(shared.clone(), session, opened));
        let replica = shared.store.replica().clone();
        let others = Arc::downgrade(shared);
        let peer_replicas = Arc::new(OtherReplicas {
            shared: others,
            replica,
            key,
        });
        session.requests.link(peer_replicas.clone());
        session.client.side.link(peer_replicas);
        session.client.subscriptions.keep_in(recorder.clone());
        _ = session.link.set(SessionLink {
            shared: shared.clone(),
            key,
            recorder,
        });
        shared.open.lock().insert(key, Arc::downgrade(session));
        // The store may have reported the session in the meantime.
        self.lock().stored.remove(&key);
    }

    /// Another replica may have a session of this caller with this id.
    fn may_be_elsewhere(&self, id: &str, key: SessionKey, caller: &Caller) -> bool {
        let table = self.lock();
        let is_of_caller = |session: &EarlierSession| session.caller.is_same_principal(caller);
        !table.open.contains_key(id) && table.stored.get(&key).is_none_or(is_of_caller)
    }

    /// A session was stored by this replica or another one.
    pub(super) fn noticed(
        &self,
        shared: &Arc<SharedSessions>,
        key: SessionKey,
        revision: u64,
        head: Head,
    ) {
        shared.bytes.note(key, &head.owner, head.bytes);
        if let Some(session) = shared.session(key) {
            if let Some(link) = session.link.get() {
                let recorder = link.recorder.clone();
                shared
                    .drain
                    .spawn(async move { recorder.notice(revision, &head).await });
            }
            return;
        }
        if shared.was_removed(key) {
            // A replica stored a copy of the ended session.
            return shared.remove_later(key);
        }
        if shared.has_ended(key) {
            return;
        }
        let last_used = instant_of(head.last_used);
        // A replica that does not store the session again in time has stopped.
        let in_use_until = if head.has_stream {
            last_used + shared.idle_timeout / 2
        } else {
            last_used
        };
        let session = EarlierSession {
            caller: head.owner.caller(),
            last_used,
            in_use_until,
        };
        self.lock().stored.insert(key, session);
    }

    /// A session has ended on this replica or another one.
    pub(super) fn ended_elsewhere(&self, shared: &SharedSessions, key: SessionKey) {
        shared.bytes.release(key);
        shared.note_removed(key);
        let session = shared
            .open
            .lock()
            .remove(&key)
            .and_then(|session| session.upgrade());
        let mut table = self.lock();
        table.stored.remove(&key);
        if let Some(session) = session {
            table.open.remove(&session.id);
            session.close();
        }
    }

    /// Removes the records of sessions of other replicas that are not in the store any more.
    pub(super) fn retain_listed(&self, is_listed: impl Fn(&SessionKey) -> bool) {
        self.lock().stored.retain(|key, _| is_listed(key));
    }
}
