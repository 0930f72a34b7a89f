//! Progress notifications, and the call that they belong to: some progress notifications, then one response.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use super::fields::Fields;
use super::json_writer::object;
use super::message::Id;
use super::rpc_error::{INVALID_PARAMS, RpcError};
use super::waiting_bytes::ChargedResponse;
use larder_model::resource::Progress;

/// Maximum number of progress reports that wait for a slow client. Further reports are dropped: the next one
/// supersedes them.
const QUEUE_CAPACITY: usize = 16;

/// Encodes the progress reports of one call as notifications.
#[derive(Debug)]
pub(super) struct ProgressNotifications(Option<ProgressReceiver>);

#[derive(Debug)]
struct ProgressReceiver {
    token: Id,
    events: mpsc::Receiver<Progress>,
    last: f64,
}

impl ProgressNotifications {
    /// Reads the progress token, if there is one, and returns the sender for the call's progress reports.
    pub(super) fn new(meta: &Fields<'_>) -> Result<(Self, Option<mpsc::Sender<Progress>>), RpcError> {
        let Some(raw) = meta.get("progressToken") else { return Ok((Self(None), None)) };
        let token = Id::read(raw).ok_or_else(|| {
            RpcError::new(INVALID_PARAMS, "`_meta.progressToken` must be a string or an integer")
        })?;
        let (sender, events) = mpsc::channel(QUEUE_CAPACITY);
        Ok((Self(Some(ProgressReceiver { token, events, last: f64::NEG_INFINITY })), Some(sender)))
    }

    pub(super) fn is_requested(&self) -> bool {
        self.0.is_some()
    }

    /// Waits for the next notification. Returns `None` when there are no more.
    async fn next(&mut self) -> Option<Vec<u8>> {
        let receiver = self.0.as_mut()?;
        loop {
            let progress = receiver.events.recv().await?;
            if let Some(bytes) = receiver.notification(&progress) {
                return Some(bytes);
            }
        }
    }

    /// Returns the pending notifications.
    fn drain(&mut self) -> VecDeque<Vec<u8>> {
        let Some(mut receiver) = self.0.take() else { return VecDeque::new() };
        let events = std::iter::from_fn(|| receiver.events.try_recv().ok()).collect::<Vec<_>>();
        events.iter().filter_map(|progress| receiver.notification(progress)).collect()
    }
}

impl ProgressReceiver {
    /// Encodes a report. The protocol requires that progress grows, so a report that does not is dropped.
    fn notification(&mut self, progress: &Progress) -> Option<Vec<u8>> {
        if !progress.done.is_finite() || progress.done <= self.last {
            return None;
        }
        self.last = progress.done;
        Some(object(|o| {
            o.text("jsonrpc", "2.0");
            o.text("method", "notifications/progress");
            o.object("params", |o| {
                o.json("progressToken", self.token.json());
                o.number("progress", progress.done);
                progress.total.into_iter().for_each(|total| o.number("total", total));
                o.optional_text("message", progress.message.as_deref());
            });
        }))
    }
}

/// A message of a call.
#[derive(Debug)]
pub(super) enum StreamItem {
    Progress(Vec<u8>),
    Response(ChargedResponse),
}

impl StreamItem {
    /// The bytes of the message. They are not charged any more.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Progress(bytes) => bytes,
            Self::Response(response) => response.bytes,
        }
    }
}

/// The messages of a running call.
pub(super) struct CallStream {
    response: Option<BoxFuture<'static, Option<ChargedResponse>>>,
    ready: Option<ChargedResponse>,
    progress: ProgressNotifications,
    pending: VecDeque<Vec<u8>>,
}

impl CallStream {
    /// The future resolves to `None` if the call is cancelled.
    pub(super) fn new(
        progress: ProgressNotifications,
        response: BoxFuture<'static, Option<ChargedResponse>>,
    ) -> Self {
        Self { response: Some(response), ready: None, progress, pending: VecDeque::new() }
    }

    /// Returns the next message: progress notifications, the response, and then `None`. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<StreamItem> {
        if let Some(response) = &mut self.response {
            let ready = tokio::select! {
                biased;
                Some(progress) = self.progress.next() => return Some(StreamItem::Progress(progress)),
                ready = response => ready,
            };
            self.response = None;
            // A cancelled call sends nothing more, including progress.
            self.ready = ready;
            self.pending = if self.ready.is_some() { self.progress.drain() } else { VecDeque::new() };
        }
        let progress = self.pending.pop_front().map(StreamItem::Progress);
        progress.or_else(|| self.ready.take().map(StreamItem::Response))
    }
}

/// Cancels a call on drop, so that work that still runs for it ends.
pub(super) struct CancelOnDrop(pub(super) Arc<larder_model::resource::Call>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress_at(done: f64) -> Progress {
        Progress { done, total: Some(2.0), message: None }
    }

    async fn all(mut call: CallStream) -> Vec<String> {
        let mut items = vec![];
        while let Some(item) = call.next().await {
            items.push(String::from_utf8(item.into_bytes()).unwrap());
        }
        items
    }

    #[tokio::test]
    async fn progress_precedes_the_response_and_only_grows() {
        let meta = Fields::parse(r#"{"progressToken":"t"}"#).unwrap();
        let (progress, sender) = ProgressNotifications::new(&meta).unwrap();
        let sender = sender.unwrap();
        let response = async move {
            for done in [1.0, 1.0, 0.5, f64::NAN, 2.0] {
                sender.send(progress_at(done)).await.unwrap();
            }
            Some(b"response".to_vec().into())
        };
        let notification = |n: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":"t","progress":{n},"total":2.0}}}}"#
            )
        };
        assert_eq!(
            all(CallStream::new(progress, Box::pin(response))).await,
            [notification("1.0"), notification("2.0"), "response".into()]
        );
    }

    #[tokio::test]
    async fn a_cancelled_call_sends_nothing() {
        let meta = Fields::parse(r#"{"progressToken":7}"#).unwrap();
        let (progress, sender) = ProgressNotifications::new(&meta).unwrap();
        let response = async move {
            sender.unwrap().send(progress_at(1.0)).await.unwrap();
            None
        };
        assert!(all(CallStream::new(progress, Box::pin(response))).await.is_empty());
    }

    #[test]
    fn rejects_a_token_that_is_no_string_or_integer() {
        for bad in ["{\"progressToken\":1.5}", "{\"progressToken\":{}}", "{\"progressToken\":true}"] {
            assert!(ProgressNotifications::new(&Fields::parse(bad).unwrap()).is_err(), "{bad}");
        }
        assert!(!ProgressNotifications::new(&Fields::default()).unwrap().0.is_requested());
    }
}
