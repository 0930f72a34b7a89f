//! Which requests are answered at the same time. A request counts after its credential was accepted and its body has
//! arrived. So a client without a credential, or with an incomplete request, cannot block other clients.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest as _, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::access::Denial;
use super::response::overloaded;
use larder_runtime::connection_slots::ConnectionSlot;

/// How many connections may wait for metrics, the status or the API, whose responses can be large. The other
/// connections are reserved for health checks and logins.
const MAX_REPORTS: usize = 24;
/// Maximum time until the body of a request is complete.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// The permits for large responses. Clones share the same permits.
#[derive(Clone)]
pub(super) struct ReportPermits(Arc<Semaphore>);

impl Default for ReportPermits {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_REPORTS)))
    }
}

/// The connection of a request, as an extension of the request. Each connection has one request.
#[derive(Clone)]
pub(super) struct Connection(Arc<Inner>);

struct Inner {
    slot: ConnectionSlot,
    permits: ReportPermits,
    /// Held until the response was sent, which is the end of the connection.
    permit: OnceLock<OwnedSemaphorePermit>,
}

impl Connection {
    pub(super) fn new(slot: ConnectionSlot, permits: ReportPermits) -> Self {
        Self(Arc::new(Inner {
            slot,
            permits,
            permit: OnceLock::new(),
        }))
    }

    /// Takes a permit. Returns whether there was a permit.
    fn take_permit(&self) -> bool {
        let permit = self.0.permits.0.clone().try_acquire_owned();
        permit.is_ok_and(|permit| self.0.permit.set(permit).is_ok())
    }
}

/// From now on, the connection is not replaced, also if many other connections arrive.
pub(super) async fn prove_connection(request: Request, next: Next) -> Response {
    if let Some(connection) = request.extensions().get::<Connection>() {
        connection.0.slot.prove();
    }
    next.run(request).await
}

/// Takes a permit for a large response.
pub(super) async fn take_permit(request: Request, next: Next) -> Response {
    let has_permit = request
        .extensions()
        .get::<Connection>()
        .is_some_and(Connection::take_permit);
    if has_permit {
        next.run(request).await
    } else {
        overloaded()
    }
}

/// Reads the whole body, so that no later step waits for the client.
pub(super) async fn read_body(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let whole = Bytes::from_request(Request::from_parts(parts.clone(), body), &());
    match timeout(BODY_TIMEOUT, whole).await {
        Ok(Ok(body)) => next.run(Request::from_parts(parts, Body::from(body))).await,
        Ok(Err(rejection)) => rejection.into_response(),
        Err(_) => body_timeout().json(&[]),
    }
}

fn body_timeout() -> Denial {
    let seconds = BODY_TIMEOUT.as_secs();
    let message = format!("the body did not arrive within {seconds} s");
    Denial::new(StatusCode::REQUEST_TIMEOUT, "timeout", message)
}
