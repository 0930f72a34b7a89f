//! The event stream of one request: progress notifications and the response. They are kept while the request runs and
//! for a while after its end. Only the newest progress notifications are kept, and the response is only kept if it is
//! small: a client that reconnects too late for a large response is told to send the request again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::budget::{ReplayBudget, RetainedStream};
use crate::outgoing::waiting_bytes::SharedResponse;
use crate::wire::error_message::error;
use crate::wire::message::Id;
use crate::wire::rpc_error::{INTERNAL_ERROR, RpcError};
use larder_model::resource::Caller;

/// Maximum number of retained progress notifications. A newer notification replaces the older ones.
const MAX_PROGRESS: usize = 16;
/// Maximum size in bytes of a response that is retained without a reader.
const MAX_RETAINED_RESPONSE: usize = 64 << 10;
/// A stream is abandoned if it was not read for this time. Clients reconnect within seconds.
const ABANDONED_AFTER: Duration = Duration::from_secs(15);

/// The event stream of one request.
pub(crate) struct RequestStream {
    number: u64,
    request: Id,
    caller: Caller,
    state: Mutex<StreamState>,
    changed: Notify,
    budget: Arc<ReplayBudget>,
}

#[derive(Default)]
struct StreamState {
    last: u64,
    progress: VecDeque<(u64, Bytes)>,
    response: Option<(u64, SharedResponse)>,
    ended: bool,
    /// The retention time is over, or the replay budget was exceeded.
    expired: bool,
    reader: Option<CancellationToken>,
}

/// The reader of a stream. A new reader replaces the previous one.
pub(crate) struct StreamReader {
    stream: Arc<RequestStream>,
    last: u64,
    token: CancellationToken,
}

