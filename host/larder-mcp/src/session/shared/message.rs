//! The messages of replicas about sessions. The messages are encrypted, because they contain texts of clients and
//! providers.

use serde::{Deserialize, Serialize};

use super::SharedSessions;
use crate::client_side::Outcome;
use crate::session::store::{ReplicaName, SessionKey};
use larder_model::name::{TeamName, Teams};
use larder_model::resource::Caller;

/// Maximum number of bytes of an answer in one message.
const ANSWER_PART: usize = 128 << 10;
/// The recipient of a message to all replicas.
const ALL: &str = "all";

/// A message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Message {
    /// The name of the sender.
    pub(super) from: String,
    pub(super) content: Content,
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Content {
    /// A part of the answer of a client to a request of the recipient.
    Answer {
        session: String,
        id: String,
        is_error: bool,
        part: String,
        is_last: bool,
    },
    /// A client cancelled a request.
    Cancel { session: String, id: String },
    /// From now on, the sender sends the client its notifications. The reply is sent when the recipient has stored its
    /// whole state of the client.
    Release { session: String, run: String },
    /// A request for the next piece of a request's stream. The recipient has the messages of the stream.
    Read(ReadRequest),
}

/// A request for a piece of a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ReadRequest {
    pub(super) session: String,
    pub(super) run: String,
    pub(super) stream: u64,
    /// Distinguishes the readers of a stream.
    pub(super) reader: String,
    /// The number of the last message that was received completely.
    pub(super) after: u64,
    /// How many bytes of the next message were received.
    pub(super) offset: u64,
    /// Whether to wait for a message.
    pub(super) waits: bool,
    pub(super) caller: CallerText,
}

/// A caller, with the scopes of its credential.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct CallerText {
    subject: Option<String>,
    issuer: Option<String>,
    teams: Vec<String>,
    scopes: Vec<String>,
}

/// The reply to a request for a piece.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    /// A piece of the message with this number.
    Part {
        number: u64,
        is_last: bool,
        bytes: Vec<u8>,
    },
    /// The next message does not exist yet.
    Waiting,
    /// There are no more messages.
    End,
    /// The message does not exist.
    Unknown,
    /// The messages are not retained any more.
    NotKept,
}

impl CallerText {
    pub(super) fn of(caller: &Caller) -> Self {
        Self {
            subject: caller.subject.clone(),
            issuer: caller.issuer.as_deref().map(ToOwned::to_owned),
            teams: caller.teams.iter().map(ToString::to_string).collect(),
            scopes: caller.scopes.iter().map(ToString::to_string).collect(),
        }
    }

    pub(super) fn caller(&self) -> Option<Caller> {
        let teams: Option<Vec<_>> = self
            .teams
            .iter()
            .map(|team| TeamName::parse(team).ok())
            .collect();
        Some(Caller {
            subject: self.subject.clone(),
            issuer: self.issuer.as_deref().map(Into::into),
            teams: Teams::of(teams?)?,
            scopes: self
                .scopes
                .iter()
                .map(|scope| scope.as_str().into())
                .collect(),
        })
    }
}

/// Splits an answer into messages.
pub(super) fn split_answer(key: SessionKey, id: &str, outcome: &Outcome) -> Vec<Content> {
    let (text, is_error) = match outcome {
        Ok(text) => (text, false),
        Err(text) => (text, true),
    };
    let mut rest = text.as_str();
    let mut parts = Vec::new();
    loop {
        let (part, later) = rest.split_at(rest.floor_char_boundary(ANSWER_PART));
        rest = later;
        let session = key.to_string();
        let id = id.to_owned();
        let part = part.to_owned();
        let is_last = rest.is_empty();
        parts.push(Content::Answer {
            session,
            id,
            is_error,
            part,
            is_last,
        });
        if is_last {
            return parts;
        }
    }
}

