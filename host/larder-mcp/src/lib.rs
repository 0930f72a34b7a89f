//! The MCP endpoint: JSON-RPC in both eras of the protocol (modern and legacy), over HTTP and stdio. No other part of
//! the server implements MCP. The endpoint does not decide what is served: it calls the gateway and serializes the
//! results.
//!
//! Each module may use those that are named after it. In reading order: `http` (transport), `session` (state of legacy
//! clients), `protocol` (state machine of each era, and stdio), `dispatch` (one operation), `era` (reads requests),
//! `subscribe` (notifications), `client_side` (exchanges with the client during a call), `auth` (credentials),
//! `settings`, `render` (entries as JSON), `outgoing` (responses that wait), `wire` (JSON of the protocol).

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables are long"))]
// The future of a connection contains the futures of its requests, down to the engine. To prove that it is `Send`, the
// compiler needs more steps than its default limit.
#![recursion_limit = "256"]

pub mod auth;
mod client_side;
mod dispatch;
mod era;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod http;
mod outgoing;
mod protocol;
mod render;
mod session;
mod settings;
mod subscribe;
#[cfg(test)]
mod tests;
mod wire;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use self::auth::Authenticator;
use self::client_side::input_state::InputStates;
pub use self::client_side::sealing::SealingKeys;
pub use self::http::body::Body;
use self::http::request_log::RequestLog;
pub use self::http::request_log::RequestLogMode;
use self::outgoing::waiting_bytes::WaitingBytes;
pub use self::render::catalog_json;
use self::session::storage::Storage;
pub use self::session::{
    FileSessionStore, SessionKey, SessionOwner, SessionRecord, SessionStore, StoredSession,
    StoredSessions,
};
use self::session::{Sessions, SessionsParts};
use self::settings::{FixedSettings, Settings};
use larder_core::gateway::Gateway;
use larder_core::telemetry::Telemetry;
use larder_model::name::ReplicaName;
use larder_model::resource::Caller;
use larder_runtime::drain::Drain;
pub use larder_runtime::listener::{ListenAddress, Listener, UnixSocket};
use larder_runtime::low_priority_threads::LowPriorityThreads;
use larder_runtime::metrics::Metrics;
use larder_runtime::shares::{Resource, ShareLimits, Shares};
use larder_runtime::trusted_proxies::TrustedProxies;

/// The name of the server in the protocol.
const SERVER_NAME: &str = "larder";

/// Configuration of the endpoint. The operator's configuration sets every field; there are no defaults here.
#[derive(Debug, Clone)]
pub struct Config {
    /// The address of the HTTP listener, only for information: the app binds the socket.
    pub listen: ListenAddress,
    /// Host names that clients may use for this server in addition to the loopback names: `host` or
    /// `host:port`.
    pub hosts: Vec<String>,
    /// Origins of web pages that may call this server in addition to loopback origins: `https://host`.
    pub origins: Vec<String>,
    /// Maximum size in bytes of a request body, and of a line on stdio.
    pub body_limit: usize,
    /// Maximum number of sessions of legacy clients.
    pub sessions: usize,
    /// A session that is unused for this long is closed.
    pub session_idle_timeout: Duration,
    /// Maximum number of concurrent notification streams.
    pub streams: usize,
    /// Maximum number of concurrent connections.
    pub connections: usize,
    /// Maximum number of bytes of large responses that wait for their clients, over all connections.
    pub waiting_bytes: usize,
    /// Interval of the keep-alive comments on an idle event stream.
    pub keep_alive: Duration,
    /// A connection is closed when its client reads too little during this time while data is pending.
    pub stall_timeout: Duration,
    /// How long the server continues after it is told to stop.
    pub shutdown_grace: Duration,
    /// Which requests are logged.
    pub request_log: RequestLogMode,
    /// Reverse proxies whose headers name the client.
    pub trusted_proxies: TrustedProxies,
    /// Accepted credentials.
    pub auth: auth::Config,
    /// The caller of requests without credentials: on stdio, and over HTTP if no credentials are required.
    pub caller: Caller,
    /// The server's display name.
    pub title: Option<String>,
    /// Enabled protocol extensions.
    pub extensions: BTreeSet<Extension>,
}

/// A non-standard protocol extension, for clients of servers that supported it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extension {
    /// `resources/get`, subscriptions to several URIs, and `notifications/resources/content_changed`.
    ResourcesGet,
}

