//! Readers of request streams at other replicas. Each reader is kept for a while between two pieces.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex as StdMutex;
use tokio::sync::Mutex;

use super::SharedSessions;
use super::message::{Piece, ReadRequest};
use crate::outgoing::unsent::UnsentParts;
use crate::session::store::SessionKey;
use crate::subscribe::replay::{NoStream, StreamReader};

/// How long a request for a piece waits for a message.
pub(super) const POLL_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an unused reader is kept. A client whose connection broke reconnects within seconds.
const KEPT_FOR: Duration = Duration::from_secs(10);
/// Maximum number of readers. Further streams cannot be read.
const MAX_READERS: usize = 1_024;

/// The readers at other replicas.
#[derive(Default)]
pub(super) struct RemoteReaders(StdMutex<HashMap<String, Entry>>);

struct Entry {
    reader: Arc<Mutex<RemoteReader>>,
    last_used: Instant,
}

/// A reader at another replica.
struct RemoteReader {
    reader: StreamReader,
    message: Option<PartialMessage>,
}

/// A message of which some pieces were sent.
struct PartialMessage {
    number: u64,
    rest: UnsentParts,
    /// The last piece with its position. The piece is sent again if it did not arrive.
    piece: Bytes,
    offset: u64,
}

impl RemoteReaders {
    /// Drops the unused readers.
    pub(super) fn sweep(&self) {
        let is_used = |entry: &Entry| {
            entry.last_used.elapsed() < KEPT_FOR || entry.reader.try_lock().is_err()
        };
        self.0.lock().retain(|_, entry| is_used(entry));
    }

    fn find(&self, name: &str) -> Option<Arc<Mutex<RemoteReader>>> {
        let mut readers = self.0.lock();
        let entry = readers.get_mut(name)?;
        entry.last_used = Instant::now();
        Some(entry.reader.clone())
    }

    fn insert(&self, name: &str, reader: StreamReader) -> Option<Arc<Mutex<RemoteReader>>> {
        let mut readers = self.0.lock();
        if readers.len() >= MAX_READERS {
            return None;
        }
        let reader = Arc::new(Mutex::new(RemoteReader {
            reader,
            message: None,
        }));
        readers.insert(
            name.to_owned(),
            Entry {
                reader: reader.clone(),
                last_used: Instant::now(),
            },
        );
        Some(reader)
    }

    fn remove(&self, name: &str) {
        self.0.lock().remove(name);
    }
}

impl SharedSessions {
    /// Reads the next piece of a stream for another replica.
    pub(super) async fn read_piece(&self, request: &ReadRequest) -> Piece {
        let reader = match self.find_reader(request) {
            Ok(reader) => reader,
            Err(NoStream::Unknown) => return Piece::Unknown,
            Err(NoStream::NotKept) => return Piece::NotKept,
        };
        let piece = reader.lock().await.read(request).await;
        match &piece {
            Piece::End => self.readers.remove(&request.reader),
            // The reader was in use until now.
            _ => _ = self.readers.find(&request.reader),
        }
        piece
    }

    fn find_reader(&self, request: &ReadRequest) -> Result<Arc<Mutex<RemoteReader>>, NoStream> {
        if let Some(reader) = self.readers.find(&request.reader) {
            return Ok(reader);
        }
        let session = SessionKey::parse(&request.session).and_then(|key| self.session(key));
        let session = session.ok_or(NoStream::NotKept)?;
        if session.replay.ids().run != request.run {
            return Err(NoStream::NotKept);
        }
        let caller = request.caller.caller().ok_or(NoStream::Unknown)?;
        let reader = session
            .replay
            .reader(request.stream, request.after, &caller)?;
        self.readers
            .insert(&request.reader, reader)
            .ok_or(NoStream::NotKept)
    }
}

impl RemoteReader {
    async fn read(&mut self, request: &ReadRequest) -> Piece {
        if let Some(message) = self
            .message
            .as_mut()
            .filter(|message| message.number > request.after)
        {
            return match message.piece_at(request.offset).await {
                Some(piece) => piece,
                None => Piece::NotKept,
            };
        }
        let timeout = if request.waits {
            POLL_TIMEOUT
        } else {
            Duration::ZERO
        };
        match tokio::time::timeout(timeout, self.reader.next()).await {
            Err(_) => Piece::Waiting,
            Ok(None) => Piece::End,
            Ok(Some((number, message))) => {
                let rest = UnsentParts::new([message.into()]);
                let piece = Bytes::new();
                let message = self.message.insert(PartialMessage {
                    number,
                    rest,
                    piece,
                    offset: 0,
                });
                message.piece_at(0).await.unwrap_or(Piece::NotKept)
            }
        }
    }
}

impl PartialMessage {
    /// Returns the piece at this position, which is the next piece, or the last piece again.
    async fn piece_at(&mut self, offset: u64) -> Option<Piece> {
        let next = self.offset + self.piece.len() as u64;
        if offset == next {
            self.piece = self.rest.next_piece().await.unwrap_or_default();
            self.offset = offset;
        }
        let number = self.number;
        let is_last = self.rest.len() == 0;
        (offset == self.offset).then(|| Piece::Part {
            number,
            is_last,
            bytes: self.piece.to_vec(),
        })
    }
}
