//! The only room that knows MCP: JSON-RPC in both eras of the protocol, over HTTP and stdio.
//! Nothing here decides what is served; it is asked of the gateway and written down.

mod answer;
pub mod auth;
mod body;
mod dialect;
mod door;
mod era;
mod escape;
mod fields;
mod filter;
mod flight;
mod http;
mod json;
mod listen;
mod message;
mod method;
mod progress;
mod refusal;
mod replay;
mod scan;
mod session;
mod show;
mod socket;
mod stdio;
mod stream;
mod turn;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use self::auth::Gate;
pub use self::body::Body;
use self::door::Door;
use self::session::Sessions;
use crate::drain::Drain;
use crate::gateway::Gateway;
use crate::metrics::Metrics;
use crate::resource::Caller;
use crate::telemetry::Telemetry;

/// What this room needs to know. All of it is somebody's decision; there are no defaults here.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where HTTP is served. The app binds; this is for what must be said about it.
    pub listen: SocketAddr,
    /// Names under which clients may call this server, beside the loopback names: `host` or `host:port`.
    pub hosts: Vec<String>,
    /// Origins of web pages that may call this server, beside those of this machine: `https://host`.
    pub origins: Vec<String>,
    /// The most bytes of a request's body, and of a line of stdio.
    pub body_limit: usize,
    /// The most sessions of legacy clients.
    pub sessions: usize,
    /// How long a session lives without being used.
    pub session_idle: Duration,
    /// The most clients that listen at the same time.
    pub streams: usize,
    /// The most connections at the same time.
    pub connections: usize,
    /// Bytes of large answers that may wait for slow readers, over all connections.
    pub waiting_bytes: usize,
    /// How often a silent stream says that it is alive.
    pub keep_alive: Duration,
    /// How long a client may read nothing of what is sent to it.
    pub stall: Duration,
    /// Whom to believe.
    pub auth: auth::Config,
    /// On whose behalf is asked where no credential says: on stdio, and over HTTP where none is needed.
    pub caller: Caller,
    /// The server's name for people.
    pub title: Option<String>,
    /// What is spoken beside the protocol.
    pub dialects: BTreeSet<Dialect>,
}

/// Words beside the protocol, for clients of servers that had them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// `resources/get`, subscriptions to several URIs, and `notifications/resources/content_changed`.
    ResourcesGet,
}

/// The endpoint. Clones are the same endpoint.
#[derive(Clone)]
pub struct Endpoint(Arc<Inner>);

struct Inner {
    gateway: Gateway,
    drain: Drain,
    door: Door,
    gate: Gate,
    sessions: Arc<Sessions>,
    streams: Arc<Semaphore>,
    /// Room for large answers that wait, in KiB.
    waiting: Arc<Semaphore>,
    metrics: Metrics,
    telemetry: Telemetry,
    /// Who answers, as JSON.
    server: String,
    config: Config,
}

impl Endpoint {
    /// An endpoint that nobody can reach yet, and that only those can ask who come through this gate.
    pub fn new(
        config: Config,
        gate: Gate,
        gateway: Gateway,
        drain: Drain,
        (metrics, telemetry): (Metrics, Telemetry),
    ) -> Self {
        let server = json::object(|o| {
            o.text("name", env!("CARGO_PKG_NAME"));
            o.text("version", env!("CARGO_PKG_VERSION"));
            o.maybe("title", config.title.as_deref());
        });
        let sessions = Arc::new(Sessions::new(config.sessions, config.session_idle));
        let streams = Arc::new(Semaphore::new(config.streams));
        let (table, most, free) = (sessions.clone(), config.streams, streams.clone());
        metrics.reading("larder_sessions", "Open sessions of legacy clients.", move || table.len());
        metrics.reading("larder_streams", "Clients that listen.", move || {
            most.saturating_sub(free.available_permits()) as u64
        });
        Self(Arc::new(Inner {
            gateway,
            drain,
            door: Door::new(&config.hosts, &config.origins),
            gate,
            sessions,
            streams,
            waiting: Arc::new(Semaphore::new((config.waiting_bytes >> 10).clamp(1, Semaphore::MAX_PERMITS))),
            metrics,
            telemetry,
            server: String::from_utf8(server).unwrap_or_default(),
            config,
        }))
    }
}
