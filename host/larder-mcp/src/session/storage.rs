//! The store of the sessions, and what all stores have in common: the limit of bytes, removals, and errors.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::mpsc;

use super::store::{SessionKey, SessionStore};
use super::stored_bytes::StoredBytes;
use larder_runtime::drain::Drain;
use larder_runtime::log_limit::{Repeats, Suppressor};

/// Maximum number of bytes of all stored sessions.
const MAX_BYTES: usize = 64 << 20;

/// The store of the sessions.
pub(super) struct Storage {
    pub(super) store: Arc<dyn SessionStore>,
    pub(super) bytes: StoredBytes,
    removals: mpsc::UnboundedSender<SessionKey>,
    /// Sessions that ended and are still in the store.
    ended: Mutex<HashSet<SessionKey>>,
    errors: Suppressor<&'static str>,
}

impl Storage {
    /// Also returns the receiver of the sessions to remove, for the task that removes them.
    pub(super) fn new(
        store: Arc<dyn SessionStore>,
        drain: &Drain,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<SessionKey>) {
        let (removals, removed) = mpsc::unbounded_channel();
        let errors = Suppressor::new(drain, |what: &&'static str, repeats: &Repeats| {
            tracing::warn!(what, times = repeats.times, last = ?repeats.last, "the session store failed again");
        });
        (
            Arc::new(Self {
                store,
                bytes: StoredBytes::new(MAX_BYTES),
                removals,
                ended: Mutex::default(),
                errors,
            }),
            removed,
        )
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
