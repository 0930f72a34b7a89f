//! Sessions of legacy clients. The table is bounded, because every client that can reach the server can open sessions.
//! With a store, sessions continue after a restart of the server. Of a session that this process has not used, only the
//! owner and the size are known. It uses `protocol` and what `protocol` uses, but no transport.

mod eviction;
mod lifetime;
mod recorder;
mod restore;
pub(crate) mod storage;
mod store;
mod stored_bytes;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use http::StatusCode;
use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use crate::client_side::cancellation::CancellableRequests;
use crate::protocol::legacy::Client;
use crate::subscribe::replay::{EventIds, RUN_LENGTH, Replay, ReplayBudget};
use crate::subscribe::subscriptions::Subscriptions;
use crate::wire::message::MAX_BATCH;
use crate::wire::rpc_error::{INTERNAL_ERROR, INVALID_REQUEST, RpcError};
use eviction::{SessionCounts, Victim};
use larder_model::name::ReplicaName;
use larder_model::resource::Caller;
use larder_runtime::memory_budget::MemoryBudget;
use larder_runtime::metrics::Refusal;
use recorder::{Recorder, StoreContent};
use storage::Storage;
pub use store::{
    FileSessionStore, SessionKey, SessionOwner, SessionRecord, SessionStore, StoredSession,
    StoredSessions,
};

/// Maximum number of concurrent requests of one session. Requests continue after their connections end, so no other
/// limit applies to them. While a batch runs, all of its requests count: the limit allows other requests beside the
/// largest batch.
const MAX_REQUESTS: usize = 64 + MAX_BATCH;

/// All sessions. Generic over the subscriptions of a session, which this module does not use.
pub(super) struct Sessions<W = Subscriptions> {
    table: Mutex<Table<W>>,
    budget: Arc<ReplayBudget>,
    max_sessions: usize,
    idle_timeout: Duration,
    /// None if sessions are kept in memory only.
    storage: Option<Arc<Storage>>,
    /// The ids of new sessions begin with the name of this replica. A load balancer then sends the requests of a session
    /// to the replica that has the session. None if there are no other replicas.
    replica: Option<ReplicaName>,
}

/// What sessions are created with.
pub(super) struct SessionsParts {
    pub(super) max_sessions: usize,
    pub(super) idle_timeout: Duration,
    /// Retained event streams are charged to this budget.
    pub(super) memory: MemoryBudget,
    pub(super) storage: Option<Arc<Storage>>,
    pub(super) replica: Option<ReplicaName>,
}

struct Table<W> {
    open: HashMap<String, Arc<Session<W>>>,
    /// The stored sessions of earlier runs of the server. No client has used them since the start.
    stored: HashMap<SessionKey, EarlierSession>,
}

/// A session of an earlier run of the server.
struct EarlierSession {
    caller: Caller,
    last_used: Instant,
}

/// One session.
pub(super) struct Session<W = Subscriptions> {
    pub(super) id: String,
    pub(super) client: Client<W>,
    pub(super) requests: Arc<CancellableRequests>,
    pub(super) replay: Replay,
    caller: Caller,
    ended: CancellationToken,
    usage: Mutex<Usage>,
}

struct Usage {
    last_used: Instant,
    /// The value of `last_used` in the store.
    stored: Instant,
    stream: Option<CancellationToken>,
}

impl<W> Sessions<W> {
    pub(super) fn new(parts: SessionsParts) -> Self {
        let table = Mutex::new(Table {
            open: HashMap::new(),
            stored: HashMap::new(),
        });
        Self {
            table,
            budget: Arc::new(ReplayBudget::new(parts.memory)),
            max_sessions: parts.max_sessions,
            idle_timeout: parts.idle_timeout,
            storage: parts.storage,
            replica: parts.replica,
        }
    }

