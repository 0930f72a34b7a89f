//! Where sessions are stored, so that they continue after a restart of the server.

mod file;
mod files;
pub(super) mod record;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;

pub use file::FileSessionStore;
pub use record::SessionRecord;

use larder_model::name::{Digest, Teams};
use larder_model::resource::Caller;

/// Stores sessions outside of this process. Operations on one session take effect in the order in which they begin.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Lists all sessions, for the limits of their number and size.
    async fn list(&self) -> io::Result<Vec<StoredSession>>;
    /// Adds a session.
    async fn create(&self, key: SessionKey, record: &SessionRecord) -> io::Result<()>;
    /// Returns a session; `None` if no session has this key.
    async fn load(&self, key: SessionKey) -> io::Result<Option<SessionRecord>>;
    /// Records when these sessions were last used. Unknown sessions are ignored.
    async fn touch(&self, used: Vec<(SessionKey, SystemTime)>) -> io::Result<()>;
    /// Replaces the stored data of a session, such as its subscriptions. Has no effect if the session was removed.
    async fn update(&self, key: SessionKey, record: &SessionRecord) -> io::Result<()>;
    /// Removes these sessions. Unknown sessions are ignored.
    async fn remove(&self, keys: Vec<SessionKey>) -> io::Result<()>;
}

/// The name of a session in a store. The id of the session, which its client sends, cannot be computed from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionKey(Digest);

/// A store, with the sessions of earlier runs of the server.
pub struct StoredSessions {
    pub(super) store: Arc<dyn SessionStore>,
    pub(super) listed: Vec<StoredSession>,
}

impl StoredSessions {
    /// Lists the sessions of a store. `None` if the store cannot be read: then sessions are kept only in memory.
    pub async fn list(store: Arc<dyn SessionStore>) -> Option<Self> {
        match store.list().await {
            Ok(listed) => Some(Self { store, listed }),
            Err(error) => {
                tracing::warn!(%error, "stored sessions cannot be read: sessions end at the next restart");
                None
            }
        }
    }
}

/// The properties of a stored session that the limits depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    /// The name of the session.
    pub key: SessionKey,
    /// The owner of the session.
    pub owner: SessionOwner,
    /// When the session was last used. The value may be the time of the previous sweep.
    pub last_used: SystemTime,
    /// The size of the stored data.
    pub bytes: usize,
}

/// The owner of a session: the caller, independently of the credential that the caller used.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionOwner {
    /// The subject of the credential; none if the credential has no subject.
    pub subject: Option<String>,
    /// The issuer of the credential. None if this server issued the credential, or if there is no credential.
    pub issuer: Option<String>,
    /// The teams of the caller.
    pub teams: Teams,
}

impl SessionKey {
    pub(crate) fn of(id: &str) -> Self {
        Self(Digest::of(id.as_bytes()))
    }

    /// Parses the text that `Display` writes.
    pub fn parse(text: &str) -> Option<Self> {
        let is_plain = text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        Digest::parse(&format!("sha256:{text}"))
            .ok()
            .filter(|_| is_plain)
            .map(Self)
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl SessionOwner {
    pub(crate) fn of(caller: &Caller) -> Self {
        Self {
            subject: caller.subject.clone(),
            issuer: caller.issuer.as_deref().map(ToOwned::to_owned),
            teams: caller.teams.clone(),
        }
    }

    /// Returns the caller without the scopes of a credential.
    pub(crate) fn caller(&self) -> Caller {
        Caller {
            subject: self.subject.clone(),
            issuer: self.issuer.as_deref().map(Into::into),
            teams: self.teams.clone(),
            scopes: vec![],
        }
    }
}
