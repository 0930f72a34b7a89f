//! The properties of a request's client that a response depends on.

use std::sync::Arc;

use tokio::sync::mpsc;

use crate::client_side::{LegacyClientSide, client_capabilities};
use crate::subscribe::subscriptions::{SubscriptionStorage, Subscriptions};
use crate::wire::fields::Fields;
use crate::wire::message::Response;
use larder_model::interaction::shows_apps;

/// The client of a request.
#[derive(Clone)]
pub(crate) enum Peer {
    Modern,
    Legacy(LegacyPeer),
    /// A legacy client before `initialize`, which may only send pings.
    Uninitialized,
}

/// A legacy client that has initialized.
#[derive(Clone)]
pub(crate) struct LegacyPeer {
    pub(crate) subscriptions: Arc<Subscriptions>,
    /// None if the subscriptions are not stored.
    pub(crate) storage: Option<Arc<dyn SubscriptionStorage>>,
    pub(crate) side: Arc<LegacyClientSide>,
    /// Where requests to the client are sent during a call of a tool or a prompt.
    pub(crate) stream: Option<mpsc::Sender<Vec<u8>>>,
}

impl Peer {
    /// Passes the answer to a request of the server on.
    pub(crate) fn resolve(&self, response: &Response<'_>) {
        if let Self::Legacy(client) = self {
            // A batch also has other messages. The call that this message answers ends without an answer.
            client.side.resolve(response);
        }
    }

    /// Whether the client shows the pages of apps. A modern client says so in the metadata of each request.
    pub(crate) fn shows_apps(&self, meta: &Fields<'_>) -> bool {
        match self {
            Self::Modern => shows_apps(&client_capabilities(meta)),
            Self::Legacy(client) => client.side.shows_apps(),
            Self::Uninitialized => false,
        }
    }

    pub(crate) fn is_modern(&self) -> bool {
        matches!(self, Self::Modern)
    }
}