impl RequestStream {
    pub(super) fn new(number: u64, request: Id, caller: Caller, budget: Arc<ReplayBudget>) -> Self {
        Self {
            number,
            request,
            caller,
            state: Mutex::default(),
            changed: Notify::new(),
            budget,
        }
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn belongs_to(&self, caller: &Caller) -> bool {
        self.caller == *caller
    }

    pub(super) fn has_ended(&self) -> bool {
        self.lock().ended
    }

    pub(crate) fn push_message(&self, progress: Vec<u8>) {
        let mut state = self.lock();
        state.last += 1;
        let numbered = (state.last, progress.into());
        state.progress.push_back(numbered);
        if state.progress.len() > MAX_PROGRESS {
            state.progress.pop_front();
        }
        drop(state);
        self.changed.notify_waiters();
    }

    pub(crate) fn push_response(&self, response: impl Into<SharedResponse>) {
        let mut state = self.lock();
        state.last += 1;
        state.response = Some((state.last, response.into()));
        if state.reader.is_none() {
            self.drop_large_response(&mut state);
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Marks the stream as ended and adds it to the replay budget.
    pub(crate) fn end(self: &Arc<Self>) {
        let mut state = self.lock();
        state.ended = true;
        let bytes = state.retained_bytes();
        drop(state);
        self.changed.notify_waiters();
        let stream = Arc::downgrade(self);
        self.budget.add(stream, bytes, &self.caller);
    }

    /// Waits until the stream was not read for a while. Cancel-safe.
    pub(crate) async fn abandoned(&self) {
        loop {
            let mut notified = std::pin::pin!(self.changed.notified());
            notified.as_mut().enable();
            let has_reader = self.lock().reader.is_some();
            tokio::select! {
                () = notified => {}
                () = tokio::time::sleep(ABANDONED_AFTER), if !has_reader => return,
            }
        }
    }

    /// Whether the messages are discarded.
    pub(super) fn is_discarded(&self) -> bool {
        let state = self.lock();
        state.expired && state.reader.is_none()
    }

    /// Returns a reader for the events after `last`. `None` if the event `last` did not exist.
    pub(crate) fn subscribe(stream: &Arc<Self>, last: u64) -> Option<StreamReader> {
        let mut state = stream.lock();
        if last > state.last {
            return None;
        }
        let token = CancellationToken::new();
        if let Some(previous) = state.reader.replace(token.clone()) {
            previous.cancel();
        }
        drop(state);
        stream.changed.notify_waiters();
        Some(StreamReader {
            stream: stream.clone(),
            last,
            token,
        })
    }

    fn drop_large_response(&self, state: &mut StreamState) {
        if let Some((_, response)) = state
            .response
            .as_mut()
            .filter(|(_, response)| response.len() > MAX_RETAINED_RESPONSE)
        {
            let dropped = RpcError::new(
                INTERNAL_ERROR,
                "the response was too large to be kept: send the request again",
            );
            *response = error(Some(&self.request), &dropped).into();
        }
    }

    fn lock(&self) -> MutexGuard<'_, StreamState> {
        self.state.lock()
    }
}

impl RetainedStream for RequestStream {
    /// Discards the messages. If the stream has a reader, they are discarded when the reader is dropped.
    fn expire(&self) {
        let mut state = self.lock();
        state.expired = true;
        state.discard_if_expired();
    }
}

impl StreamState {
    fn after(&self, last: u64) -> Option<(u64, SharedResponse)> {
        let progress = self.progress.iter().find(|(number, _)| *number > last);
        let progress = progress.map(|(number, bytes)| (*number, bytes.clone().into()));
        progress.or_else(|| self.response.clone().filter(|(number, _)| *number > last))
    }

    /// Size of the messages that are retained without a reader.
    fn retained_bytes(&self) -> usize {
        let response = self
            .response
            .as_ref()
            .map_or(0, |(_, response)| response.len().min(MAX_RETAINED_RESPONSE));
        self.progress
            .iter()
            .map(|(_, progress)| progress.len())
            .sum::<usize>()
            + response
    }

    fn discard_if_expired(&mut self) {
        if self.expired && self.reader.is_none() {
            self.progress = VecDeque::new();
            self.response = None;
        }
    }
}

impl StreamReader {
    pub(crate) fn stream(&self) -> &RequestStream {
        &self.stream
    }

    /// The number of the last event that was read.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Whether the stream has ended and all events were read.
    pub(crate) fn is_finished(&self) -> bool {
        let state = self.stream.lock();
        state.ended && state.after(self.last).is_none()
    }

    /// Returns the next message with its number. `None` at the end, or when another reader replaced this reader.
    /// Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<(u64, SharedResponse)> {
        loop {
            let mut notified = std::pin::pin!(self.stream.changed.notified());
            notified.as_mut().enable();
            {
                let state = self.stream.lock();
                if self.token.is_cancelled() {
                    return None;
                }
                if let Some((number, message)) = state.after(self.last) {
                    self.last = number;
                    return Some((number, message));
                }
                if state.ended {
                    return None;
                }
            }
            tokio::select! {
                () = notified => {}
                () = self.token.cancelled() => {}
            }
        }
    }
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        let mut state = self.stream.lock();
        // A cancelled reader was replaced by a newer one.
        if !self.token.is_cancelled() {
            state.reader = None;
            self.stream.drop_large_response(&mut state);
            state.discard_if_expired();
        }
        drop(state);
        self.stream.changed.notify_waiters();
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::wire::raw_json::RawJson;
    use larder_model::name::Teams;

    pub(in super::super) fn stream(budget: &Arc<ReplayBudget>) -> Arc<RequestStream> {
        let caller = Caller {
            subject: None,
            issuer: None,
            teams: Teams::default_team(),
            scopes: vec![],
        };
        let request = Id::read(RawJson::read("7").unwrap()).unwrap();
        Arc::new(RequestStream::new(1, request, caller, budget.clone()))
    }

    async fn rest(mut reader: StreamReader) -> Vec<(u64, String)> {
        let mut all = vec![];
        while let Some((number, message)) = reader.next().await {
            let SharedResponse::Bytes(bytes) = message else {
                panic!("it was written")
            };
            all.push((number, String::from_utf8(bytes.into()).unwrap()));
        }
        all
    }

    #[tokio::test]
    async fn a_new_reader_gets_the_rest_and_replaces_the_old_one() {
        let stream = stream(&Arc::default());
        stream.push_message(b"a".to_vec());
        let mut first = RequestStream::subscribe(&stream, 0).unwrap();
        assert_eq!(first.next().await.unwrap().0, 1);
        let second = RequestStream::subscribe(&stream, 1).unwrap();
        assert!(
            first.next().await.is_none(),
            "a message goes to one stream only"
        );
        drop(first);
        stream.push_message(b"b".to_vec());
        stream.push_response(b"c".to_vec());
        stream.end();
        assert_eq!(rest(second).await, [(2, "b".into()), (3, "c".into())]);
        assert_eq!(
            rest(RequestStream::subscribe(&stream, 2).unwrap()).await,
            [(3, "c".into())]
        );
        assert!(RequestStream::subscribe(&stream, 4).is_none());
    }

    #[tokio::test]
    async fn a_large_response_is_only_for_the_current_reader() {
        let large = vec![b'x'; MAX_RETAINED_RESPONSE + 1];
        for has_reader in [true, false] {
            let stream = stream(&Arc::default());
            let reader = has_reader.then(|| RequestStream::subscribe(&stream, 0).unwrap());
            stream.push_response(large.clone());
            stream.end();
            if let Some(reader) = reader {
                assert_eq!(rest(reader).await[0].1.len(), large.len());
            }
            let late = rest(RequestStream::subscribe(&stream, 0).unwrap()).await;
            assert!(
                late[0].1.contains(r#""id":7"#) && late[0].1.contains("send the request again"),
                "{late:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_is_abandoned_when_nobody_has_read_it_for_a_while() {
        let stream = stream(&Arc::default());
        stream.push_message(b"a".to_vec());
        let is_abandoned = async |seconds| {
            tokio::time::timeout(Duration::from_secs(seconds), stream.abandoned())
                .await
                .is_ok()
        };
        let reader = RequestStream::subscribe(&stream, 0).unwrap();
        assert!(!is_abandoned(3_600).await);
        let leave_and_return = async {
            drop(reader);
            tokio::time::sleep(ABANDONED_AFTER / 2).await;
            RequestStream::subscribe(&stream, 1)
        };
        let (abandoned, reader) = tokio::join!(is_abandoned(3_600), leave_and_return);
        assert!(!abandoned);
        drop(reader);
        assert!(is_abandoned(20).await);
    }

    #[tokio::test]
    async fn keeps_only_the_newest_progress() {
        let stream = stream(&Arc::default());
        (0..100).for_each(|n| stream.push_message(vec![b'0' + n % 10]));
        stream.end();
        let kept = rest(RequestStream::subscribe(&stream, 0).unwrap()).await;
        assert_eq!((kept.len(), kept[15].0), (MAX_PROGRESS, 100));
    }
}
