//! Response bodies: complete bytes, or a stream of frames that is polled as the client reads.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt as _, Stream, StreamExt as _};
use http_body::{Frame, SizeHint};

use super::connection::RequestGuard;
use super::waiting_bytes::{PIECE, Unsent};

/// An HTTP response.
pub(super) type Response = http::Response<Body>;

/// The body of a response. Dropping it marks its request as completed.
pub struct Body {
    kind: Kind,
    _guard: Option<RequestGuard>,
}

enum Kind {
    /// A complete body.
    Full(Bytes),
    /// A complete body that is large. Boxed, as the next one: they are rare, and each body is copied.
    Large(Box<Parts>),
    Stream(Box<FrameStream>),
}

/// A fast client could take a whole large response at once. Other requests are served each time when a burst was taken.
/// Bursts of a larger response are shorter, because the thread may write several of them in turn. A quarter
/// more CPU time is the price.
const BURST: usize = 1 << 20;
const SHORT_BURST: usize = 128 << 10;
/// From this size on, bursts are short.
const SHORT_BURSTS_FROM: usize = 4 << 20;

/// Parts that are sent one after another.
struct Parts {
    parts: VecDeque<Unsent>,
    burst: usize,
    /// Bytes that were taken since the other tasks of the thread could run.
    taken: usize,
    yielding: Option<BoxFuture<'static, ()>>,
}

struct FrameStream {
    frames: BoxStream<'static, StreamFrame>,
    /// The rest of the current frame.
    rest: Parts,
}

/// What a stream sends at once.
pub(super) enum StreamFrame {
    /// One small piece.
    Small(Vec<u8>),
    /// A large piece, and what precedes and follows it.
    Large(Vec<u8>, Unsent, &'static [u8]),
}

impl Parts {
    fn new(parts: VecDeque<Unsent>) -> Self {
        let bytes: usize = parts.iter().map(Unsent::len).sum();
        let burst = if bytes >= SHORT_BURSTS_FROM { SHORT_BURST } else { BURST };
        Self { parts, burst, taken: 0, yielding: None }
    }

    fn len(&self) -> usize {
        self.parts.iter().map(Unsent::len).sum()
    }

    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.taken >= self.burst {
            // Continues only after the thread has looked for other events. Waking the task would not ensure that.
            let yielding = self.yielding.get_or_insert_with(|| tokio::task::yield_now().boxed());
            ready!(yielding.poll_unpin(context));
            (self.taken, self.yielding) = (0, None);
        }
        let piece = self.next_piece();
        self.taken += piece.as_ref().map_or(0, Bytes::len);
        Poll::Ready(piece)
    }

    fn next_piece(&mut self) -> Option<Bytes> {
        loop {
            let piece = self.parts.front_mut()?.next_piece(self.burst.min(PIECE));
            if !piece.is_empty() {
                return Some(piece);
            }
            self.parts.pop_front();
        }
    }
}

impl Body {
    /// An empty body.
    pub(super) fn empty() -> Self {
        Kind::Full(Bytes::new()).into()
    }

    /// A body of several parts.
    pub(super) fn of_parts(parts: impl IntoIterator<Item = Unsent>) -> Self {
        Kind::Large(Box::new(Parts::new(parts.into_iter().collect()))).into()
    }

    /// Attaches the guard of the request that this body responds to.
    pub(super) fn with_guard(self, guard: RequestGuard) -> Self {
        Self { _guard: Some(guard), ..self }
    }

    /// A body that sends each frame as soon as it is available.
    pub(super) fn frames(frames: impl Stream<Item = StreamFrame> + Send + 'static) -> Self {
        Kind::Stream(Box::new(FrameStream { frames: frames.boxed(), rest: Parts::new(VecDeque::new()) }))
            .into()
    }
}

impl FrameStream {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(piece) = ready!(self.rest.poll_piece(context)) {
            return Poll::Ready(Some(piece));
        }
        Poll::Ready(match ready!(self.frames.poll_next_unpin(context)) {
            None => None,
            Some(StreamFrame::Small(bytes)) => Some(bytes.into()),
            Some(StreamFrame::Large(before, piece, after)) => {
                self.rest = Parts::new([piece, Bytes::from_static(after).into()].into());
                Some(before.into())
            }
        })
    }
}

impl From<Kind> for Body {
    fn from(kind: Kind) -> Self {
        Self { kind, _guard: None }
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Kind::Full(bytes.into()).into()
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = match &mut self.kind {
            Kind::Full(bytes) => Some(std::mem::take(bytes)).filter(|bytes| !bytes.is_empty()),
            Kind::Large(parts) => ready!(parts.poll_piece(context)),
            Kind::Stream(stream) => ready!(stream.poll_next(context)),
        };
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Full(bytes) => bytes.is_empty(),
            Kind::Large(parts) => parts.len() == 0,
            Kind::Stream(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Large(parts) => SizeHint::with_exact(parts.len() as u64),
            Kind::Stream(_) => SizeHint::default(),
        }
    }
}
