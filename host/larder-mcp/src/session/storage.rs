//! The store of the sessions, and what all stores have in common: the limit of bytes, removals, and errors.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::mpsc;

use super::store::{SessionKey, SessionStore, StoredSession, StoredSessions};
use super::stored_bytes::StoredBytes;
use larder_runtime::drain::Drain;
use larder_runtime::log_limit::{Repeats, Suppressor};

/// Maximum number of bytes of all stored sessions.
const MAX_BYTES: usize = 64 << 20;

/// The store of the sessions.
pub(crate) struct Storage {
    pub(super) store: Arc<dyn SessionStore>,
    pub(super) bytes: StoredBytes,
    removals: mpsc::UnboundedSender<SessionKey>,
    /// Sessions that ended and are still in the store.
    ended: Mutex<HashSet<SessionKey>>,
    errors: Suppressor<&'static str>,
}

/// What is in the store at the start, and what the task for the store receives.
pub(crate) struct EarlierSessions {
    pub(super) listed: Vec<StoredSession>,
    /// Sessions to remove from the store.
    pub(super) removals: mpsc::UnboundedReceiver<SessionKey>,
}

impl Storage {
    /// Uses the store for the sessions of this run.
    pub(crate) fn new(stored: StoredSessions, drain: &Drain) -> (Arc<Self>, EarlierSessions) {
        let (sender, removals) = mpsc::unbounded_channel();
        let errors = Suppressor::new(drain, |what: &&'static str, repeats: &Repeats| {
            tracing::warn!(what, times = repeats.times, last = ?repeats.last, "the session store failed again");
        });
        let storage = Self {
            store: stored.store,
            bytes: StoredBytes::new(MAX_BYTES),
            removals: sender,
            ended: Mutex::default(),
            errors,
        };
        let earlier = EarlierSessions {
            listed: stored.listed,
            removals,
        };
        (Arc::new(storage), earlier)
    }

    /// Removes a session later.
    pub(super) fn remove_later(&self, key: SessionKey) {
        self.ended().insert(key);
        // This fails only when the server has stopped, and the receiver is gone.
        _ = self.removals.send(key);
    }

    /// Removes sessions.
    pub(super) async fn remove(&self, keys: Vec<SessionKey>) {
        keys.iter().for_each(|key| self.bytes.release(*key));
        match self.store.remove(keys.clone()).await {
            Ok(()) => self.ended().retain(|ended| !keys.contains(ended)),
            Err(error) => self.report("remove", &error.to_string()),
        }
    }

    /// Whether a session has ended. A copy of the session may still be in the store.
    pub(super) fn has_ended(&self, key: SessionKey) -> bool {
        self.ended().contains(&key)
    }

    fn ended(&self) -> MutexGuard<'_, HashSet<SessionKey>> {
        self.ended.lock()
    }

    /// Records when sessions were last used.
    pub(super) async fn touch(&self, used: Vec<(SessionKey, SystemTime)>) {
        if let Err(error) = self.store.touch(used).await {
            self.report("touch", &error.to_string());
        }
    }

    /// Logs an error. The sessions continue, but sessions that are not stored end with this run of the server.
    pub(super) fn report(&self, what: &'static str, error: &str) {
        if self.errors.is_first(what, error) {
            tracing::warn!(what, %error, "the session store failed: sessions that are not stored end at a restart");
        }
    }
}
