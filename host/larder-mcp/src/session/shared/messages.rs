//! Handles the messages of other replicas about sessions that are open on this replica.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::SharedSessions;
use super::message::{Content, Message};
use crate::session::Session;
use crate::session::store::{PeerMessage, ReplyAddress, SessionKey};
use crate::wire::message::Id;
use crate::wire::raw_json::RawJson;

/// Maximum number of bytes of incomplete answers.
const MAX_PARTIAL_BYTES: usize = 16 << 20;
/// The time within which all parts of an answer must arrive.
const PARTS_TIMEOUT: Duration = Duration::from_secs(30);

/// Answers of clients whose last part has not arrived.
#[derive(Default)]
pub(super) struct PartialAnswers {
    texts: HashMap<(SessionKey, String), (Instant, String)>,
    bytes: usize,
}

impl PartialAnswers {
    /// Adds a part. Returns the answer if all parts have arrived.
    fn add(&mut self, key: SessionKey, id: &str, part: String, is_last: bool) -> Option<String> {
        let entry = (key, id.to_owned());
        let whole = match self.texts.remove(&entry) {
            Some((_, text)) => {
                self.bytes -= text.len();
                text + &part
            }
            None => part,
        };
        if is_last {
            return Some(whole);
        }
        self.texts
            .retain(|_, (began, _)| began.elapsed() < PARTS_TIMEOUT);
        self.bytes = self.texts.values().map(|(_, text)| text.len()).sum();
        // If an answer exceeds the limit, its call ends without an answer.
        if self.bytes + whole.len() <= MAX_PARTIAL_BYTES {
            self.bytes += whole.len();
            self.texts.insert(entry, (Instant::now(), whole));
        }
        None
    }
}

impl SharedSessions {
    /// Handles the messages of other replicas while this future is polled.
    pub(super) async fn handle_messages(self: &Arc<Self>) {
        let mut answers = PartialAnswers::default();
        loop {
            let PeerMessage { content, reply } = self.store.next_message().await;
            match self.open_message(&content) {
                Some(message) => self.handle(message, reply, &mut answers),
                None => {
                    tracing::debug!(
                        "ignored a message that no replica with the same key sent to this one"
                    )
                }
            }
        }
    }

    fn handle(
        self: &Arc<Self>,
        message: Message,
        reply: Option<ReplyAddress>,
        answers: &mut PartialAnswers,
    ) {
        match message.content {
            Content::Answer {
                session,
                id,
                is_error,
                part,
                is_last,
            } => {
                let Some((key, session)) = self.named(&session) else {
                    return;
                };
                if let Some(whole) = answers.add(key, &id, part, is_last) {
                    let outcome = if is_error { Err(whole) } else { Ok(whole) };
                    // The answer was for this replica, so it is not passed on.
                    _ = session.client.side.requests.resolve(&id, outcome);
                }
            }
            Content::Cancel { session, id } => {
                let id = RawJson::read(&id).ok().and_then(Id::read);
                if let (Some((_, session)), Some(id)) = (self.named(&session), id) {
                    session.requests.cancel_here(&id);
                }
            }
            Content::Release { session, run } => {
                let shared = self.clone();
                let to = message.from;
                self.drain.spawn(async move {
                    shared.release(&session, &run).await;
                    shared.reply(reply, &to, Vec::new());
                });
            }
            Content::Read(request) => {
                let shared = self.clone();
                let to = message.from;
                self.drain.spawn(async move {
                    let piece = shared.read_piece(&request).await;
                    shared.reply(reply, &to, piece.to_bytes());
                });
            }
        }
    }

    fn named(&self, session: &str) -> Option<(SessionKey, Arc<Session>)> {
        let key = SessionKey::parse(session)?;
        Some((key, self.session(key)?))
    }

    /// The client continues at another replica. That replica waits until the whole state of the client is stored.
    async fn release(&self, session: &str, run: &str) {
        let Some((_, session)) = self.named(session) else {
            return;
        };
        let Some(link) = session
            .link
            .get()
            .filter(|_| session.replay.ids().run == run)
        else {
            return;
        };
        session.end_current_stream();
        link.recorder.write().await;
    }

    fn reply(&self, address: Option<ReplyAddress>, to: &str, bytes: Vec<u8>) {
        let sealed = address.and_then(|address| Some((address, self.seal_reply(to, bytes)?)));
        if let Some((address, sealed)) = sealed {
            self.store.reply(address, sealed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_complete_with_its_last_part() {
        let mut answers = PartialAnswers::default();
        let key = SessionKey::of("a");
        assert_eq!(answers.add(key, "1", "x".into(), false), None);
        assert_eq!(answers.add(key, "2", "y".into(), true), Some("y".into()));
        assert_eq!(answers.add(key, "1", "z".into(), true), Some("xz".into()));
        let large = "x".repeat(MAX_PARTIAL_BYTES);
        assert_eq!(answers.add(key, "3", large.clone(), false), None);
        assert_eq!(answers.add(key, "4", large, false), None);
        assert_eq!((answers.texts.len(), answers.bytes), (1, MAX_PARTIAL_BYTES));
    }
}
