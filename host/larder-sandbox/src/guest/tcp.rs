//! What the host stores about the TCP connections of a guest: the addresses to which it can connect, the connections
//! with the resources that they hold, and the bytes that a call may still transfer.

mod attempt;
mod streams;

use std::collections::HashMap;
use std::future::ready;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use wasmtime_wasi::WasiCtxBuilder;
use wasmtime_wasi::sockets::SocketAddrUse;

pub(crate) use self::attempt::Attempt;
pub(crate) use self::streams::{ByteBudget, limit_streams};
use super::log::Log;
use crate::guest_config::{GuestConfig, Lease};
use crate::network::outgoing_tcp::{ConnectionPermits, OutgoingTcp, PinnedAddresses};
use crate::network::resolved_addresses::PrivateAddress;
use larder_runtime::memory_budget::{MemoryCharge, MemoryUse};
use larder_runtime::metrics::{ConnectOutcome, GaugeGuard};

/// How long connecting may take. A guest can use a shorter limit.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The memory that is charged for the buffers of a connection: 64 KiB for reading, 64 KiB for writing, and as much in
/// the system.
const CONNECTION_MEMORY: u64 = 256 << 10;

/// The connections of a guest.
pub(crate) struct GuestTcp {
    pub(crate) shared: Arc<OutgoingTcp>,
    pinned: Arc<Mutex<PinnedAddresses>>,
    /// By the index of the socket.
    sockets: HashMap<u32, Socket>,
    pub(crate) bytes: Arc<ByteBudget>,
}

/// The resources of a socket. A socket without a connection counts as a connection too, because it has a file
/// descriptor.
pub(crate) struct Socket {
    progress: Progress,
    _permits: ConnectionPermits,
    _memory: MemoryCharge,
    _open: GaugeGuard,
}

enum Progress {
    New,
    Connecting {
        attempt: Attempt,
        until: Instant,
    },
    /// The attempt took too long. The guest has not been told yet.
    TimedOut,
    /// Connected to this host and port.
    Connected(String),
}

/// Why the guest cannot get another socket.
pub(crate) enum Busy {
    /// The provider or its team has too many connections. The text says which of them.
    Connections(String),
    Memory,
}

impl GuestTcp {
    /// Returns `None` if TCP connections are not granted.
    pub(super) fn new(config: &GuestConfig, log: &Log) -> Option<Box<Self>> {
        let shared = config.outgoing_tcp.clone()?;
        let bytes = Arc::new(ByteBudget::new(config, log));
        Some(Box::new(Self {
            shared,
            pinned: Arc::default(),
            sockets: HashMap::new(),
            bytes,
        }))
    }

    /// Resets the limit of bytes for another call. The connections stay, and are recorded for that call.
    pub(super) fn begin_call(&mut self, lease: &Lease) {
        self.bytes.reset(lease.grant.limits.tcp_bytes);
        for socket in self.sockets.values() {
            if let Progress::Connected(to) = &socket.progress {
                lease.permit.call().connections.add(to, "kept");
            }
        }
    }

    /// Lets the guest connect to its pinned addresses. The host checks the addresses before it connects. This
    /// additional check of wasmtime-wasi ensures that other connections are impossible.
    pub(super) fn allow_connections(&self, wasi: &mut WasiCtxBuilder) {
        let pinned = self.pinned.clone();
        let shared = self.shared.clone();
        wasi.allow_tcp(true)
            .socket_addr_check(move |address, usage| {
                Box::pin(ready(match usage {
                    // The system chooses the local address of a connection.
                    SocketAddrUse::TcpBind => address.ip().is_unspecified() && address.port() == 0,
                    SocketAddrUse::TcpConnect => {
                        pinned.lock().target(shared.rules(), address).is_some()
                    }
                    _ => false,
                }))
            });
    }

    /// Adds the addresses of a name. Returns the addresses that may be reached.
    pub(crate) fn pin(
        &self,
        name: &str,
        found: Vec<SocketAddr>,
    ) -> Result<Vec<IpAddr>, PrivateAddress> {
        self.pinned.lock().pin(self.shared.rules(), name, found)
    }

    /// Returns the host and the port of an address that the guest can connect to.
    pub(crate) fn target(&self, address: SocketAddr) -> Option<String> {
        self.pinned.lock().target(self.shared.rules(), address)
    }

    /// Takes the resources for another socket.
    pub(crate) fn new_socket(&self, lease: &Lease) -> Result<Socket, Busy> {
        let permits = self
            .shared
            .acquire(lease.quota_usage.as_deref())
            .map_err(Busy::Connections)?;
        let memory = lease.charge(MemoryUse::Guests, CONNECTION_MEMORY);
        let memory = memory.map_err(|_| Busy::Memory)?;
        let open = GaugeGuard::new(&lease.metrics.open_connections);
        Ok(Socket {
            progress: Progress::New,
            _permits: permits,
            _memory: memory,
            _open: open,
        })
    }

    pub(crate) fn insert(&mut self, index: u32, socket: Socket) {
        self.sockets.insert(index, socket);
    }

    /// Removes the resources of a closed socket.
    pub(crate) fn remove(&mut self, index: u32) {
        self.sockets.remove(&index);
    }

    /// Records that an attempt to connect is in progress.
    pub(crate) fn begin_attempt(&mut self, index: u32, attempt: Attempt) {
        if let Some(socket) = self.sockets.get_mut(&index) {
            socket.progress = Progress::Connecting {
                attempt,
                until: Instant::now() + CONNECT_TIMEOUT,
            };
        }
    }

    /// Records how an attempt ended, if an attempt is in progress. A socket that could not connect is closed.
    pub(crate) fn end_attempt(&mut self, index: u32, outcome: ConnectOutcome) {
        let Some(socket) = self.sockets.get_mut(&index) else {
            return;
        };
        match std::mem::replace(&mut socket.progress, Progress::New) {
            Progress::Connecting { attempt, .. } => {
                socket.progress = Progress::Connected(attempt.to().to_owned());
                attempt.end(outcome);
                if outcome != ConnectOutcome::Ok {
                    self.remove(index);
                }
            }
            other => socket.progress = other,
        }
    }

    /// Returns the time at which the first of the current attempts has to end.
    pub(crate) fn first_end(&self) -> Option<Instant> {
        let ends = self
            .sockets
            .values()
            .filter_map(|socket| match socket.progress {
                Progress::Connecting { until, .. } => Some(until),
                Progress::New | Progress::TimedOut | Progress::Connected(_) => None,
            });
        ends.min()
    }

    /// Ends the attempts whose time is over. Returns the indexes of their sockets.
    pub(crate) fn end_late_attempts(&mut self, now: Instant) -> Vec<u32> {
        let is_late = |progress: &Progress| matches!(progress, Progress::Connecting { until, .. } if *until <= now);
        let late = self
            .sockets
            .iter_mut()
            .filter(|(_, socket)| is_late(&socket.progress));
        late.map(|(index, socket)| {
            socket.progress = Progress::TimedOut;
            *index
        })
        .collect()
    }

    /// Whether the last attempt of a socket took too long. The guest is told only once.
    pub(crate) fn take_timed_out(&mut self, index: u32) -> bool {
        match self.sockets.get_mut(&index) {
            Some(Socket {
                progress: progress @ Progress::TimedOut,
                ..
            }) => {
                *progress = Progress::New;
                true
            }
            _ => false,
        }
    }
}
