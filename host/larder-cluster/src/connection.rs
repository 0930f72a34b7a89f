//! The connection to NATS. It is made in the background. After each loss it is made again, until the server stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::{Client, ConnectOptions, Event, Server, jetstream};
use bytes::Bytes;
use futures_util::FutureExt as _;
use parking_lot::{Mutex, MutexGuard};
use percent_encoding::percent_decode_str;
use tokio::sync::watch;

use crate::config::{ClusterConfig, NatsServer};
use crate::error::ClusterError;
use larder_runtime::health::{Health, Impact};

/// The longest time between two attempts to connect.
const MAX_RECONNECT_DELAY: Duration = Duration::from_secs(2);
/// The time limit for one attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time limit for the test of a server by an operator.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// The code of the answer if JetStream cannot be used.
const JETSTREAM_UNAVAILABLE: u16 = 503;
/// The part of health that this module reports.
const HEALTH_PART: &str = "cluster";

/// The connection. Clones share the same connection.
#[derive(Clone)]
pub(crate) struct Connection {
    client: Client,
    jetstream: Context,
    state: Arc<ConnectionState>,
}

/// The known state of the connection.
struct ConnectionState {
    is_connected: watch::Sender<bool>,
    connects: AtomicU64,
    last_error: Mutex<Option<String>>,
    servers: String,
    health: Health,
}

impl Connection {
    /// Starts to connect. Must be called in a runtime.
    pub(crate) fn start(config: &ClusterConfig, health: Health) -> Result<Self, ClusterError> {
        // The default provider of the process. Another part of the server may have set the same provider.
        _ = async_nats::rustls::crypto::ring::default_provider().install_default();
        let servers: Vec<_> = config.servers.iter().map(ToString::to_string).collect();
        let state = Arc::new(ConnectionState {
            is_connected: watch::Sender::new(false),
            connects: AtomicU64::new(0),
            last_error: Mutex::default(),
            servers: servers.join(", "),
            health,
        });
        state.report();
        let options = with_events(options(config)?.retry_on_initial_connect(), &state);
        let addresses: Vec<_> = config
            .servers
            .iter()
            .map(|server| server.address().clone())
            .collect();
        // The first attempt is also made in the background, so that this returns at once.
        let connecting = options.connect(addresses.as_slice()).now_or_never();
        let client = connecting.ok_or_else(|| ClusterError::Connect("it is not ready".into()))?;
        let client = client.map_err(|error| ClusterError::Connect(error.to_string()))?;
        Ok(Self {
            jetstream: jetstream::new(client.clone()),
            client,
            state,
        })
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn jetstream(&self) -> &Context {
        &self.jetstream
    }

    /// Whether there is a connection. The receiver reports each change.
    pub(crate) fn connected(&self) -> watch::Receiver<bool> {
        self.state.is_connected.subscribe()
    }

    pub(crate) fn is_connected(&self) -> bool {
        *self.state.is_connected.borrow()
    }

    /// How often the connection was made again.
    pub(crate) fn reconnects(&self) -> u64 {
        self.state
            .connects
            .load(Ordering::Relaxed)
            .saturating_sub(1)
    }

    /// The name and version of the server; none without a connection.
    pub(crate) fn server(&self) -> Option<String> {
        let info = self.client.server_info();
        self.is_connected()
            .then(|| format!("{} ({})", info.server_name, info.version))
    }

    /// The last error, of the connection or of an operation.
    pub(crate) fn last_error(&self) -> Option<String> {
        self.state.last_error().clone()
    }

    /// Records an error of an operation while the connection exists, for operators.
    pub(crate) fn report_error(&self, what: &str, error: &dyn std::fmt::Display) {
        let message = format!("{what}: {error}");
        tracing::debug!(%message, "an operation of NATS failed");
        *self.state.last_error() = Some(message);
    }
}

impl ConnectionState {
    fn last_error(&self) -> MutexGuard<'_, Option<String>> {
        self.last_error.lock()
    }

    fn on_event(&self, event: &Event) {
        match event {
            Event::Connected => {
                self.connects.fetch_add(1, Ordering::Relaxed);
                self.health.resolve(HEALTH_PART);
                self.is_connected.send_replace(true);
                tracing::info!(servers = self.servers, "connected to NATS");
            }
            Event::Disconnected | Event::Closed => {
                if self.is_connected.send_replace(false) {
                    tracing::warn!(
                        servers = self.servers,
                        "the connection to NATS was lost: this replica checks all that it watches itself until it returns"
                    );
                }
                self.report();
            }
            Event::SlowConsumer(_) | Event::ServerError(_) => {
                tracing::warn!(%event, "NATS");
                *self.last_error() = Some(event.to_string());
            }
            Event::ClientError(_) | Event::LameDuckMode | Event::Draining => {}
        }
    }

