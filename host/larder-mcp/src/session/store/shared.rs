//! A store of sessions that several replicas use at the same time, and their messages to each other. It transports
//! bytes. `session::shared` encrypts and interprets them.

use std::fmt;

use async_trait::async_trait;

use super::SessionKey;

/// Number of digits of the name of a replica.
const NAME_LENGTH: usize = 16;

/// The name of a replica: 16 hexadecimal digits, which are random for each process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReplicaName(Box<str>);

impl ReplicaName {
    /// The name for this random number.
    pub fn of(number: u64) -> Self {
        Self(format!("{number:016x}").into())
    }

    /// Parses a name. Clients send names in the ids of events, so anything else must not pass.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = text.len() == NAME_LENGTH
            && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        fits.then(|| Self(text.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ReplicaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Keeps sessions for all replicas, and passes messages between them.
#[async_trait]
pub trait SharedSessionStore: Send + Sync {
    /// The name of this replica.
    fn replica(&self) -> &ReplicaName;
    /// Whether the store can be reached, as far as is known.
    fn is_connected(&self) -> bool;
    /// Maximum size of a value in bytes.
    fn max_value_bytes(&self) -> usize;
    /// Returns a session.
    async fn load(&self, key: SessionKey) -> Result<Loaded, Unavailable>;
    /// Stores a session, if `after` is its revision, or if there is none. Returns the new revision.
    async fn put(
        &self,
        key: SessionKey,
        value: StoredValue,
        after: Option<u64>,
    ) -> Result<u64, PutError>;
    /// Removes a session. An unknown one is ignored.
    async fn remove(&self, key: SessionKey) -> Result<(), Unavailable>;
    /// Returns the next change, of this replica too. Cancel safe, and for one caller.
    async fn next_change(&self) -> StoreChange;

    /// Sends a message to one replica, or to all others. Never waits. Returns whether there is a connection to send it
    /// through.
    fn send(&self, to: Option<&ReplicaName>, message: Vec<u8>) -> bool;
    /// Sends a message to a replica, and waits for its reply.
    async fn request(&self, to: &ReplicaName, message: Vec<u8>) -> Result<Vec<u8>, RequestError>;
    /// Returns the next message of another replica. Cancel safe, and for one caller.
    async fn next_message(&self) -> PeerMessage;
    /// Replies to a request. Never waits.
    fn reply(&self, to: ReplyAddress, message: Vec<u8>);
}

/// What is stored of a session. Both parts are encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredValue {
    /// What all replicas know of each session: its owner, and when it was last used. At most a few hundred bytes.
    pub head: Vec<u8>,
    /// The session.
    pub body: Vec<u8>,
}

/// What a store has under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loaded {
    /// There never was a session, or it was not stored again for too long.
    Absent,
    /// The session has ended.
    Removed,
    /// The session.
    Present {
        /// Grows with each change.
        revision: u64,
        /// What was stored.
        value: StoredValue,
    },
}

/// A change in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreChange {
    /// All sessions are listed from now on, since changes may have been missed.
    Listing,
    /// All sessions were listed.
    Listed,
    /// A session was stored, or is listed.
    Stored {
        /// The name of the session.
        key: SessionKey,
        /// Its revision.
        revision: u64,
        /// The head of what was stored.
        head: Vec<u8>,
    },
    /// A session has ended.
    Removed {
        /// The name of the session.
        key: SessionKey,
    },
}

/// A message of another replica.
#[derive(Debug)]
pub struct PeerMessage {
    /// The message.
    pub content: Vec<u8>,
    /// Where to reply to, if the sender waits.
    pub reply: Option<ReplyAddress>,
}

/// Where the sender of a message waits for the reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyAddress(pub String);

/// The store cannot be reached, or did not answer in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub String);

/// Why a session was not stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PutError {
    /// The session has another revision.
    #[error("another replica changed the session")]
    Conflict,
    /// The store cannot be reached.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// There is no such replica any more.
    #[error("the replica is gone")]
    Gone,
    /// Nothing can be sent, or there was no reply in time.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}
