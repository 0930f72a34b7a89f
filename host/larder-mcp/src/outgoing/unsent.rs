//! The rest of a response that is being sent, in pieces.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::charged_bytes::charged;
use super::deferred::{LARGE, SLOW, UnsentContents};
use super::waiting_bytes::{ChargedResponse, PIECE, SharedResponse};
use larder_runtime::memory_budget::MemoryCharge;

/// A fast client could receive a whole large response at once. Therefore other requests are served after each burst.
/// Bursts of a larger response are shorter, because the thread may write several such responses in turn. Shorter bursts
/// take a quarter more CPU time.
const BURST: usize = 1 << 20;
const SHORT_BURST: usize = 128 << 10;
/// Responses of at least this size are sent in short bursts.
const SHORT_BURSTS_FROM: usize = 4 << 20;

/// Parts of a response that are sent one after another.
pub(crate) struct UnsentParts {
    parts: VecDeque<Unsent>,
    burst: usize,
    /// Bytes that were sent since other tasks of the thread could run.
    taken: usize,
    yielding: Option<BoxFuture<'static, ()>>,
}

/// A message that is sent at once or in pieces.
pub(crate) enum UnsentMessage {
    Small(Vec<u8>),
    Large(UnsentParts),
}

/// One part.
pub(crate) enum Unsent {
    Bytes(UnsentBytes),
    Contents(Box<UnsentContents>),
}

/// The rest of some bytes. The memory of sent bytes is released step by step.
#[derive(Debug)]
pub(crate) struct UnsentBytes {
    rest: Bytes,
    /// The size of the allocation that contains `rest`, and a charge of no bytes for the same caller. `None` if the
    /// allocation is shared or not charged.
    allocation: Option<(usize, Box<MemoryCharge>)>,
    began: Instant,
}

impl UnsentParts {
    pub(crate) fn new(parts: impl IntoIterator<Item = Unsent>) -> Self {
        let mut unsent = Self {
            parts: parts.into_iter().collect(),
            burst: BURST,
            taken: 0,
            yielding: None,
        };
        if unsent.len() >= SHORT_BURSTS_FROM {
            unsent.burst = SHORT_BURST;
        }
        unsent
    }

    /// The number of bytes that were not taken yet.
    pub(crate) fn len(&self) -> usize {
        self.parts.iter().map(Unsent::len).sum()
    }

    /// Takes the next piece. Returns none at the end.
    pub(crate) fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.taken >= self.burst {
            // Continues only after the thread has checked for other events. Waking the task would not guarantee that.
            let yielding = self
                .yielding
                .get_or_insert_with(|| tokio::task::yield_now().boxed());
            ready!(yielding.poll_unpin(context));
            self.taken = 0;
            self.yielding = None;
        }
        while let Some(part) = self.parts.front_mut() {
            let piece = ready!(part.poll_piece(self.burst.min(PIECE), context));
            if !piece.is_empty() {
                self.taken += piece.len();
                return Poll::Ready(Some(piece));
            }
            self.parts.pop_front();
        }
        Poll::Ready(None)
    }

    /// Like [`Self::poll_piece`]. Cancel-safe.
    pub(crate) async fn next_piece(&mut self) -> Option<Bytes> {
        poll_fn(|context| self.poll_piece(context)).await
    }
}

impl Unsent {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Contents(contents) => contents.len(),
        }
    }

    /// Takes the next piece of at most `max` bytes; empty at the end.
    fn poll_piece(&mut self, max: usize, context: &mut Context<'_>) -> Poll<Bytes> {
        match self {
            Self::Bytes(bytes) => Poll::Ready(bytes.next_piece(max)),
            Self::Contents(contents) => contents.poll_piece(max, context),
        }
    }
}

impl From<ChargedResponse> for Unsent {
    fn from(response: ChargedResponse) -> Self {
        match response.deferred {
            Some(deferred) => Self::Contents(Box::new(UnsentContents::new(*deferred))),
            None => Self::Bytes(response.into()),
        }
    }
}

impl From<SharedResponse> for Unsent {
    fn from(response: SharedResponse) -> Self {
        match response {
            SharedResponse::Bytes(bytes) => bytes.into(),
            SharedResponse::Deferred(deferred) => {
                Self::Contents(Box::new(UnsentContents::shared(*deferred)))
            }
        }
    }
}

