//! The check of a response body for a secret. The end of what has arrived is held until more arrives, because it can be
//! the beginning of the secret. Its length depends only on the length of the secret: otherwise a guest could find out
//! the secret from what is held.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http::HeaderMap;
use http_body_util::{BodyExt as _, StreamBody};

use super::secret_forms::SecretForms;

type Frame = http_body::Frame<Bytes>;
type FrameResult = Result<Frame, Box<dyn std::error::Error + Send + Sync>>;

/// The body of a response contains a secret.
#[derive(Debug, thiserror::Error)]
#[error("the response contains the secret `{0}`, which the host added to the request")]
pub(super) struct SecretInResponse(pub(super) String);

/// A body in which no form of a secret is passed on.
pub(super) struct BodyCheck<F> {
    body: reqwest::Body,
    forms: Arc<SecretForms>,
    held: BytesMut,
    trailers: Option<HeaderMap>,
    /// Called when the body contains the secret.
    on_secret: F,
    has_failed: bool,
}

impl<F: Fn() -> SecretInResponse + Send + Sync + 'static> BodyCheck<F> {
    pub(super) fn new(body: reqwest::Body, forms: Arc<SecretForms>, on_secret: F) -> Self {
        Self {
            body,
            forms,
            held: BytesMut::new(),
            trailers: None,
            on_secret,
            has_failed: false,
        }
    }

    pub(super) fn into_body(self) -> reqwest::Body {
        let frames = stream::unfold(self, |mut check| async move {
            let frame = check.next_frame().await?;
            check.has_failed = frame.is_err();
            Some((frame, check))
        });
        reqwest::Body::wrap(StreamBody::new(Box::pin(frames)))
    }

    async fn next_frame(&mut self) -> Option<FrameResult> {
        if self.has_failed {
            return None;
        }
        while let Some(frame) = self.body.frame().await {
            let frame = match frame {
                Ok(frame) => frame,
                // The URL can contain the secret.
                Err(error) => return Some(Err(error.without_url().into())),
            };
            match frame.into_data() {
                Ok(data) => match self.release(&data) {
                    Ok(checked) if checked.is_empty() => {}
                    Ok(checked) => return Some(Ok(Frame::data(checked))),
                    Err(error) => return Some(Err(error.into())),
                },
                Err(frame) => self.hold_trailers(frame),
            }
        }
        self.rest().map(Ok)
    }

    /// Adds data, and returns what cannot be the beginning of the secret.
    fn release(&mut self, data: &[u8]) -> Result<Bytes, SecretInResponse> {
        self.held.extend_from_slice(data);
        if self.forms.are_in(&self.held) {
            return Err((self.on_secret)());
        }
        let checked = (self.held.len() + 1).saturating_sub(self.forms.longest());
        Ok(self.held.split_to(checked).freeze())
    }

    fn hold_trailers(&mut self, frame: Frame) {
        if let Ok(mut trailers) = frame.into_trailers() {
            self.forms.redact_headers(&mut trailers);
            self.trailers = Some(trailers);
        }
    }

    /// Returns what was held when the body has ended.
    fn rest(&mut self) -> Option<Frame> {
        if self.held.is_empty() {
            return self.trailers.take().map(Frame::trailers);
        }
        Some(Frame::data(self.held.split().freeze()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "hush-hush-hush";

    /// Sends these pieces, and returns what arrives, and whether the body ended without an error.
    async fn pass(pieces: Vec<&'static str>) -> (String, bool) {
        let forms = Arc::new(SecretForms::new(SECRET, SECRET));
        let pieces = pieces.into_iter().map(Ok::<_, std::io::Error>);
        let body = reqwest::Body::wrap_stream(stream::iter(pieces));
        let on_secret = || SecretInResponse("token".to_owned());
        let mut body = BodyCheck::new(body, forms, on_secret).into_body();
        let mut text = String::new();
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else {
                assert!(body.frame().await.is_none());
                return (text, false);
            };
            text += str::from_utf8(&frame.into_data().unwrap()).unwrap();
        }
        (text, true)
    }

    #[tokio::test]
    async fn passes_a_body_without_the_secret() {
        for pieces in [
            vec![],
            vec!["hush-hush-"],
            vec![
                "a longer text before ",
                "hush-hush",
                "",
                "-hus",
                " and after",
            ],
        ] {
            assert_eq!(pass(pieces.clone()).await, (pieces.concat(), true));
        }
    }

    #[tokio::test]
    async fn passes_no_part_of_the_secret() {
        for pieces in [
            vec!["before hush-hush-hush after"],
            vec!["before hush", "-hush-", "hush"],
            vec!["before ", "h", "u", "s", "h", "-hush-hus", "h", " after"],
            vec!["aHVzaC1o", "dXNoLWh1c2g="],
        ] {
            let (text, is_complete) = pass(pieces.clone()).await;
            assert!(!is_complete, "{pieces:?}");
            assert!("before ".starts_with(&text), "{pieces:?}: {text}");
        }
    }

    #[tokio::test]
    async fn what_is_held_does_not_depend_on_the_secret() {
        let lengths = async |pieces: Vec<&'static str>| {
            let forms = Arc::new(SecretForms::new(SECRET, SECRET));
            let pieces = pieces.into_iter().map(Ok::<_, std::io::Error>);
            let body = reqwest::Body::wrap_stream(stream::iter(pieces));
            let on_secret = || SecretInResponse("token".to_owned());
            let mut body = BodyCheck::new(body, forms, on_secret).into_body();
            let mut lengths = Vec::new();
            while let Some(frame) = body.frame().await {
                lengths.push(frame.unwrap().into_data().unwrap().len());
            }
            lengths
        };
        let like_secret = lengths(vec!["a text that ends with hush-hush-hus", "X"]).await;
        let unlike = lengths(vec!["a text that ends with XXXXXXXXXXXXX", "X"]).await;
        assert_eq!(like_secret, unlike);
    }
}
