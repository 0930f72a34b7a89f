//! A response whose large contents are encoded while it is sent, piece by piece, on threads of lower priority. The
//! response holds the contents instead of their JSON.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::charged_bytes::{charged, sharing_charge};
use super::output_chunk::{MAX_STEP, OutputChunk, chunks};
use crate::wire::held_contents::{BodySlots, HeldContents};
use crate::wire::output::Output;
use larder_runtime::low_priority_threads::{self, LowPriorityThreads};
use larder_runtime::memory_budget::MemoryCharge;

/// The size of an encoded piece. The allocator keeps blocks of up to 128 KiB for the next piece.
const PIECE: usize = 96 << 10;
/// Number of pieces that are encoded before they are sent: a change of threads takes about half as long as one piece.
const PIECES_AT_ONCE: usize = 2;
/// Maximum bytes of a response that are encoded and not sent. About 400 KiB of these bytes are in hyper, and the rest in
/// pieces that hyper has not taken yet.
pub(crate) const MAX_ENCODED: usize = 1 << 20;
/// Contents of at least this size are moved to a smaller allocation when half of them was sent, if that took at least
/// [`SLOW`]. A copy for a fast client would cost more than the memory is worth.
pub(crate) const LARGE: usize = 1 << 20;
pub(super) const SLOW: Duration = Duration::from_secs(1);

/// The response. A clone can send the response once more.
#[derive(Debug, Clone)]
pub(crate) struct DeferredResponse {
    chunks: VecDeque<OutputChunk>,
    len: usize,
    held: Weak<HeldContents>,
    pieces: Arc<MemoryCharge>,
    threads: Arc<LowPriorityThreads>,
}

impl DeferredResponse {
    /// Creates the response from its JSON and the places of the contents. This takes as long as a pass over the
    /// contents.
    pub(crate) fn new(json: Bytes, places: BodySlots, threads: Arc<LowPriorityThreads>) -> Self {
        let BodySlots { held, places } = places;
        let chunks = chunks(json, places);
        let len = chunks.iter().map(OutputChunk::encoded_len).sum();
        Self {
            chunks,
            len,
            held: Arc::downgrade(&held),
            pieces: held.pieces().clone(),
            threads,
        }
    }

    /// The number of bytes that are sent.
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

/// The rest of a response that is being sent.
pub(crate) struct UnsentContents {
    len: usize,
    /// The encoded pieces.
    ready: VecDeque<Bytes>,
    /// None while the next piece is encoded.
    encoder: Option<Box<Encoder>>,
    encoding: Option<BoxFuture<'static, (Box<Encoder>, VecDeque<Bytes>)>>,
    threads: Arc<LowPriorityThreads>,
}

struct Encoder {
    chunks: VecDeque<OutputChunk>,
    pieces: Arc<MemoryCharge>,
    /// None if the memory is freed only at the end.
    allocation: Option<Allocation>,
}

/// The memory of the contents that are not sent yet.
struct Allocation {
    bytes: usize,
    held: Weak<HeldContents>,
    /// A charge of no bytes for the same caller.
    empty_charge: Box<MemoryCharge>,
    began: Instant,
}

impl UnsentContents {
    /// Sends a response that is sent only once.
    pub(crate) fn new(response: DeferredResponse) -> Self {
        let allocation = response.held.upgrade().map(|held| Allocation {
            bytes: usize::try_from(held.charge().bytes()).unwrap_or(usize::MAX),
            held: response.held.clone(),
            empty_charge: Box::new(held.charge().begin_another()),
            began: Instant::now(),
        });
        Self::with_allocation(response, allocation)
    }

    /// Sends a response that may be sent again: the memory of the response is not released before.
    pub(crate) fn shared(response: DeferredResponse) -> Self {
        Self::with_allocation(response, None)
    }