impl From<Bytes> for Unsent {
    /// Bytes that others may also hold.
    fn from(rest: Bytes) -> Self {
        Self::Bytes(UnsentBytes {
            rest,
            allocation: None,
            began: Instant::now(),
        })
    }
}

impl From<Vec<u8>> for UnsentMessage {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Small(bytes)
    }
}

impl From<ChargedResponse> for UnsentMessage {
    fn from(response: ChargedResponse) -> Self {
        if response.is_large() {
            Self::Large(UnsentParts::new([response.into()]))
        } else {
            Self::Small(response.bytes)
        }
    }
}

impl From<Vec<ChargedResponse>> for UnsentMessage {
    /// A message in several parts.
    fn from(parts: Vec<ChargedResponse>) -> Self {
        if parts.iter().any(ChargedResponse::is_large) {
            Self::Large(UnsentParts::new(parts.into_iter().map(Unsent::from)))
        } else {
            Self::Small(
                parts
                    .iter()
                    .map(|part| part.bytes.as_slice())
                    .collect::<Vec<_>>()
                    .concat(),
            )
        }
    }
}

impl From<ChargedResponse> for UnsentBytes {
    fn from(response: ChargedResponse) -> Self {
        let allocation = match &response.charge {
            Some(charge) if response.bytes.len() >= LARGE => {
                Some((response.bytes.capacity(), Box::new(charge.begin_another())))
            }
            _ => None,
        };
        Self {
            rest: charged(response.bytes, response.charge),
            allocation,
            began: Instant::now(),
        }
    }
}

impl UnsentBytes {
    fn len(&self) -> usize {
        self.rest.len()
    }

    fn next_piece(&mut self, max: usize) -> Bytes {
        self.free_sent_half();
        self.rest.split_to(self.rest.len().min(max))
    }

    /// Moves the rest to an allocation of its own if the move frees half of the memory. The copies of a response
    /// together are at most as large as the response. The old allocation is charged until its last piece was sent. If
    /// both allocations do not fit into the budget, the old allocation stays.
    fn free_sent_half(&mut self) {
        let Some((size, empty_charge)) = &mut self.allocation else {
            return;
        };
        let bytes = self.rest.len();
        let is_worth_it = *size >= LARGE && bytes <= *size / 2 && self.began.elapsed() >= SLOW;
        let mut charge = Box::new(empty_charge.begin_another());
        if !is_worth_it || charge.grow_again(bytes as u64).is_err() {
            return;
        }
        *size = bytes;
        self.rest = charged(self.rest.to_vec(), Some(charge));
    }
}

#[cfg(test)]
mod tests {
    use super::super::waiting_bytes::WaitingBytes;
    use super::*;
    use larder_model::name::Teams;
    use larder_model::resource::Caller;
    use larder_runtime::memory_budget::MemoryBudget;

    #[test]
    fn bytes_are_released_as_they_are_sent() {
        let waiting = WaitingBytes::new(&MemoryBudget::new(32 << 20), 16 << 20);
        let caller = Caller {
            subject: None,
            issuer: None,
            teams: Teams::default_team(),
            scopes: vec![],
        };
        let whole: Vec<u8> = (0..8 << 20).map(|n: u32| n as u8).collect();
        let charge = Some(Box::new(waiting.charge(&caller, whole.len()).unwrap()));
        let mut unsent = UnsentBytes::from(ChargedResponse {
            charge,
            ..whole.clone().into()
        });
        unsent.began = Instant::now().checked_sub(SLOW).unwrap();
        let mut sent = Vec::new();
        while unsent.len() > 0 {
            let total = waiting.total() as usize;
            let unsent_bytes = unsent.len();
            assert!(total >= unsent_bytes, "{total} of {unsent_bytes}");
            assert!(
                total <= 2 * unsent_bytes + LARGE,
                "{total} of {unsent_bytes}"
            );
            sent.extend_from_slice(&unsent.next_piece(PIECE));
        }
        assert!(sent == whole && unsent.next_piece(PIECE).is_empty());
        drop(unsent);
        assert_eq!(waiting.total(), 0);
    }
}
