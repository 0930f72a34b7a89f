//! Stores one session of several replicas, and merges the changes that other replicas stored.

use std::sync::{Arc, Weak};
use std::time::{Instant, SystemTime};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::{Mutex, MutexGuard};

use super::head::Head;
use super::merge::{SharedPart, merged};
use super::{OpenedSession, SharedSessions, instant_of};
use crate::session::Session;
use crate::session::store::{PutError, SessionKey, SessionOwner, SessionRecord, StoreEntry};
use crate::subscribe::subscriptions::{SubscriptionStorage, Subscriptions};
use larder_model::name::Digest;

/// How often a change is merged with changes of others before it waits for the next attempt.
const MAX_ATTEMPTS: usize = 8;
/// The bytes of a stored session in addition to its record, at most.
const SEAL_BYTES: usize = 4 << 10;

/// Stores one session.
pub(super) struct SharedRecorder {
    shared: Arc<SharedSessions>,
    key: SessionKey,
    session: Weak<Session>,
    synced: Mutex<SyncState>,
}

/// What is known about the stored session.
pub(super) struct SyncState {
    /// None if the session is not stored, as far as this replica knows.
    pub(super) revision: Option<u64>,
    /// The shared part of the stored session.
    pub(super) part: SharedPart,
    /// Whether the stored session has changed, or may have changed.
    is_outdated: bool,
    /// When the notifications moved to this replica: how often they had moved to another replica before. None if
    /// another replica has the notifications.
    pub(super) own_move: Option<u64>,
    /// How often the notifications have moved.
    pub(super) moves: u64,
    /// The digest of the session that this replica stored, until another replica changes the session.
    written: Option<Digest>,
    stored_at: Instant,
    /// The time of the last use in the store.
    stored_use: Instant,
    has_stream: bool,
}

/// The result of an attempt to store a session.
enum Attempt {
    Done(bool),
    /// Another replica was faster.
    Again,
}

impl SyncState {
    fn new(opened: Option<&OpenedSession>) -> Self {
        let now = Instant::now();
        let mut synced = Self {
            revision: None,
            part: SharedPart::default(),
            is_outdated: false,
            own_move: Some(0),
            moves: 0,
            written: None,
            stored_at: now,
            stored_use: now,
            has_stream: false,
        };
        if let Some(opened) = opened {
            synced.own_move = None;
            synced.adopt(opened);
        }
        synced
    }

    /// Records what is stored now.
    fn adopt(&mut self, opened: &OpenedSession) {
        self.revision = Some(opened.revision);
        self.part = SharedPart::of(&opened.record);
        self.is_outdated = false;
        self.written = None;
        self.moves = self.moves.max(opened.record.moves);
        (self.stored_use, self.has_stream) =
            (instant_of(opened.head.last_used), opened.head.has_stream);
    }
}

impl SharedRecorder {
    /// `opened` is the stored session; none if the session is new.
    pub(super) fn new(
        shared: Arc<SharedSessions>,
        session: &Arc<Session>,
        opened: Option<&OpenedSession>,
    ) -> Self {
        Self {
            shared,
            key: SessionKey::of(&session.id),
            session: Arc::downgrade(session),
            synced: Mutex::new(SyncState::new(opened)),
        }
    }

