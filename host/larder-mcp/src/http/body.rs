//! Response bodies: complete bytes, or a stream of frames that is polled as the client reads.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _};
use http_body::{Frame, SizeHint};

use super::connection::RequestGuard;
use crate::outgoing::unsent::{Unsent, UnsentParts};

/// An HTTP response.
pub(crate) type Response = http::Response<Body>;

/// The body of a response. Dropping it marks its request as completed.
pub struct Body {
    kind: Kind,
    _guard: Option<RequestGuard>,
}

enum Kind {
    /// A complete body.
    Full(Bytes),
    /// A complete body that is large. This variant and the next one are boxed: they are rare, and each body is copied.
    Large(Box<UnsentParts>),
    Stream(Box<FrameStream>),
}

struct FrameStream {
    frames: BoxStream<'static, StreamFrame>,
    /// The rest of the current frame.
    rest: UnsentParts,
}

/// What a stream sends in one frame.
pub(crate) enum StreamFrame {
    /// One small piece.
    Small(Vec<u8>),
    /// A large piece, with the bytes before and after it.
    Large(Vec<u8>, Unsent, &'static [u8]),
}

impl Body {
    /// An empty body.
    pub(crate) fn empty() -> Self {
        Kind::Full(Bytes::new()).into()
    }

    /// A body of several parts.
    pub(super) fn of_parts(parts: impl IntoIterator<Item = Unsent>) -> Self {
        Kind::Large(Box::new(UnsentParts::new(parts))).into()
    }

    /// Attaches the guard of the request that this body responds to.
    pub(super) fn with_guard(self, guard: RequestGuard) -> Self {
        Self {
            _guard: Some(guard),
            ..self
        }
    }

    /// A body that sends each frame as soon as it is available.
    pub(crate) fn frames(frames: impl Stream<Item = StreamFrame> + Send + 'static) -> Self {
        Kind::Stream(Box::new(FrameStream {
            frames: frames.boxed(),
            rest: UnsentParts::new([]),
        }))
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
                self.rest = UnsentParts::new([piece, Bytes::from_static(after).into()]);
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
