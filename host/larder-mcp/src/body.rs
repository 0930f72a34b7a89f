//! Response bodies: either complete bytes, or a stream of frames that is polled as the client reads.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _};
use http_body::{Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;

use super::in_flight::InFlightGuard;

/// An HTTP response.
pub(super) type Response = http::Response<Body>;

/// The body of a response. Dropping it marks its request as completed.
pub struct Body {
    kind: Kind,
    _guard: Option<InFlightGuard>,
}

enum Kind {
    /// A complete body.
    Full(Bytes),
    Frames(BoxStream<'static, Vec<u8>>),
}

impl Body {
    /// An empty body.
    pub(super) fn empty() -> Self {
        Kind::Full(Bytes::new()).into()
    }

    /// The number of buffered bytes; zero for a stream.
    pub(super) fn buffered_len(&self) -> usize {
        match &self.kind {
            Kind::Full(bytes) => bytes.len(),
            Kind::Frames(_) => 0,
        }
    }

    /// Holds this permit until the last of the bytes is dropped.
    pub(super) fn with_permit(self, permit: OwnedSemaphorePermit) -> Self {
        let kind = match self.kind {
            Kind::Full(bytes) => Kind::Full(Bytes::from_owner(PermittedBytes { bytes, _permit: permit })),
            frames => frames,
        };
        Self { kind, ..self }
    }

    /// Attaches the guard of the request that this body responds to.
    pub(super) fn with_guard(self, guard: InFlightGuard) -> Self {
        Self { _guard: Some(guard), ..self }
    }

    /// A body that sends each frame as soon as it is available.
    pub(super) fn frames(frames: impl Stream<Item = Vec<u8>> + Send + 'static) -> Self {
        Kind::Frames(frames.boxed()).into()
    }
}

/// Buffered bytes with the permit for them.
struct PermittedBytes {
    bytes: Bytes,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for PermittedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
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
        match &mut self.kind {
            Kind::Full(bytes) => {
                let bytes = std::mem::take(bytes);
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
            Kind::Frames(frames) => {
                frames.poll_next_unpin(context).map(|frame| frame.map(|bytes| Ok(Frame::data(bytes.into()))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.kind, Kind::Full(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Frames(_) => SizeHint::default(),
        }
    }
}
