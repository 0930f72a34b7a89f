//! The properties of a request's client that a response depends on.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::client_side::LegacyClientSide;
use super::message::Response;
use super::subscriptions::Subscriptions;

/// The client of a request.
#[derive(Clone)]
pub(super) enum Peer {
    Modern,
    Legacy(LegacyPeer),
    /// A legacy client before `initialize`, which may only send pings.
    Uninitialized,
}

/// A legacy client that has initialized.
#[derive(Clone)]
pub(super) struct LegacyPeer {
    pub(super) subscriptions: Arc<Subscriptions>,
    pub(super) side: Arc<LegacyClientSide>,
    /// Where requests to the client are sent during a call of a tool or a prompt.
    pub(super) stream: Option<mpsc::Sender<Vec<u8>>>,
}

impl Peer {
    /// Passes the answer to a request of the server on.
    pub(super) fn resolve(&self, response: &Response<'_>) {
        if let Self::Legacy(client) = self {
            // A batch also has other messages. The call that this message answers ends without an answer.
            _ = client.side.resolve(response);
        }
    }

    pub(super) fn is_modern(&self) -> bool {
        matches!(self, Self::Modern)
    }
}
