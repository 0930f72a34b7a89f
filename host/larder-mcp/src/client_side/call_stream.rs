//! The messages of a call in the order in which its client receives them: messages before the response, then one
//! response.

mod messages;

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::future::BoxFuture;

pub(crate) use self::messages::CallMessages;
use crate::outgoing::unsent::UnsentMessage;
use crate::outgoing::waiting_bytes::ChargedResponse;

/// A message of a call.
#[derive(Debug)]
pub(crate) enum StreamItem {
    /// A progress notification or a log message.
    Message(Vec<u8>),
    /// A request to the client. The call waits for the answer.
    Question(Vec<u8>),
    Response(ChargedResponse),
}

impl StreamItem {
    /// Returns the message in the form in which it is sent.
    pub(crate) fn into_message(self) -> UnsentMessage {
        match self {
            Self::Message(bytes) | Self::Question(bytes) => bytes.into(),
            Self::Response(response) => response.into(),
        }
    }
}

/// The messages of a running call.
pub(crate) struct CallStream {
    response: Option<BoxFuture<'static, Option<ChargedResponse>>>,
    ready: Option<ChargedResponse>,
    messages: CallMessages,
    pending: VecDeque<Vec<u8>>,
}

impl CallStream {
    /// The future resolves to `None` if the call is cancelled.
    pub(crate) fn new(
        messages: CallMessages,
        response: BoxFuture<'static, Option<ChargedResponse>>,
    ) -> Self {
        Self {
            response: Some(response),
            ready: None,
            messages,
            pending: VecDeque::new(),
        }
    }

    /// Returns the next message: first the messages of the call, then the response, and then `None`. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<StreamItem> {
        if let Some(response) = &mut self.response {
            let ready = tokio::select! {
                biased;
                Some(message) = self.messages.next() => return Some(message),
                ready = response => ready,
            };
            self.response = None;
            // A cancelled call sends no further messages.
            self.ready = ready;
            self.pending = if self.ready.is_some() {
                self.messages.drain()
            } else {
                VecDeque::new()
            };
        }
        let message = self.pending.pop_front().map(StreamItem::Message);
        message.or_else(|| self.ready.take().map(StreamItem::Response))
    }

    /// Makes requests to the client fail, including a request that waits for its answer.
    pub(crate) fn stop_asking(&mut self) {
        self.messages.drop_requests();
    }
}

/// Cancels a call on drop, so that work that is still running for the call ends.
pub(crate) struct CancelOnDrop(pub(crate) Arc<larder_model::resource::Call>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::fields::Fields;
    use larder_model::resource::Progress;

    fn progress_at(done: f64) -> Progress {
        Progress {
            done,
            total: Some(2.0),
            message: None,
        }
    }

    async fn all(mut call: CallStream) -> Vec<String> {
        let mut items = vec![];
        while let Some(item) = call.next().await {
            let UnsentMessage::Small(bytes) = item.into_message() else {
                panic!("it is small")
            };
            items.push(String::from_utf8(bytes).unwrap());
        }
        items
    }

    #[tokio::test]
    async fn progress_precedes_the_response_and_only_grows() {
        let meta = Fields::parse(r#"{"progressToken":"t"}"#).unwrap();
        let (progress, sender) = CallMessages::new(&meta).unwrap();
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
        let (progress, sender) = CallMessages::new(&meta).unwrap();
        let response = async move {
            sender.unwrap().send(progress_at(1.0)).await.unwrap();
            None
        };
        assert!(
            all(CallStream::new(progress, Box::pin(response)))
                .await
                .is_empty()
        );
    }

    #[test]
    fn rejects_a_token_that_is_no_string_or_integer() {
        for bad in [
            "{\"progressToken\":1.5}",
            "{\"progressToken\":{}}",
            "{\"progressToken\":true}",
        ] {
            assert!(
                CallMessages::new(&Fields::parse(bad).unwrap()).is_err(),
                "{bad}"
            );
        }
        assert!(
            !CallMessages::new(&Fields::default())
                .unwrap()
                .0
                .are_requested()
        );
    }
}
