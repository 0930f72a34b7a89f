//! Limits how many requests of a client run at the same time.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::method::Method;
use crate::Endpoint;
use crate::wire::rpc_error::RpcError;
use larder_model::resource::{Call, Caller};

/// How many requests of a client may run.
#[derive(Debug, Clone)]
pub(crate) enum ConcurrencyLimit {
    /// The quota of the caller's team. Surplus requests are rejected.
    Quota,
    /// The permits of a connection. Surplus requests wait.
    Connection(Arc<Semaphore>),
}

/// The right of one request to run. While a call waits for its client, it does not have this right.
pub(crate) struct RequestSlot {
    permit: RequestPermit,
    limit: ConcurrencyLimit,
    method: Method,
}

enum RequestPermit {
    Held {
        _permit: Option<OwnedSemaphorePermit>,
    },
    Waiting(Arc<Semaphore>),
}

impl ConcurrencyLimit {
    /// Acquires a permit of the quota, or returns the permit of the connection that the request must wait for.
    fn permit(
        &self,
        endpoint: &Endpoint,
        caller: &Caller,
        method: Method,
    ) -> Result<RequestPermit, RpcError> {
        let permit = match self {
            // A ping needs no permit, because it tells the client whether the server is alive.
            Self::Quota if method == Method::Ping => None,
            Self::Quota => endpoint
                .0
                .gateway
                .request_permit(caller)
                .map_err(RpcError::quota_exceeded)?,
            // These methods call no provider, so they do not wait for running requests.
            Self::Connection(_) if method.is_immediate() => None,
            Self::Connection(permits) => return Ok(RequestPermit::Waiting(permits.clone())),
        };
        Ok(RequestPermit::Held { _permit: permit })
    }

    /// Counts a further request of a batch. The transport has already counted the first request.
    pub(crate) fn admit(&self, endpoint: &Endpoint, caller: &Caller) -> Result<(), RpcError> {
        match self {
            Self::Quota => endpoint
                .0
                .gateway
                .admit(caller)
                .map_err(RpcError::quota_exceeded),
            Self::Connection(_) => Ok(()),
        }
    }
}

impl RequestSlot {
    /// Creates a slot without a permit.
    pub(crate) fn new(limit: ConcurrencyLimit, method: Method) -> Self {
        Self {
            permit: RequestPermit::Held { _permit: None },
            limit,
            method,
        }
    }

    /// Takes a permit, or the right to wait for a permit.
    pub(crate) fn take(&mut self, endpoint: &Endpoint, caller: &Caller) -> Result<(), RpcError> {
        self.permit = self.limit.permit(endpoint, caller, self.method)?;
        Ok(())
    }

    /// Waits until the request may run.
    pub(crate) async fn acquire(&mut self) {
        if let RequestPermit::Waiting(permits) = &self.permit {
            let permit = permits.clone().acquire_owned().await.ok();
            self.permit = RequestPermit::Held { _permit: permit };
        }
    }

    /// Gives the permit back.
    pub(crate) fn release(&mut self) {
        self.permit = RequestPermit::Held { _permit: None };
    }

    /// Takes a permit again, and waits until the request may run.
    pub(crate) async fn acquire_again(
        &mut self,
        endpoint: &Endpoint,
        call: &Call,
    ) -> Result<(), RpcError> {
        self.take(
            endpoint,
            call.caller.as_ref().unwrap_or(&endpoint.0.fixed.caller),
        )?;
        self.acquire().await;
        Ok(())
    }
}
