//! A store of sessions that several replicas use at the same time, and their messages to each other. The store only
//! transports bytes; `session::shared` encrypts and interprets them.

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

    /// Parses a name. Clients send names in the ids of events, so any other text must be rejected.
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

/// Stores sessions for all replicas, and passes messages between them.
#[async_trait]
pub trait SharedSessionStore: Send + Sync {
    /// The name of this replica.
    fn replica(&self) -> &ReplicaName;
    /// Whether the store can be reached, as far as this replica knows.
    fn is_connected(&self) -> bool;
    /// Maximum size of a value in bytes.
    fn max_value_bytes(&self) -> usize;
    /// Returns a session.
    async fn load(&self, key: SessionKey) -> Result<StoreEntry, Unavailable>;
    /// Stores a session if its revision is still `after`, or, without `after`, if the session is not stored yet.
    /// Returns the new revision.
    async fn put(
        &self,
        key: SessionKey,
        value: StoredValue,
        after: Option<u64>,
    ) -> Result<u64, PutError>;
    /// Removes a session. An unknown session is ignored.
    async fn remove(&self, key: SessionKey) -> Result<(), Unavailable>;
    /// Returns the next change. Changes of this replica are included. Cancel safe. For a single consumer.
    async fn next_change(&self) -> StoreChange;

    /// Sends a message to one replica, or to all other replicas. Never waits. Returns whether there is a connection.
    fn send(&self, to: Option<&ReplicaName>, message: Vec<u8>) -> bool;
    /// Sends a message to a replica, and waits for its reply.
    async fn request(&self, to: &ReplicaName, message: Vec<u8>) -> Result<Vec<u8>, RequestError>;
    /// Returns the next message of another replica. Cancel safe. For a single consumer.
    async fn next_message(&self) -> PeerMessage;
    /// Replies to a request. Never waits.
    fn reply(&self, to: ReplyAddress, message: Vec<u8>);
}

/// The stored data of a session. Both parts are encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredValue {
    /// The part that all replicas keep for each session: its owner, and when it was last used. It has at most a few
    /// hundred bytes.
    pub head: Vec<u8>,
    /// The session.
    pub body: Vec<u8>,
}

/// The value that a store has under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreEntry {
    /// The session never existed, or it was not stored again for too long.
    Absent,
    /// The session has ended.
    Removed,
    /// The session.
    Present {
        /// Increases with each change.
        revision: u64,
        /// The stored data.
        value: StoredValue,
    },
}

/// A change in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreChange {
    /// All sessions are listed after this, because changes may have been missed.
    Listing,
    /// All sessions were listed.
    Listed,
    /// A session was stored, or is listed.
    Stored {
        /// The name of the session.
        key: SessionKey,
        /// The revision of the session.
        revision: u64,
        /// The head of the stored session.
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
    /// The replica does not exist any more.
    #[error("the replica is gone")]
    Gone,
    /// The message cannot be sent, or there was no reply in time.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}