impl Piece {
    /// The encoded form: the kind, and for a part its number and its bytes.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Part {
                number,
                is_last,
                bytes,
            } => [&[u8::from(*is_last)], &number.to_be_bytes()[..], bytes].concat(),
            Self::Waiting => vec![2],
            Self::End => vec![3],
            Self::Unknown => vec![4],
            Self::NotKept => vec![5],
        }
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        Some(match kind {
            0 | 1 => {
                let (number, bytes) = rest.split_first_chunk()?;
                Self::Part {
                    number: u64::from_be_bytes(*number),
                    is_last: *kind == 1,
                    bytes: bytes.to_vec(),
                }
            }
            2 => Self::Waiting,
            3 => Self::End,
            4 => Self::Unknown,
            5 => Self::NotKept,
            _ => return None,
        })
    }
}

impl SharedSessions {
    /// Sends a message to one replica or to all replicas. Returns whether there is a connection.
    pub(super) fn send(&self, to: Option<&ReplicaName>, content: Content) -> bool {
        let sealed = self.seal_message(to, content);
        sealed.is_some_and(|sealed| self.store.send(to, sealed))
    }

    pub(super) fn seal_message(
        &self,
        to: Option<&ReplicaName>,
        content: Content,
    ) -> Option<Vec<u8>> {
        let message = Message {
            from: self.store.replica().to_string(),
            content,
        };
        let bytes = serde_json::to_vec(&message).ok()?;
        self.keys
            .seal(&message_context(to.map_or(ALL, ReplicaName::as_str)), bytes)
            .ok()
    }

    /// Reads a message that another replica sent to this replica or to all replicas.
    pub(super) fn open_message(&self, sealed: &[u8]) -> Option<Message> {
        let replica = self.store.replica().as_str();
        let bytes = [replica, ALL]
            .iter()
            .find_map(|to| self.keys.unseal(&message_context(to), sealed))?;
        serde_json::from_slice(&bytes)
            .ok()
            .filter(|message: &Message| message.from != replica)
    }

    /// Encrypts the reply to a message.
    pub(super) fn seal_reply(&self, to: &str, bytes: Vec<u8>) -> Option<Vec<u8>> {
        self.keys.seal(&reply_context(to), bytes).ok()
    }

    pub(super) fn open_reply(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        self.keys
            .unseal(&reply_context(self.store.replica().as_str()), sealed)
    }
}

fn message_context(to: &str) -> Vec<u8> {
    format!("session message {to}").into_bytes()
}

fn reply_context(to: &str) -> Vec<u8> {
    format!("session reply {to}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_read_again() {
        let part = Piece::Part {
            number: 7,
            is_last: false,
            bytes: b"abc".to_vec(),
        };
        let last = Piece::Part {
            number: 8,
            is_last: true,
            bytes: vec![],
        };
        for piece in [
            part,
            last,
            Piece::Waiting,
            Piece::End,
            Piece::Unknown,
            Piece::NotKept,
        ] {
            assert_eq!(Piece::from_bytes(&piece.to_bytes()), Some(piece));
        }
        assert_eq!(
            (
                Piece::from_bytes(&[]),
                Piece::from_bytes(&[0, 1]),
                Piece::from_bytes(&[9])
            ),
            (None, None, None)
        );
    }

    #[test]
    fn a_long_answer_is_split_between_characters() {
        let text = "ä".repeat(ANSWER_PART);
        let parts = split_answer(SessionKey::of("a"), "1", &Err(text.clone()));
        let mut joined = String::new();
        for (n, part) in parts.iter().enumerate() {
            let Content::Answer {
                part,
                is_last,
                is_error: true,
                ..
            } = part
            else {
                panic!("{part:?}")
            };
            assert_eq!(*is_last, n + 1 == parts.len());
            joined += part;
        }
        assert!(joined == text && parts.len() > 1);
        assert_eq!(
            split_answer(SessionKey::of("a"), "1", &Ok(String::new())).len(),
            1
        );
    }
}
