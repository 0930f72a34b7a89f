//! The body of an upload, which is sent in small pieces so that its progress is known.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use larder_model::name::Digest;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE};
use reqwest::{Body, RequestBuilder, Response};
use tokio::sync::Notify;

use crate::Progress;

/// The size of a piece, in bytes.
const PIECE: usize = 64 << 10;

/// The body of an upload. The body can be sent again.
#[derive(Clone)]
pub(super) struct UploadBody {
    blob: Bytes,
    digest: Digest,
    progress: Arc<dyn Progress>,
}

impl std::fmt::Debug for UploadBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "sha256:{}", self.digest)
    }
}

impl UploadBody {
    pub(super) fn new(blob: Bytes, digest: Digest, progress: Arc<dyn Progress>) -> Self {
        Self {
            blob,
            digest,
            progress,
        }
    }

    /// Sends the request with this body. Returns `None` if no piece is accepted and no response arrives for the time in
    /// which the registry may send no bytes.
    pub(super) async fn send(
        &self,
        request: RequestBuilder,
        stall: Duration,
    ) -> Option<reqwest::Result<Response>> {
        let accepted = Arc::new(Notify::new());
        let request = request
            .header(CONTENT_TYPE, "application/octet-stream")
            // Not every registry accepts a body whose length is unknown.
            .header(CONTENT_LENGTH, self.blob.len())
            .body(self.pieces(accepted.clone()));
        let mut sent = pin!(request.send());
        loop {
            tokio::select! {
                response = &mut sent => return Some(response),
                () = accepted.notified() => {}
                () = tokio::time::sleep(stall) => return None,
            }
        }
    }

    /// Returns the pieces, and notifies `accepted` of each accepted piece.
    fn pieces(&self, accepted: Arc<Notify>) -> Body {
        let Self {
            digest, progress, ..
        } = self.clone();
        let mut rest = self.blob.clone();
        progress.started(&digest, rest.len() as u64);
        let next = move || {
            let piece = rest.split_to(rest.len().min(PIECE));
            progress.advanced(&digest, piece.len() as u64);
            accepted.notify_one();
            (!piece.is_empty()).then_some(Ok::<_, std::io::Error>(piece))
        };
        Body::wrap_stream(stream::iter(std::iter::from_fn(next)))
    }
}