    /// Opens a session. If the table is full, evicts a session of the same caller, or of a caller with more sessions.
    pub(super) fn open(
        &self,
        client: Client<W>,
        caller: Caller,
    ) -> Result<Arc<Session<W>>, RpcError> {
        let ids = EventIds::new(&random_id()?[..12], &random_id()?[..RUN_LENGTH]);
        let replay = Replay::new(ids, client.log.clone(), self.budget.clone());
        let session = Session::new(self.new_id()?, client, caller, replay);
        let session = Arc::new(self.recorded(session, StoreContent::Nothing));
        let mut table = self.lock();
        self.make_room(&mut table, &session.caller)?;
        table.open.insert(session.id.clone(), session.clone());
        Ok(session)
    }

    fn new_id(&self) -> Result<String, RpcError> {
        let random = random_id()?;
        Ok(match &self.replica {
            Some(name) => format!("{name}.{random}"),
            None => random,
        })
    }

    /// Makes a new session store its changes, if sessions are stored.
    fn recorded(&self, mut session: Session<W>, stored: StoreContent) -> Session<W> {
        if let Some(storage) = self.storage.clone() {
            session.client.storage = Some(Arc::new(Recorder::new(storage, &session, stored)));
        }
        session
    }

    /// Adds sessions that earlier runs of the server have put into the store.
    fn add_stored(&self, listed: Vec<StoredSession>) {
        let Some(storage) = &self.storage else {
            return;
        };
        let now = SystemTime::now();
        let mut table = self.lock();
        for session in listed {
            let age = now.duration_since(session.last_used).unwrap_or_default();
            let caller = session.owner.caller();
            let last_used = Instant::now()
                .checked_sub(age)
                .filter(|_| age < self.idle_timeout);
            let (Some(last_used), Ok(surplus)) = (
                last_used,
                storage
                    .bytes
                    .reserve(session.key, &session.owner, session.bytes),
            ) else {
                storage.remove_later(session.key);
                continue;
            };
            surplus.iter().for_each(|key| storage.remove_later(*key));
            table.stored.retain(|key, _| !surplus.contains(key));
            table
                .stored
                .insert(session.key, EarlierSession { caller, last_used });
        }
        while table.len() > self.max_sessions {
            let Some(oldest) = table.oldest_stored() else {
                break;
            };
            table.stored.remove(&oldest);
            storage.remove_later(oldest);
        }
    }

    /// Returns the store, if it may have a session of this caller with this id.
    fn storage_of(&self, id: &str, caller: &Caller) -> Option<&Arc<Storage>> {
        let table = self.lock();
        let key = SessionKey::of(id);
        let is_current = |session: &EarlierSession| {
            session.caller.is_same_principal(caller)
                && session.last_used.elapsed() < self.idle_timeout
        };
        let may_exist =
            !table.open.contains_key(id) && table.stored.get(&key).is_none_or(is_current);
        self.storage
            .as_ref()
            .filter(|storage| may_exist && !storage.has_ended(key))
    }

    /// Adds a session of an earlier run. If another request has already added the session, returns that one.
    fn insert_restored(&self, session: Arc<Session<W>>) -> Result<Arc<Session<W>>, RpcError> {
        let mut table = self.lock();
        if let Some(open) = table.open.get(&session.id) {
            return Ok(open.clone());
        }
        if table.stored.remove(&SessionKey::of(&session.id)).is_none() {
            self.make_room(&mut table, &session.caller)?;
        }
        table.open.insert(session.id.clone(), session.clone());
        Ok(session)
    }

    /// Finds the session with this id. The session must belong to this caller: the id alone is no credential.
    pub(super) fn find(
        &self,
        id: Option<&str>,
        caller: &Caller,
    ) -> Result<Arc<Session<W>>, RpcError> {
        let id = id.ok_or_else(missing_session_id)?;
        let session = self
            .lock()
            .open
            .get(id)
            .filter(|session| session.caller.is_same_principal(caller))
            .cloned();
        let session = session.filter(|session| !session.is_idle(self.idle_timeout));
        let session = session.ok_or_else(unknown_session)?;
        session.touch();
        Ok(session)
    }

    /// Ends a session at the request of its client. The session does not continue after a restart either.
    pub(super) async fn end(&self, session: &Session<W>) {
        self.lock().open.remove(&session.id);
        session.close();
        if let Some(storage) = &self.storage {
            storage.remove(vec![SessionKey::of(&session.id)]).await;
        }
    }

