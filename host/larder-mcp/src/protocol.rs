//! The state machines of the two protocol eras, which all transports share: `legacy` (with a handshake) and
//! `modern` (without). They take parsed messages and return accepted requests and streams of notifications.
//!
//! A transport only frames messages and stores the state of its clients. A transport with a stream of messages in each
//! direction implements `message_stream::Transport`; stdio is one. Streamable HTTP, where each message is an exchange
//! of its own, calls the eras directly and keeps the state of legacy clients in sessions. The eras use `dispatch`, and
//! what `dispatch` uses.

mod accepted_request;
pub(super) mod legacy;
pub(super) mod message_stream;
pub(super) mod modern;
mod notifications;
mod stdio;

use std::net::IpAddr;
use std::sync::Arc;

use crate::Endpoint;
use crate::client_side::cancellation::CancellableRequests;
use crate::era::method;
use crate::era::request_slot::ConcurrencyLimit;
use crate::wire::message::{Notification, Params};
use crate::wire::rpc_error::RpcError;
use http::HeaderMap;
use larder_model::resource::{Call, Caller, Origin, RequestDetails};

pub(super) use accepted_request::AcceptedRequest;
pub(super) use notifications::{NotificationMessage, Notifications};

/// The properties of a message's sender that an era uses.
#[derive(Clone, Copy)]
pub(super) struct RequestContext<'a> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) caller: &'a Caller,
    /// The address of the client; none if the client is not connected over TCP.
    pub(super) peer: Option<IpAddr>,
    /// The name of the credential.
    pub(super) token: Option<&'a Arc<str>>,
    /// The data that are collected for the request log; none if the request is not logged.
    pub(super) details: Option<&'a Arc<RequestDetails>>,
    /// The headers of the message, if the transport has headers.
    pub(super) headers: Option<&'a HeaderMap>,
    pub(super) limit: &'a ConcurrencyLimit,
    /// The requests that the client can cancel by id. `None` if it cancels them by closing its connection.
    pub(super) in_flight: Option<&'a Arc<CancellableRequests>>,
}

impl RequestContext<'_> {
    /// Creates the call of a request.
    pub(super) fn new_call(&self, params: &Params<'_>) -> Result<Call, RpcError> {
        let mut call = method::new_call(params, self.caller.clone())?;
        let token = self.token.cloned();
        let request_details = self.details.cloned();
        call.origin = Origin {
            peer: self.peer,
            token,
            operator: None,
            request_details,
        };
        Ok(call)
    }

    /// Handles a notification. Only cancellations have an effect.
    pub(super) fn handle_notification(&self, notification: &Notification<'_>) {
        if notification.method == "notifications/cancelled"
            && let Some(requests) = self.in_flight
        {
            requests.cancel(&notification.params);
        }
    }
}
