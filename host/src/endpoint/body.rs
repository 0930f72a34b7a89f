//! Bodies of answers: a whole one goes out as it is, a stream frame by frame as its other side takes them.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _};
use http_body::{Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;

use super::turn::Turn;

/// An answer by HTTP.
pub(super) type Response = http::Response<Body>;

/// The body of an answer. With it ends the turn of its request.
pub struct Body {
    kind: Kind,
    _turn: Option<Turn>,
}

enum Kind {
    /// Bytes that wait for who reads them.
    Whole(Bytes),
    Frames(BoxStream<'static, Vec<u8>>),
}

impl Body {
    /// Nothing.
    pub(super) fn empty() -> Self {
        Kind::Whole(Bytes::new()).into()
    }

    /// How many bytes wait for who reads them, if that is known.
    pub(super) fn waiting(&self) -> usize {
        match &self.kind {
            Kind::Whole(bytes) => bytes.len(),
            Kind::Frames(_) => 0,
        }
    }

    /// Gives this back when the last of the bytes is gone.
    pub(super) fn holding(self, place: OwnedSemaphorePermit) -> Self {
        let kind = match self.kind {
            Kind::Whole(bytes) => Kind::Whole(Bytes::from_owner(Held { bytes, _place: place })),
            frames => frames,
        };
        Self { kind, ..self }
    }

    /// That of the answer to this request.
    pub(super) fn in_turn(self, turn: Turn) -> Self {
        Self { _turn: Some(turn), ..self }
    }

    /// Frame by frame, each as soon as it is there.
    pub(super) fn frames(frames: impl Stream<Item = Vec<u8>> + Send + 'static) -> Self {
        Kind::Frames(frames.boxed()).into()
    }
}

/// Bytes with their place among all that wait.
struct Held {
    bytes: Bytes,
    _place: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl From<Kind> for Body {
    fn from(kind: Kind) -> Self {
        Self { kind, _turn: None }
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Kind::Whole(bytes.into()).into()
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        waker: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.kind {
            Kind::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
            Kind::Frames(frames) => {
                frames.poll_next_unpin(waker).map(|frame| frame.map(|bytes| Ok(Frame::data(bytes.into()))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.kind, Kind::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Frames(_) => SizeHint::default(),
        }
    }
}