    fn with_allocation(response: DeferredResponse, allocation: Option<Allocation>) -> Self {
        let encoder = Some(Box::new(Encoder {
            chunks: response.chunks,
            pieces: response.pieces,
            allocation,
        }));
        Self {
            len: response.len,
            ready: VecDeque::new(),
            encoder,
            encoding: None,
            threads: response.threads,
        }
    }

    /// The number of bytes that were not taken yet.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Takes the next piece of at most `max` bytes; empty at the end.
    pub(crate) fn poll_piece(&mut self, max: usize, context: &mut Context<'_>) -> Poll<Bytes> {
        if self.ready.is_empty() && self.len > 0 {
            self.ready = ready!(self.poll_encoded(context));
        }
        let Some(ready) = self.ready.front_mut() else {
            return Poll::Ready(Bytes::new());
        };
        let piece = ready.split_to(ready.len().min(max));
        if ready.is_empty() {
            self.ready.pop_front();
        }
        self.len = self.len.saturating_sub(piece.len());
        Poll::Ready(piece)
    }

    fn poll_encoded(&mut self, context: &mut Context<'_>) -> Poll<VecDeque<Bytes>> {
        if let Some(mut encoder) = self.encoder.take() {
            let threads = self.threads.clone();
            let work = move || {
                encoder.free_sent_half();
                let pieces = std::iter::from_fn(|| encoder.next_piece())
                    .take(PIECES_AT_ONCE)
                    .collect();
                (encoder, pieces)
            };
            self.encoding = Some(async move { threads.run(work).await }.boxed());
        }
        let Some(encoding) = &mut self.encoding else {
            return Poll::Ready(VecDeque::new());
        };
        let (encoder, pieces) = ready!(encoding.poll_unpin(context));
        self.encoder = Some(encoder);
        self.encoding = None;
        Poll::Ready(pieces)
    }
}

impl Drop for UnsentContents {
    /// Contents that were not sent completely are dropped on another thread, like contents that were sent.
    fn drop(&mut self) {
        if let Some(encoder) = self
            .encoder
            .take()
            .filter(|encoder| !encoder.chunks.is_empty())
        {
            self.threads.drop_there(encoder);
        }
    }
}

impl Encoder {
    /// Encodes the next piece. Returns none at the end.
    fn next_piece(&mut self) -> Option<Bytes> {
        low_priority_threads::pause();
        let mut out = Output::with_capacity(PIECE + MAX_STEP);
        while out.len() < PIECE
            && let Some(chunk) = self.chunks.front_mut()
        {
            chunk.write(&mut out, PIECE);
            if chunk.raw.is_empty() {
                self.chunks.pop_front();
            }
        }
        (!out.is_empty()).then(|| sharing_charge(std::mem::take(&mut *out), &self.pieces))
    }

    /// Moves the rest to an allocation of its own if the move frees half of the memory. All copies together are at most
    /// as large as the contents. If both allocations do not fit into the budget, the old allocation stays.
    fn free_sent_half(&mut self) {
        let Some(allocation) = &mut self.allocation else {
            return;
        };
        let rest: usize = self.chunks.iter().map(|chunk| chunk.raw.len()).sum();
        let is_worth_it = allocation.bytes >= LARGE && rest <= allocation.bytes / 2;
        if !is_worth_it || allocation.began.elapsed() < SLOW {
            return;
        }
        let mut charge = Box::new(allocation.empty_charge.begin_another());
        let is_shared = allocation
            .held
            .upgrade()
            .is_some_and(|held| held.is_shared());
        if is_shared || charge.grow_again(rest as u64).is_err() {
            return;
        }
        allocation.bytes = rest;
        let mut copy = Vec::with_capacity(rest);
        for chunk in &self.chunks {
            copy.extend_from_slice(&chunk.raw);
        }
        let mut copy = charged(copy, Some(charge));
        for chunk in &mut self.chunks {
            chunk.raw = copy.split_to(chunk.raw.len());
        }
    }
}

#[cfg(test)]
mod tests;
