//! The state of one connection: its client, its requests, and its slot.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use larder_runtime::connection_slots::ConnectionSlot;
use larder_runtime::listener::ClientAddress;

/// The state of one connection. Clones share it.
#[derive(Clone)]
pub(crate) struct ConnectionState(Arc<Inner>);

struct Inner {
    client: ClientAddress,
    slot: ConnectionSlot,
    started: AtomicU64,
    active: AtomicU64,
}

impl ConnectionState {
    pub(crate) fn new(client: ClientAddress, slot: ConnectionSlot) -> Self {
        Self(Arc::new(Inner {
            client,
            slot,
            started: AtomicU64::new(0),
            active: AtomicU64::new(0),
        }))
    }

    pub(crate) fn client(&self) -> ClientAddress {
        self.0.client
    }

    /// Records that the client has sent a valid request.
    pub(crate) fn prove(&self) {
        self.0.slot.prove();
    }

    /// Whether the client has sent a valid request.
    pub(crate) fn is_proven(&self) -> bool {
        self.0.slot.is_proven()
    }

    /// Counts one more request.
    pub(super) fn begin(&self) -> RequestGuard {
        self.0.started.fetch_add(1, Ordering::Relaxed);
        self.0.active.fetch_add(1, Ordering::Relaxed);
        RequestGuard(self.clone())
    }

    /// The number of requests that were started.
    pub(super) fn started(&self) -> u64 {
        self.0.started.load(Ordering::Relaxed)
    }

    /// Whether a request is in flight.
    pub(super) fn has_requests(&self) -> bool {
        self.0.active.load(Ordering::Relaxed) > 0
    }
}

/// A request in flight. The guard is dropped when the last frame of the response was given to hyper.
pub(crate) struct RequestGuard(ConnectionState);

impl RequestGuard {
    pub(super) fn connection(&self) -> &ConnectionState {
        &self.0
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.0.active.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use larder_runtime::connection_slots::{ConnectionSlots, Source};

    /// A connection that has sent no request yet.
    pub(in super::super) fn new_connection() -> ConnectionState {
        let slot = ConnectionSlots::new(1, Default::default()).take(Source::UNIX_SOCKET);
        ConnectionState::new(
            ClientAddress::Unix {
                uid: None,
                pid: None,
            },
            slot.unwrap(),
        )
    }
}