    pub(super) async fn lock(&self) -> MutexGuard<'_, SyncState> {
        self.synced.lock().await
    }

    /// Stores the session if it differs from the stored session, or if the store would otherwise remove it. Returns
    /// whether it was stored.
    pub(super) async fn write(&self) -> bool {
        let Some(session) = self.session.upgrade() else {
            return false;
        };
        self.write_locked(&session, &mut *self.lock().await).await
    }

    pub(super) async fn write_locked(&self, session: &Session, synced: &mut SyncState) -> bool {
        for _ in 0..MAX_ATTEMPTS {
            if session.ended.is_cancelled() || !self.shared.store.is_connected() {
                return false;
            }
            match self.try_write(session, synced).await {
                Attempt::Done(written) => return written,
                Attempt::Again => synced.is_outdated = true,
            }
        }
        self.shared.store_soon(self.key);
        false
    }

    async fn try_write(&self, session: &Session, synced: &mut SyncState) -> Attempt {
        let is_due = self.is_due(session, synced);
        let mut record = snapshot(session, synced);
        let is_same =
            |record: &SessionRecord, synced: &SyncState| SharedPart::of(record) == synced.part;
        if synced.own_move.is_none() && !synced.is_outdated && !is_due && is_same(&record, synced) {
            return Attempt::Done(false);
        }
        let mut has_stream = session.has_stream();
        if synced.own_move.is_none() || synced.is_outdated {
            let Ok(stored) = self.pull(session, synced).await else {
                return Attempt::Done(false);
            };
            record = snapshot(session, synced);
            match stored {
                Some(opened) if synced.own_move.is_none() => {
                    if is_same(&record, synced) && !is_due {
                        return Attempt::Done(false);
                    }
                    has_stream |= opened.head.has_stream;
                    record = merged(&opened.record, &record);
                }
                Some(_) => {}
                // No replica has the notifications any more, so this replica continues them.
                None => _ = synced.own_move.get_or_insert(synced.moves),
            }
        }
        self.put(session, synced, record, has_stream, is_due).await
    }

    async fn put(
        &self,
        session: &Session,
        synced: &mut SyncState,
        record: SessionRecord,
        has_stream: bool,
        is_due: bool,
    ) -> Attempt {
        let shared = &self.shared;
        let max_bytes = shared.store.max_value_bytes().saturating_sub(SEAL_BYTES);
        let Some(body) = record.to_bytes_within(max_bytes) else {
            return self.fail("it has too many subscriptions: only this replica has it");
        };
        let digest = Some(Digest::of(&body));
        if synced.written == digest && !is_due {
            return Attempt::Done(false);
        }
        if !self.reserve(&record.owner, body.len()) {
            return self.fail(
                "the sessions have too many subscriptions: only this replica has one of them",
            );
        }
        let used = session.last_use();
        let part = SharedPart::of(&record);
        let head = Head {
            owner: record.owner,
            last_used: SystemTime::now() - used.elapsed(),
            has_stream,
            run: record.events.run,
            shared_part: part.digest(),
            bytes: body.len(),
        };
        let value = match shared.seal_value(self.key, &head, body) {
            Ok(value) => value,
            Err(error) => {
                shared.report("encrypt", &error.to_string());
                return Attempt::Done(false);
            }
        };
        match shared.store.put(self.key, value, synced.revision).await {
            Ok(revision) => {
                synced.revision = Some(revision);
                synced.part = part;
                synced.written = digest.filter(|_| synced.own_move.is_some());
                synced.stored_at = Instant::now();
                synced.stored_use = used;
                synced.has_stream = has_stream;
                Attempt::Done(true)
            }
            Err(PutError::Conflict) => Attempt::Again,
            Err(PutError::Unavailable(error)) => {
                // It is unknown whether the session was stored.
                synced.is_outdated = true;
                self.fail(&error.to_string())
            }
        }
    }

    /// Reports that the session cannot be stored.
    fn fail(&self, error: &str) -> Attempt {
        self.shared.report("store", error);
        Attempt::Done(false)
    }

    /// Reserves room in the store, where smaller sessions displace larger ones. Returns whether there is room.
    fn reserve(&self, owner: &SessionOwner, bytes: usize) -> bool {
        let surplus = self.shared.bytes.reserve(self.key, owner, bytes);
        for key in surplus.iter().flatten() {
            self.shared.remove_later(*key);
        }
        surplus.is_ok()
    }

    /// Whether the session must be stored although its content has not changed.
    fn is_due(&self, session: &Session, synced: &SyncState) -> bool {
        let was_used = session.last_use() > synced.stored_use;
        let is_old = synced.stored_at.elapsed() >= self.shared.touch_interval();
        let has_own_stream = synced.own_move.is_some();
        synced.revision.is_none()
            || (was_used && is_old)
            || (has_own_stream && session.has_stream() != synced.has_stream)
    }

    /// Loads the stored session, and applies the changes of other replicas here. `None` if the session is not stored.
    /// Fails if the session has ended, or if the store cannot be reached.
    pub(super) async fn pull(
        &self,
        session: &Session,
        synced: &mut SyncState,
    ) -> Result<Option<OpenedSession>, ()> {
        let loaded = self.shared.load(self.key).await;
        let loaded = loaded.map_err(|error| self.shared.report("load", &error.to_string()))?;
        let opened = match loaded {
            Ok(opened) => opened,
            Err(StoreEntry::Removed) => {
                session.close();
                return Err(());
            }
            Err(_) => {
                synced.revision = None;
                synced.part = SharedPart::default();
                synced.is_outdated = false;
                synced.written = None;
                return Ok(None);
            }
        };
        let own = SharedPart::of(&snapshot(session, synced));
        let changes = synced.part.changes_of_others(&own, &opened.record);
        session
            .client
            .subscriptions
            .change(&changes.added, &changes.removed);
        if let Some(level) = changes.log_level {
            session.client.side.set_log_level_name(&level);
        }
        synced.adopt(&opened);
        let stored_events = (opened.record.moves, opened.record.events.run.as_str());
        let own_run = session.replay.ids().run.as_str();
        if synced
            .own_move
            .is_some_and(|own| stored_events > (own, own_run))
        {
            synced.own_move = None;
            session.end_current_stream();
        }
        Ok(Some(opened))
    }

    /// The session is not in the store, or it was stored after all sessions were listed.
    pub(super) async fn not_listed(&self) {
        self.lock().await.is_outdated = true;
        self.shared.store_soon(self.key);
    }

    /// The stored session has this revision now.
    pub(super) async fn notice(&self, revision: u64, head: &Head) {
        let Some(session) = self.session.upgrade() else {
            return;
        };
        let mut synced = self.lock().await;
        if synced.revision.is_some_and(|known| known >= revision) {
            return;
        }
        session.used_at(instant_of(head.last_used));
        synced.stored_at = Instant::now();
        synced.stored_use = instant_of(head.last_used);
        let has_own_stream = synced.own_move.is_some();
        let is_own_run = head.run == session.replay.ids().run;
        if synced.revision.is_some() && head.has(&synced.part) && (is_own_run || !has_own_stream) {
            synced.revision = Some(revision);
            synced.written = None;
            synced.has_stream = head.has_stream;
            return;
        }
        // An error is reported. The next attempt to store the session detects the change.
        _ = self.pull(&session, &mut synced).await;
    }
}

/// Returns this replica's state of the session.
fn snapshot(session: &Session, synced: &SyncState) -> SessionRecord {
    let client = &session.client;
    client.log.between_changes(|events| {
        let mut ids = session.replay.ids().clone();
        ids.last = events.last;
        ids.oldest = events.oldest;
        SessionRecord {
            version: client.version,
            owner: SessionOwner::of(&session.caller),
            client: (*client.description).clone(),
            events: ids,
            subscriptions: client.subscriptions.stored(events),
            moves: synced.own_move.unwrap_or(synced.moves),
            log_level: client.side.log_level_name().map(ToOwned::to_owned),
        }
    })
}

impl SubscriptionStorage for SharedRecorder {
    fn save<'a>(&'a self, _: &'a Subscriptions) -> BoxFuture<'a, bool> {
        self.write().boxed()
    }
}

impl SyncState {
    /// The notifications move to this replica.
    pub(super) fn take_notifications(&mut self) {
        self.moves += 1;
        self.own_move = Some(self.moves);
        self.written = None;
    }
}
