//! The budget for ended request streams, over all sessions. Streams are kept for a limited time and up to a limited
//! number of bytes, for clients that missed the end. The oldest streams are discarded first.

use std::collections::VecDeque;
use std::sync::Weak;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use crate::outgoing::waiting_bytes::charge_to_first;
use larder_model::resource::Caller;
use larder_runtime::memory_budget::{MemoryBudget, MemoryCharge, MemoryUse};

/// Maximum number of retained bytes, over all sessions.
const MAX_BYTES: usize = 16 << 20;
/// Estimated cost of a stream in addition to its messages, in bytes.
const STREAM_OVERHEAD: usize = 512;
/// How long an ended stream is retained. Clients reconnect within seconds.
const RETENTION: Duration = Duration::from_secs(60);

/// A stream that is retained and can be discarded.
pub(super) trait RetainedStream: Send + Sync {
    /// Discards the retained messages, as soon as the stream is not used.
    fn expire(&self);
}

/// The ended streams of all sessions, with their total size.
pub(crate) struct ReplayBudget {
    state: Mutex<State>,
    memory: MemoryBudget,
}

#[derive(Default)]
struct State {
    /// Total of `streams`. It includes streams whose session has ended: these streams are removed when they expire.
    bytes: usize,
    streams: VecDeque<EndedStream>,
}

struct EndedStream {
    stream: Weak<dyn RetainedStream>,
    bytes: usize,
    ended_at: Instant,
    _charge: MemoryCharge,
}

impl ReplayBudget {
    /// Charges the streams to this budget.
    pub(crate) fn new(memory: MemoryBudget) -> Self {
        Self {
            state: Mutex::default(),
            memory,
        }
    }

    /// Adds an ended stream of this caller, which retains this many bytes. If there is no memory for the stream, it is
    /// discarded at once.
    pub(super) fn add(&self, stream: Weak<dyn RetainedStream>, bytes: usize, caller: &Caller) {
        let bytes = bytes + STREAM_OVERHEAD;
        let ended_at = Instant::now();
        let charge = charge_to_first(&self.memory, MemoryUse::Replay, caller, bytes);
        let Ok(charge) = charge else {
            if let Some(stream) = stream.upgrade() {
                stream.expire();
            }
            return;
        };
        let mut state = self.lock();
        state.bytes += bytes;
        state.streams.push_back(EndedStream {
            stream,
            bytes,
            ended_at,
            _charge: charge,
        });
        state.trim(ended_at);
    }

    /// Discards expired streams.
    pub(crate) fn sweep(&self) {
        self.lock().trim(Instant::now());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    fn trim(&mut self, now: Instant) {
        while let Some(oldest) = self.streams.front() {
            if self.bytes <= MAX_BYTES && now.saturating_duration_since(oldest.ended_at) < RETENTION
            {
                return;
            }
            self.bytes -= oldest.bytes;
            if let Some(stream) = oldest.stream.upgrade() {
                stream.expire();
            }
            self.streams.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::request_stream::RequestStream;
    use super::super::request_stream::tests::stream;
    use super::*;

    impl Default for ReplayBudget {
        fn default() -> Self {
            Self::new(MemoryBudget::unlimited())
        }
    }

    fn ended(budget: &Arc<ReplayBudget>, bytes: usize) -> Arc<RequestStream> {
        let stream = stream(budget);
        stream.push_response(vec![b'x'; bytes]);
        stream.end();
        stream
    }

    #[test]
    fn limits_bytes_and_retention() {
        let budget = Arc::<ReplayBudget>::default();
        let streams: Vec<_> = (0..1_000).map(|_| ended(&budget, 32 << 10)).collect();
        let kept = streams
            .iter()
            .filter(|stream| !stream.is_discarded())
            .count();
        assert!(kept > 100 && kept * (32 << 10) <= MAX_BYTES, "{kept}");
        assert!(streams[0].is_discarded() && !streams[999].is_discarded());
        budget.sweep();
        assert!(!streams[999].is_discarded());
        budget.lock().trim(Instant::now() + RETENTION);
        assert!(streams[999].is_discarded());
        let state = budget.lock();
        assert_eq!((state.bytes, state.streams.len()), (0, 0));
    }

    #[tokio::test]
    async fn keeps_a_stream_while_it_is_read() {
        let budget = Arc::<ReplayBudget>::default();
        let stream = ended(&budget, 8);
        let mut reader = RequestStream::subscribe(&stream, 0).unwrap();
        budget.lock().trim(Instant::now() + RETENTION);
        assert!(!stream.is_discarded());
        assert_eq!(reader.next().await.unwrap().1.len(), 8);
        drop(reader);
        assert!(stream.is_discarded());
    }
}