/// What an endpoint works with.
pub struct EndpointParts {
    /// Decides which requests are accepted.
    pub authenticator: Authenticator,
    /// Answers the requests.
    pub gateway: Gateway,
    /// The drain of the tasks.
    pub drain: Drain,
    /// Where requests are counted.
    pub metrics: Metrics,
    /// Where requests are traced.
    pub telemetry: Telemetry,
    /// This server as one of several replicas; none if it is the only one.
    pub replica: Option<Replica>,
    /// The store of the sessions; none if they end with this process.
    pub stored_sessions: Option<StoredSessions>,
}

impl EndpointParts {
    /// The parts of a server that is the only one, traces nothing and stores no sessions.
    pub fn new(
        authenticator: Authenticator,
        gateway: Gateway,
        drain: Drain,
        metrics: Metrics,
    ) -> Self {
        Self {
            authenticator,
            gateway,
            drain,
            metrics,
            telemetry: Telemetry::default(),
            replica: None,
            stored_sessions: None,
        }
    }
}

/// One of several replicas of a server.
pub struct Replica {
    /// The ids of its sessions begin with this name.
    pub name: ReplicaName,
    /// All replicas share these keys, which seal the state that modern clients hold.
    pub keys: SealingKeys,
}

/// The MCP endpoint. Clones share one state.
#[derive(Clone)]
pub struct Endpoint(Arc<Inner>);

struct Inner {
    gateway: Gateway,
    drain: Drain,
    authenticator: Authenticator,
    sessions: Arc<Sessions>,
    stream_shares: Shares,
    waiting_bytes: Arc<WaitingBytes>,
    metrics: Metrics,
    telemetry: Telemetry,
    request_log: RequestLog,
    input_states: InputStates,
    low_priority_threads: Arc<LowPriorityThreads>,
    settings: Arc<ArcSwap<Settings>>,
    fixed: FixedSettings,
}

impl Endpoint {
    /// Creates an endpoint. It does not serve any transport yet.
    pub fn new(config: Config, parts: EndpointParts) -> Self {
        let EndpointParts {
            authenticator,
            gateway,
            drain,
            metrics,
            telemetry,
            replica,
            stored_sessions,
        } = parts;
        let (fixed, settings) = Settings::split(config);
        let settings = Arc::new(ArcSwap::from_pointee(settings));
        let (replica, keys) = replica.map(|replica| (replica.name, replica.keys)).unzip();
        let (storage, earlier_sessions) = stored_sessions
            .map(|stored| Storage::new(stored, &drain))
            .unzip();
        let sessions = Arc::new(Sessions::new(SessionsParts {
            max_sessions: fixed.sessions,
            idle_timeout: fixed.session_idle_timeout,
            memory: gateway.memory().clone(),
            storage,
            replica,
        }));
        let streams = ShareLimits {
            streams: fixed.streams,
            ..ShareLimits::default()
        };
        let stream_shares = Shares::new(streams, gateway.memory().several_teams());
        let waiting_bytes = Arc::new(WaitingBytes::new(gateway.memory(), fixed.waiting_bytes));
        waiting_bytes.set_team_count(gateway.team_count());
        let request_log = RequestLog::new(
            settings.clone(),
            gateway.clone(),
            metrics.events().clone(),
            &drain,
        );
        let low_priority_threads = gateway.low_priority_threads().clone();
        let endpoint = Self(Arc::new(Inner {
            gateway,
            drain,
            authenticator,
            sessions,
            stream_shares,
            waiting_bytes,
            metrics,
            telemetry,
            request_log,
            input_states: InputStates::new(keys),
            low_priority_threads,
            settings,
            fixed,
        }));
        endpoint.register_gauges();
        if let Some(earlier) = earlier_sessions {
            endpoint.continue_sessions(earlier);
        }
        endpoint
    }

    fn register_gauges(&self) {
        let metrics = &self.0.metrics;
        let sessions = self.0.sessions.clone();
        let help = "Open sessions of legacy clients";
        metrics.register_gauge("larder_sessions", help, move || sessions.len());
        let shares = self.0.stream_shares.clone();
        let help = "Open notification streams";
        metrics.register_gauge("larder_streams", help, move || {
            shares.used(Resource::Streams)
        });
        let waiting_bytes = self.0.waiting_bytes.clone();
        let help = "Bytes of large responses that wait for their clients";
        metrics.register_gauge("larder_waiting_bytes", help, move || waiting_bytes.total());
    }

    /// Replaces the settings. Called after the settings of the gateway are replaced. The address, the credentials, the
    /// numbers of sessions, streams and connections, and the caller of messages on stdio stay the same.
    pub fn reload(&self, config: Config) {
        let (_, settings) = Settings::split(config);
        self.0.settings.store(Arc::new(settings));
        self.0
            .waiting_bytes
            .set_team_count(self.0.gateway.team_count());
    }
}
