//! The admin listener for operators and monitoring: liveness, readiness, metrics and status. It is separate
//! from the MCP listener and read-only.

mod access;
mod metrics;
mod response;
mod routes;
mod status;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

pub use self::status::{Grants, LastError, PendingApproval, Provider, Rejected, Status, Team};
use larder_core::catalog::Reader;
use larder_model::name::Digest;
use larder_runtime::drain::Drain;
use larder_runtime::health::Health;
use larder_runtime::host_policy::HostPolicy;
use larder_runtime::metrics::{Metrics, Registry};

/// Maximum number of concurrent connections. The admin address has few clients.
const MAX_CONNECTIONS: usize = 32;
/// Maximum lifetime of a connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);
/// How long to wait after `accept` failed.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(200);

/// The configuration of the admin listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The address to listen on; `None` if it is off.
    pub listen: Option<SocketAddr>,
    /// Whether the address is in the configuration file. If it is in use, this decides between an error and a
    /// warning.
    pub is_explicit: bool,
    /// Host names that requests may have, besides loopback names and IP addresses.
    pub hosts: Vec<String>,
    /// The digest of the token that `/metrics` and `/status` require; `None` if they require none.
    pub token: Option<Digest>,
}

/// What the admin listener shows of a team.
#[derive(Debug, Clone)]
pub struct TeamView {
    /// The folder with its components.
    pub plugins: PathBuf,
    /// Its catalog.
    pub catalog: Reader,
}

/// The admin service. Clones share their state.
#[derive(Clone)]
pub struct Admin(Arc<Inner>);

struct Inner {
    host_policy: HostPolicy,
    token: Option<Digest>,
    teams: Vec<TeamView>,
    metrics: Metrics,
    catalog_metrics: Registry,
    health: Health,
    /// The drain of the rest of the server, whose state `/readyz` reports.
    server_drain: Drain,
    drain: Drain,
}

impl Admin {
    /// Creates the service without a listener. Its tasks run in a drain of their own, so that it can still
    /// report while `server_drain` stops.
    pub fn new(
        config: &Config,
        teams: Vec<TeamView>,
        metrics: Metrics,
        health: Health,
        server_drain: Drain,
        drain: Drain,
    ) -> Self {
        let host_policy = HostPolicy::new(&config.hosts, &[]).with_addresses();
        let (token, catalog_metrics) = (config.token, metrics::of_catalogs(&teams));
        Self(Arc::new(Inner {
            host_policy,
            token,
            teams,
            metrics,
            catalog_metrics,
            health,
            server_drain,
            drain,
        }))
    }

    /// Serves requests until its own drain stops.
    pub async fn serve(self, listener: TcpListener) {
        let router = routes::router(self.clone());
        let connection_slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            let accept = async {
                let slot = connection_slots.clone().acquire_owned().await.map_err(io::Error::other)?;
                Ok::<_, io::Error>((slot, listener.accept().await?.0))
            };
            let accepted = tokio::select! {
                () = self.0.drain.stopping() => return,
                accepted = accept => accepted,
            };
            match accepted {
                Ok((slot, stream)) => {
                    let (admin, router) = (self.clone(), router.clone());
                    self.0.drain.spawn(async move {
                        admin.serve_connection(stream, router).await;
                        drop(slot);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection on the admin address");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            }
        }
    }

    async fn serve_connection(self, stream: TcpStream, router: Router) {
        // `axum::serve` has no timeouts. One request per connection, so that idle connections do not use up the
        // limit.
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(CONNECTION_TIMEOUT)
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::time::timeout(CONNECTION_TIMEOUT, async {
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = self.0.drain.stopping() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            }
        });
        if let Ok(Err(error)) = ended.await {
            tracing::debug!(%error, "a connection to the admin address failed");
        }
    }
}
