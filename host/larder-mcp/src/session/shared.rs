//! Sessions that several replicas share. A session can be open at several replicas at once. The replica where the
//! client has or had its notification stream stores which content the client has of its resources. All replicas store
//! the subscriptions, and merge their changes. Without a connection to the store, sessions continue on this replica,
//! and are stored later.

mod ended;
mod head;
mod link;
mod merge;
mod message;
mod messages;
mod readers;
mod recorder;
mod remote_stream;
mod restore;
mod stream;
mod tasks;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use tokio::sync::Notify;

use self::ended::EndedSessions;
use self::head::Head;
pub(crate) use self::link::SessionLink;
use self::readers::RemoteReaders;
pub(crate) use self::remote_stream::{RemoteItem, RemoteStream};
use super::Session;
use super::store::{
    SessionKey, SessionRecord, SharedSessionStore, StoreEntry, StoredValue, Unavailable,
};
use super::stored_bytes::StoredBytes;
use crate::client_side::sealing::SealingKeys;
use larder_runtime::drain::Drain;
use larder_runtime::log_limit::{Repeats, Suppressor};

/// Maximum number of bytes of all stored sessions.
const MAX_BYTES: usize = 64 << 20;

/// The store, and the state of the store that this replica has.
pub(crate) struct SharedSessions {
    store: Arc<dyn SharedSessionStore>,
    keys: SealingKeys,
    idle_timeout: Duration,
    /// The sessions that are open in this process.
    open: Mutex<HashMap<SessionKey, Weak<Session>>>,
    /// Sessions that ended, and that are still in the store.
    ended: Mutex<HashSet<SessionKey>>,
    /// Sessions that are not in the store any more because they ended.
    removed: Mutex<EndedSessions>,
    /// Sessions to be stored soon.
    changed: Mutex<HashSet<SessionKey>>,
    /// Wakes the task that stores and removes sessions.
    wake: Notify,
    bytes: StoredBytes,
    readers: RemoteReaders,
    errors: Suppressor<&'static str>,
    drain: Drain,
}

/// A stored session.
pub(super) struct OpenedSession {
    revision: u64,
    head: Head,
    record: SessionRecord,
}

/// The time of an event that another replica reported.
fn instant_of(time: SystemTime) -> Instant {
    let age = SystemTime::now().duration_since(time).unwrap_or_default();
    Instant::now().checked_sub(age).unwrap_or_else(Instant::now)
}

impl SharedSessions {
    fn new(
        store: Arc<dyn SharedSessionStore>,
        keys: SealingKeys,
        idle_timeout: Duration,
        drain: &Drain,
    ) -> Self {
        let errors = Suppressor::new(drain, |what: &&'static str, repeats: &Repeats| {
            tracing::warn!(what, times = repeats.times, last = ?repeats.last, "the shared sessions failed again");
        });
        let (open, ended, removed, changed, wake) = Default::default();
        Self {
            store,
            keys,
            idle_timeout,
            open,
            ended,
            removed,
            changed,
            wake,
            bytes: StoredBytes::new(MAX_BYTES),
            readers: RemoteReaders::default(),
            errors,
            drain: drain.clone(),
        }
    }

    /// The interval in which a used session is stored again, so that the store does not remove it.
    fn touch_interval(&self) -> Duration {
        self.idle_timeout / 4
    }

    /// The session with this key, if it is open in this process.
    fn session(&self, key: SessionKey) -> Option<Arc<Session>> {
        let session = self.open.lock().get(&key)?.upgrade()?;
        (!session.ended.is_cancelled()).then_some(session)
    }

    /// Stores a session soon.
    pub(super) fn store_soon(&self, key: SessionKey) {
        self.changed.lock().insert(key);
        self.wake.notify_one();
    }

    /// Removes a session soon. The removal ends the session at all replicas.
    pub(super) fn remove_later(&self, key: SessionKey) {
        self.open.lock().remove(&key);
        self.ended.lock().insert(key);
        self.wake.notify_one();
    }

    /// Removes a session. The removal ends the session at all replicas. If the store cannot be reached, the session is
    /// removed later.
    pub(super) async fn remove(&self, key: SessionKey) {
        self.ended.lock().insert(key);
        self.open.lock().remove(&key);
        self.bytes.release(key);
        let removed = if self.store.is_connected() {
            self.store.remove(key).await
        } else {
            return;
        };
        match removed {
            Ok(()) => self.note_removed(key),
            Err(error) => self.report("remove", &error.to_string()),
        }
    }

    /// Whether a session has ended. A copy of the session may still be in the store.
    pub(super) fn has_ended(&self, key: SessionKey) -> bool {
        self.ended.lock().contains(&key) || self.was_removed(key)
    }

    /// Whether a session has ended and was removed from the store.
    fn was_removed(&self, key: SessionKey) -> bool {
        self.removed.lock().contains(key)
    }

    /// Records that a session is not in the store any more because it ended.
    fn note_removed(&self, key: SessionKey) {
        self.removed.lock().insert(key, Instant::now());
        self.ended.lock().remove(&key);
    }

    /// How long the record of an ended session is kept. A copy of the session that is stored again later is too old to
    /// be continued.
    fn memory_of_ended(&self) -> Duration {
        self.idle_timeout * 2
    }

    /// Whether the last use of a session is so long ago that it must not be continued.
    fn is_too_old(&self, head: &Head) -> bool {
        head.last_used
            .elapsed()
            .is_ok_and(|age| age > self.memory_of_ended())
    }

    /// Loads and decrypts a session. `None` if the session does not exist, or if this replica cannot read it.
    async fn load(
        &self,
        key: SessionKey,
    ) -> Result<Result<OpenedSession, StoreEntry>, Unavailable> {
        if !self.store.is_connected() {
            return Err(Unavailable("there is no connection to the store".into()));
        }
        Ok(match self.store.load(key).await? {
            StoreEntry::Present { revision, value } => match self.open_value(key, revision, &value)
            {
                Some(opened) => Ok(opened),
                None => {
                    self.report(
                        "read",
                        "it was stored with another key, or by another version of the server",
                    );
                    Err(StoreEntry::Absent)
                }
            },
            missing => Err(missing),
        })
    }

    fn open_value(
        &self,
        key: SessionKey,
        revision: u64,
        value: &StoredValue,
    ) -> Option<OpenedSession> {
        let head = self.open_head(key, &value.head)?;
        let body = self.keys.unseal(&context("body", key), &value.body)?;
        Some(OpenedSession {
            revision,
            head,
            record: SessionRecord::from_bytes(&body)?,
        })
    }

    fn open_head(&self, key: SessionKey, head: &[u8]) -> Option<Head> {
        Head::from_bytes(&self.keys.unseal(&context("head", key), head)?)
    }

    fn seal_value(
        &self,
        key: SessionKey,
        head: &Head,
        body: Vec<u8>,
    ) -> std::io::Result<StoredValue> {
        let head = self.keys.seal(&context("head", key), head.to_bytes())?;
        Ok(StoredValue {
            head,
            body: self.keys.seal(&context("body", key), body)?,
        })
    }

    fn report(&self, what: &'static str, error: &str) {
        if self.errors.is_first(what, error) {
            tracing::warn!(what, %error, "the shared sessions failed: this replica tries again later");
        }
    }
}

/// The encrypted data are bound to their session.
fn context(part: &str, key: SessionKey) -> Vec<u8> {
    format!("session {part} {key}").into_bytes()
}

#[cfg(test)]
mod tests;