    /// Notes why the last attempt to connect to a server failed.
    fn on_attempt(&self, servers: &[Server]) {
        let failed = servers
            .iter()
            .filter_map(|server| server.last_error.clone())
            .next_back();
        if failed.is_some() && *self.last_error() != failed {
            *self.last_error() = failed;
            self.report();
        }
    }

    fn report(&self) {
        let reason = self
            .last_error()
            .as_ref()
            .map(|error| format!(" ({error})"))
            .unwrap_or_default();
        let message = format!(
            "not connected to NATS at {}{reason}: other replicas are not told of changes, and are compared with when the connection returns",
            self.servers
        );
        self.health
            .report(HEALTH_PART, message, Impact::OperatorOnly);
    }
}

/// Connects to one server once, and asks it for JetStream. Returns the name and the version of the server.
pub(crate) async fn probe(config: &ClusterConfig, server: &NatsServer) -> Result<String, String> {
    _ = async_nats::rustls::crypto::ring::default_provider().install_default();
    let options = options(config).map_err(|error| error.to_string())?;
    let asked = async {
        let client = options.connect(server.address().clone()).await;
        let client = client.map_err(|error| error.to_string())?;
        ask_for_jetstream(&client, config).await?;
        let info = client.server_info();
        Ok(format!("{} ({})", info.server_name, info.version))
    };
    let timed_out = |_| Err(format!("it did not answer within {PROBE_TIMEOUT:?}"));
    tokio::time::timeout(PROBE_TIMEOUT, asked)
        .await
        .unwrap_or_else(timed_out)
}

/// Asks for the bucket of the replicas, which need not exist. A request for information about the account may not be
/// permitted.
async fn ask_for_jetstream(client: &Client, config: &ClusterConfig) -> Result<(), String> {
    let subject = format!("$JS.API.STREAM.INFO.KV_{}", config.replicas_bucket());
    let answer = client.request(subject, Bytes::new()).await;
    let answer = answer.map_err(|error| format!("it has no JetStream: {error}"))?;
    let answer: serde_json::Value = serde_json::from_slice(&answer.payload)
        .map_err(|error| format!("its answer about JetStream is not JSON: {error}"))?;
    let error = &answer["error"];
    if error["code"] == JETSTREAM_UNAVAILABLE {
        let why = error["description"].as_str().unwrap_or_default();
        return Err(format!("it has no JetStream: {why}"));
    }
    Ok(())
}

fn options(config: &ClusterConfig) -> Result<ConnectOptions, ClusterError> {
    let mut options = ConnectOptions::new()
        .name(format!("larder {}", config.version))
        .connection_timeout(CONNECT_TIMEOUT)
        // The connection is closed when two pings were not answered, so a partition is detected within about one lease.
        .ping_interval(config.lease.div_f64(3.0).max(Duration::from_secs(1)))
        .reconnect_delay_callback(reconnect_delay);
    // The library ignores the credentials in the URL.
    if let Some(server) = config
        .servers
        .iter()
        .find(|server| server.has_credentials())
    {
        options = with_user(options, server);
    }
    if let Some(credentials) = &config.credentials {
        options = options
            .credentials(credentials.reveal())
            .map_err(ClusterError::Credentials)?;
    }
    if let Some(path) = &config.ca {
        let readable = std::fs::File::open(path);
        readable.map_err(|error| ClusterError::Certificates {
            path: path.clone(),
            error,
        })?;
        options = options
            .add_root_certificates(path.clone())
            .require_tls(true);
    }
    Ok(options)
}

/// A user without a password is a token.
fn with_user(options: ConnectOptions, server: &NatsServer) -> ConnectOptions {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let user = decoded(server.address().username().unwrap_or_default());
    match server.address().password() {
        Some(password) => options.user_and_password(user, decoded(password)),
        None => options.token(user),
    }
}

fn with_events(options: ConnectOptions, state: &Arc<ConnectionState>) -> ConnectOptions {
    let events = state.clone();
    let attempts = state.clone();
    options
        .event_callback(move |event| {
            events.on_event(&event);
            std::future::ready(())
        })
        // This callback does not select a server. It is used because the errors of earlier attempts are available only
        // here.
        .reconnect_to_server_callback(move |servers, _| {
            attempts.on_attempt(&servers);
            std::future::ready(None)
        })
}

/// The delay before an attempt. All replicas lose a server at the same time, and should not reconnect at the same time.
fn reconnect_delay(attempts: usize) -> Duration {
    let exponent = u32::try_from(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
    let delay = Duration::from_millis(50)
        .saturating_mul(2u32.saturating_pow(exponent))
        .min(MAX_RECONNECT_DELAY);
    let mut random = [0; 1];
    // Without random numbers, the delay is the same as for other replicas.
    _ = getrandom::fill(&mut random);
    delay.mul_f64(0.5 + f64::from(random[0]) / 512.0)
}
