//! The state machines of the two protocol eras, which all transports share: `legacy` (with a handshake) and
//! `modern` (without). They take parsed messages and return accepted requests and streams of notifications.
//!
//! A transport only frames messages and stores the state of its clients. One with a stream of messages in each
//! direction implements `message_stream::Transport`, as stdio does. Streamable HTTP, where each message is an
//! exchange of its own, calls the eras directly and keeps the state of legacy clients in sessions.

mod accepted_request;
pub(super) mod legacy;
pub(super) mod message_stream;
pub(super) mod modern;
mod notifications;

use std::net::IpAddr;
use std::sync::Arc;

use http::HeaderMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Endpoint;
use super::cancellation::CancellableRequests;
use super::message::{Notification, Params};
use super::method::{self, Method};
use super::rpc_error::RpcError;
use larder_model::resource::{Call, Caller, Origin, RequestDetails};

pub(super) use accepted_request::AcceptedRequest;
pub(super) use notifications::{NotificationMessage, Notifications};

/// What an era needs to know about the sender of a message.
#[derive(Clone, Copy)]
pub(super) struct RequestContext<'a> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) caller: &'a Caller,
    /// The address of the client; none if it is not connected over TCP.
    pub(super) peer: Option<IpAddr>,
    /// The name of the credential.
    pub(super) token: Option<&'a Arc<str>>,
    /// What is collected for the request log; none if the request is not logged.
    pub(super) details: Option<&'a Arc<RequestDetails>>,
    /// The headers of the message, if the transport has any.
    pub(super) headers: Option<&'a HeaderMap>,
    pub(super) limit: &'a ConcurrencyLimit,
    /// The requests of the client that it can cancel by id. `None` if it cancels them by closing its
    /// connection.
    pub(super) in_flight: Option<&'a Arc<CancellableRequests>>,
}

impl RequestContext<'_> {
    /// Creates the call of a request.
    pub(super) fn new_call(&self, params: &Params<'_>) -> Result<Call, RpcError> {
        let mut call = method::new_call(params, self.caller.clone())?;
        let (token, request_details) = (self.token.cloned(), self.details.cloned());
        call.origin = Origin { peer: self.peer, token, request_details };
        Ok(call)
    }

    /// Handles a notification. Only cancellations have an effect.
    pub(super) fn handle_notification(&self, notification: &Notification<'_>) {
        if notification.method == "notifications/cancelled" {
            self.in_flight.into_iter().for_each(|requests| requests.cancel(&notification.params));
        }
    }
}

/// Limits how many requests of a client run at the same time.
#[derive(Debug, Clone)]
pub(super) enum ConcurrencyLimit {
    /// The quota of the caller's team. Surplus requests are rejected.
    Quota,
    /// The permits of a connection. Surplus requests wait.
    Connection(Arc<Semaphore>),
}

/// The permit of one request.
enum RequestPermit {
    Held { _permit: Option<OwnedSemaphorePermit> },
    Waiting(Arc<Semaphore>),
}

impl ConcurrencyLimit {
    /// Acquires a permit of the quota, or returns a permit of the connection to wait for.
    fn permit(
        &self,
        endpoint: &Endpoint,
        caller: &Caller,
        method: Method,
    ) -> Result<RequestPermit, RpcError> {
        let permit = match self {
            // A ping needs no permit: it tells the client whether the server is alive.
            Self::Quota if method == Method::Ping => None,
            Self::Quota => endpoint.0.gateway.request_permit(caller).map_err(RpcError::quota_exceeded)?,
            // These need no provider, so they do not wait for running requests.
            Self::Connection(_) if method.is_immediate() => None,
            Self::Connection(permits) => return Ok(RequestPermit::Waiting(permits.clone())),
        };
        Ok(RequestPermit::Held { _permit: permit })
    }

    /// Counts a further request of a batch. The transport has counted the first one.
    fn admit(&self, endpoint: &Endpoint, caller: &Caller) -> Result<(), RpcError> {
        match self {
            Self::Quota => endpoint.0.gateway.admit(caller).map_err(RpcError::quota_exceeded),
            Self::Connection(_) => Ok(()),
        }
    }
}

impl RequestPermit {
    /// Waits until the request may run.
    async fn acquire(&mut self) {
        if let Self::Waiting(permits) = self {
            *self = Self::Held { _permit: permits.clone().acquire_owned().await.ok() };
        }
    }
}
