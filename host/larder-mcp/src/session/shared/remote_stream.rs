//! The stream of a request that another replica runs or has run, read in pieces from that replica.

use std::sync::Arc;
use std::time::Duration;

use super::SharedSessions;
use super::message::{CallerText, Content, Piece, ReadRequest};
use super::readers::POLL_TIMEOUT;
use crate::session::store::{ReplicaName, RequestError};
use crate::session::{Session, random_id};
use crate::subscribe::replay::{NoStream, StreamPosition, replica_of};
use crate::wire::rpc_error::RpcError;
use larder_model::resource::Caller;

/// How long the other replica may take for a piece.
const TIMEOUT: Duration = POLL_TIMEOUT.saturating_mul(2);

/// The stream of a request of another replica.
pub(crate) struct RemoteStream {
    shared: Arc<SharedSessions>,
    replica: ReplicaName,
    request: ReadRequest,
}

/// An item that was read.
#[derive(Debug)]
pub(crate) enum RemoteItem {
    /// A piece of a message. The first piece has the number of the message.
    Piece {
        number: Option<u64>,
        is_last: bool,
        bytes: Vec<u8>,
    },
    /// The next message does not exist yet.
    Waiting,
    /// There are no more messages, or the other replica is gone.
    End,
}

impl RemoteStream {
    /// Finds the stream of a request. Also returns the pieces that exist already.
    pub(crate) async fn open(
        session: &Session,
        position: &StreamPosition,
        caller: &Caller,
    ) -> Result<(Self, RemoteItem), RpcError> {
        let found = session.link.get().and_then(|link| {
            let replica = ReplicaName::parse(replica_of(&position.run)?)?;
            (replica != *link.shared.store.replica()).then_some((link, replica))
        });
        let (link, replica) = found.ok_or(NoStream::NotKept)?;
        let request = ReadRequest {
            session: link.key.to_string(),
            run: position.run.clone(),
            stream: position.stream,
            reader: random_id()?,
            after: position.number,
            offset: 0,
            waits: false,
            caller: CallerText::of(caller),
        };
        let mut stream = Self {
            shared: link.shared.clone(),
            replica,
            request,
        };
        let first = match stream.read().await {
            Ok(Piece::Unknown) => return Err(NoStream::Unknown.into()),
            Ok(Piece::NotKept) | Err(RequestError::Gone) => return Err(NoStream::NotKept.into()),
            Err(RequestError::Unavailable(error)) => {
                stream.report(&error.to_string());
                return Err(RpcError::overloaded(
                    "the replica with the stream of `Last-Event-ID` cannot be reached",
                ));
            }
            Ok(piece) => stream.accept(piece),
        };
        stream.request.waits = true;
        Ok((stream, first))
    }

    fn report(&self, error: &str) {
        self.shared
            .report("read the stream of a request of another replica", error);
    }

    /// The number of the last complete message.
    pub(crate) fn last(&self) -> u64 {
        self.request.after
    }

    /// The id of an event of this stream.
    pub(crate) fn event_id(&self, session: &Session, number: u64) -> String {
        session
            .replay
            .ids()
            .format_in_run(&self.request.run, self.request.stream, number)
    }

    /// Returns the next piece. Cancel safe: a piece that was not received is read again.
    pub(crate) async fn next(&mut self) -> RemoteItem {
        match self.read().await {
            Ok(piece) => self.accept(piece),
            Err(error) => {
                self.report(&error.to_string());
                RemoteItem::End
            }
        }
    }

    async fn read(&self) -> Result<Piece, RequestError> {
        let unavailable = |why: &str| RequestError::Unavailable(super::Unavailable(why.to_owned()));
        let content = Content::Read(self.request.clone());
        let message = self.shared.seal_message(Some(&self.replica), content);
        let message = message.ok_or_else(|| unavailable("the request cannot be encrypted"))?;
        let reply =
            tokio::time::timeout(TIMEOUT, self.shared.store.request(&self.replica, message)).await;
        let reply = reply.map_err(|_| unavailable("there was no reply in time"))??;
        let piece = self
            .shared
            .open_reply(&reply)
            .and_then(|bytes| Piece::from_bytes(&bytes));
        piece.ok_or_else(|| unavailable("the reply cannot be read"))
    }

    fn accept(&mut self, piece: Piece) -> RemoteItem {
        match piece {
            Piece::Part {
                number,
                is_last,
                bytes,
            } => {
                let is_first = self.request.offset == 0;
                if is_last {
                    (self.request.after, self.request.offset) = (number, 0)
                } else {
                    self.request.offset += bytes.len() as u64
                }
                RemoteItem::Piece {
                    number: is_first.then_some(number),
                    is_last,
                    bytes,
                }
            }
            Piece::Waiting => RemoteItem::Waiting,
            Piece::End | Piece::Unknown | Piece::NotKept => RemoteItem::End,
        }
    }
}