    /// Closes idle sessions and discards expired streams.
    pub(super) fn sweep(&self) {
        self.budget.sweep();
        let (open, stored) = self.take_unless(
            |session| !session.is_idle(self.idle_timeout),
            |session| session.last_used.elapsed() < self.idle_timeout,
        );
        self.close_all(&open, stored);
    }

    /// Closes the sessions of callers that are not allowed any more.
    pub(super) fn retain_callers(&self, may_call: impl Fn(&Caller) -> bool) {
        let (open, stored) = self.take_unless(
            |session| may_call(&session.caller),
            |session| may_call(&session.caller),
        );
        self.close_all(&open, stored);
    }

    /// Removes sessions from the table, and returns them.
    fn take_unless(
        &self,
        keeps: impl Fn(&Session<W>) -> bool,
        keeps_stored: impl Fn(&EarlierSession) -> bool,
    ) -> (Vec<Arc<Session<W>>>, Vec<SessionKey>) {
        let mut table = self.lock();
        let open = table
            .open
            .extract_if(|_, session| !keeps(session))
            .map(|(_, session)| session)
            .collect();
        let stored = table
            .stored
            .extract_if(|_, session| !keeps_stored(session))
            .map(|(key, _)| key)
            .collect();
        (open, stored)
    }

    /// The number of open sessions. It includes sessions of earlier runs that were not used in this run.
    pub(super) fn len(&self) -> u64 {
        self.lock().len() as u64
    }

    fn all(&self) -> Vec<Arc<Session<W>>> {
        self.lock().open.values().cloned().collect()
    }

    /// Evicts a session if the table is full.
    fn make_room(&self, table: &mut Table<W>, caller: &Caller) -> Result<(), RpcError> {
        if table.len() < self.max_sessions {
            return Ok(());
        }
        let victim = SessionCounts::new(table)
            .candidate(table, caller)
            .ok_or_else(|| {
                RpcError::new(
                    INTERNAL_ERROR,
                    "too many sessions: end some, or try again later",
                )
                .with_status(StatusCode::SERVICE_UNAVAILABLE)
                .with_refusal(Refusal::Sessions)
            })?;
        tracing::debug!("session evicted");
        match victim {
            Victim::Open(id) => {
                _ = table
                    .open
                    .remove(&id)
                    .inspect(|session| self.close(session))
            }
            Victim::Stored(key) => {
                _ = table
                    .stored
                    .remove(&key)
                    .inspect(|_| self.remove_stored(key))
            }
        }
        Ok(())
    }

    fn close_all(&self, open: &[Arc<Session<W>>], stored: Vec<SessionKey>) {
        open.iter().for_each(|session| self.close(session));
        for key in stored {
            self.remove_stored(key);
        }
    }

    fn close(&self, session: &Session<W>) {
        session.close();
        self.remove_stored(SessionKey::of(&session.id));
    }

    fn remove_stored(&self, key: SessionKey) {
        if let Some(storage) = &self.storage {
            storage.remove_later(key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table<W>> {
        self.table.lock()
    }
}

impl<W> Table<W> {
    fn len(&self) -> usize {
        self.open.len() + self.stored.len()
    }

    fn oldest_stored(&self) -> Option<SessionKey> {
        let stored = self.stored.iter();
        let oldest = stored.min_by_key(|(_, session)| session.last_used);
        oldest.map(|(key, _)| *key)
    }
}

fn missing_session_id() -> RpcError {
    let message = "the Mcp-Session-Id header is missing: call `initialize` first";
    RpcError::bad_request(INVALID_REQUEST, message)
}

fn unknown_session() -> RpcError {
    let message = "there is no such session: call `initialize` again";
    RpcError::new(INVALID_REQUEST, message).with_status(StatusCode::NOT_FOUND)
}

/// Returns 192 random bits in hexadecimal.
fn random_id() -> Result<String, RpcError> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes).map_err(|error| {
        tracing::error!(%error, "random number generator failed");
        RpcError::new(INTERNAL_ERROR, "no session can be opened")
            .with_status(StatusCode::INTERNAL_SERVER_ERROR)
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests;
