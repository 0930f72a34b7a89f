//! The transport of a connection: Streamable HTTP, or one message per line.

use super::era::Era;
use super::error::ClientError;
use super::http::HttpTransport;
use super::lines::LineTransport;
use super::message::{ClientMessage, OnMessage, ServerMessage};

#[derive(Debug)]
pub(super) enum Transport {
    Http(HttpTransport),
    Lines(LineTransport),
}

impl Transport {
    /// Sends a request and waits for its answer. `on_message` receives the notifications that arrive before the answer.
    pub(super) async fn exchange(
        &mut self,
        request: &ClientMessage<'_>,
        era: Era,
        on_message: OnMessage<'_>,
    ) -> Result<ServerMessage, ClientError> {
        match self {
            Self::Http(http) => http.exchange(request, era, on_message).await,
            Self::Lines(lines) => lines.exchange(request, on_message).await,
        }
    }

    pub(super) async fn notify(
        &mut self,
        notification: &ClientMessage<'_>,
        era: Era,
    ) -> Result<(), ClientError> {
        match self {
            Self::Http(http) => http.notify(notification, era).await,
            Self::Lines(lines) => lines.send(&notification.body).await,
        }
    }
}
