//! The admin listener for operators and monitoring: liveness, readiness, metrics, status, the operators' page and its
//! API. It is separate from the MCP listener. Operators use it to approve or reject the requests of components, to make
//! the server read its configuration again, and to delete the stored values of a provider.

mod access;
mod admission;
mod api;
mod authentication;
mod cluster;
mod folders;
mod forget;
mod index;
mod issuer;
mod metrics;
mod operator;
mod page;
mod reload;
mod request_headers;
mod response;
mod routes;
mod security_headers;
mod skills;
mod status;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::sync::{Semaphore, watch};

use self::access::Peer;
use self::admission::{Connection, ReportPermits};
use self::authentication::Authentication;
pub use self::cluster::{Cluster, Replica};
pub use self::folders::Folders;
pub use self::forget::ForgetReport;
pub use self::index::IndexStatus;
pub use self::issuer::{FetchError, Issuer};
pub use self::operator::{EndpointCredentials, IssuedToken, TokenError};
pub use self::reload::{ReloadReport, ReloadTrigger};
pub use self::skills::SkillStatus;
pub use self::status::{
    DeniedRequest, Grants, LastError, Memory, PendingApproval, Provider, RejectedComponent, Status,
    StoredValues, Team,
};
use larder_core::audit::AuditLog;
use larder_core::catalog::{OfferedPrompt, OfferedTool, Reader};
use larder_core::gateway::Gateway;
use larder_core::reconcile::{Approvals, Components};
use larder_core::search_index::IndexProgress;
use larder_key_value::KeyValueStore;
use larder_model::name::Digest;
use larder_model::policy::QuotaUsage;
use larder_model::resource::{Entry, Template};
use larder_runtime::connection_slots::ConnectionSlots;
use larder_runtime::drain::{Drain, SupervisedTask};
use larder_runtime::health::{Health, Impact};
use larder_runtime::host_policy::HostPolicy;
use larder_runtime::listener::{Accept, ClientStream, ListenAddress, Listener};
use larder_runtime::memory_budget::MemoryBudget;
use larder_runtime::metrics::{Metrics, Registry};
use larder_runtime::trusted_proxies::TrustedProxies;

/// Maximum number of concurrent connections. The admin address has few clients.
const MAX_CONNECTIONS: usize = 32;
/// Maximum time until a request head is complete, and its maximum size.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_HEAD: usize = 32 << 10;
/// Maximum lifetime of a connection. It also applies to a connection with a stream of events, whose client connects
/// again.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);
const STREAM_TIMEOUT: Duration = Duration::from_secs(600);
/// The answer to requests that need the whole server while it starts.
const STARTING: &str = "the server is starting: try again later";
/// How long to wait after `accept` failed.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(200);

/// The configuration of the admin listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The address to listen on; `None` if the listener is off.
    pub listen: Option<ListenAddress>,
    /// Whether the address is in the configuration file. If another process uses the address, this decides between an
    /// error and a warning.
    pub is_explicit: bool,
    /// Host names that requests may have, in addition to loopback names and IP addresses.
    pub hosts: Vec<String>,
    /// The digest of the token of operators; `None` if there is none.
    pub token: Option<Digest>,
    /// The scope with which a token of the OAuth issuer is a token of an operator; `None` if there is no such scope.
    pub scope: Option<String>,
    /// The reverse proxies whose headers contain the address of the client.
    pub trusted_proxies: TrustedProxies,
}

/// The data of a team that the admin listener shows.
#[derive(Debug, Clone)]
pub struct TeamView {
    /// The folder with the team's components.
    pub plugins: PathBuf,
    /// The catalog of the team.
    pub catalog: Reader,
    /// The values that the providers of the team store.
    pub key_value: KeyValueStore,
    /// The progress of the team's full-text index.
    pub index: IndexProgress,
    /// The components that are loading, and the last revisions of each component.
    pub components: Components,
    /// The quota of the team and its use; none if there are no teams.
    pub quota_usage: Option<Arc<QuotaUsage>>,
    /// The approvals for the team's components.
    pub approvals: Approvals,
}

/// Renders the items of the catalog as MCP clients receive them.
#[derive(Debug, Clone, Copy)]
pub struct CatalogJson {
    /// An entry.
    pub entry: fn(&Entry) -> &[u8],
    /// A template.
    pub template: fn(&Template) -> &[u8],
    /// A tool.
    pub tool: fn(&OfferedTool) -> &[u8],
    /// A prompt.
    pub prompt: fn(&OfferedPrompt) -> &[u8],
}

/// The parts of a server that exist when its components are loaded.
#[derive(Debug, Clone)]
pub struct StartedServer {
    /// Answers reads and completions.
    pub gateway: Gateway,
    /// Reloads the configuration.
    pub reload: ReloadTrigger,
}

/// The data that the admin listener reports, and the reload that it triggers.
pub struct Sources {
    /// The teams that are served.
    pub teams: watch::Receiver<Vec<TeamView>>,
    /// The metrics.
    pub metrics: Metrics,
    /// The memory budget.
    pub memory: MemoryBudget,
    /// Where the server keeps its files.
    pub folders: Folders,
    /// The problems of the server.
    pub health: Health,
    /// Returns the state of the OAuth issuer; none if tokens of an issuer are not accepted.
    pub issuer: Box<dyn Fn() -> Option<Issuer> + Send + Sync>,
    /// Returns the state of the cluster; none if this is the only server.
    pub cluster: Box<dyn Fn() -> Option<Cluster> + Send + Sync>,
    /// The keys whose values in the file take effect only after a restart.
    pub needs_restart: watch::Receiver<Vec<String>>,
    /// Records what was deleted.
    pub audit: AuditLog,
    /// What uses the whole server; none while the server starts.
    pub started: watch::Receiver<Option<StartedServer>>,
    /// The credentials of the MCP endpoint.
    pub credentials: Arc<dyn EndpointCredentials>,
    /// Renders the catalog.
    pub catalog_json: CatalogJson,
    /// The drain of the other parts of the server. `/readyz` reports its state.
    pub server_drain: Drain,
}

/// The admin service. Clones share their state.
#[derive(Clone)]
pub struct Admin(Arc<Inner>);

struct Inner {
    host_policy: HostPolicy,
    /// The configured host names.
    hosts: Vec<String>,
    authentication: Authentication,
    trusted_proxies: TrustedProxies,
    may_reload: bool,
    sources: Sources,
    catalog_metrics: Registry,
    /// Permits for streams of events.
    streams: Arc<Semaphore>,
    drain: Drain,
}

impl Admin {
    /// Creates the service without a listener. Its tasks run in a separate drain, so that the service can still report
    /// while the other parts of the server stop.
    pub fn new(config: &Config, sources: Sources, drain: Drain) -> Self {
        let is_local = config.listen.as_ref().is_none_or(ListenAddress::is_local);
        let token = config.token;
        let scope = config.scope.clone();
        let authentication =
            Authentication::new(token, scope, is_local, sources.credentials.clone());
        let may_reload = is_local || authentication.requires_credential();
        Self(Arc::new_cyclic(|this| Inner {
            host_policy: host_policy(&config.hosts),
            hosts: config.hosts.clone(),
            authentication,
            trusted_proxies: config.trusted_proxies.clone(),
            may_reload,
            catalog_metrics: metrics::of_admin(this, &sources),
            sources,
            streams: Arc::new(Semaphore::new(api::STREAMS)),
            drain,
        }))
    }

    /// Serves requests until the service's own drain stops.
    pub async fn serve(self, listener: Listener) {
        match listener {
            Listener::Tcp(listener) => self.serve_connections(listener).await,
            Listener::Unix(socket) => self.serve_connections(socket).await,
        }
    }

    async fn serve_connections(self, listener: impl Accept) {
        let admin = self.clone();
        let task = SupervisedTask::new("history of the metrics", Impact::OperatorOnly);
        self.0
            .drain
            .supervise_restarting(task, move || admin.clone().sample_metrics());
        let router = routes::router(self.clone());
        let connection_slots = ConnectionSlots::new(MAX_CONNECTIONS, Default::default());
        let report_permits = ReportPermits::default();
        loop {
            let accepted = tokio::select! {
                () = self.0.drain.stopping() => return,
                accepted = listener.accept() => accepted,
            };
            let (stream, client) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection on the admin address");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                    continue;
                }
            };
            // Surplus connections are closed.
            let Some(slot) = connection_slots.take(client.source()) else {
                continue;
            };
            let admin = self.clone();
            let router = router.clone();
            let permits = report_permits.clone();
            slot.serve(&self.0.drain, |slot| async move {
                let connection = Connection::new(slot, permits);
                let serving = admin.serve_connection(stream, client.ip(), router, connection);
                serving.await;
            });
        }
    }

    /// The parts of the server that exist after the start; none before.
    fn started(&self) -> Option<StartedServer> {
        self.0.sources.started.borrow().clone()
    }

    /// The team with this name; none if there is no such team.
    fn team(&self, name: &str) -> Option<TeamView> {
        let teams = self.0.sources.teams.borrow();
        let mut teams = teams.iter();
        teams
            .find(|team| team.catalog.team().as_str() == name)
            .cloned()
    }

    /// Keeps the history of the last hour.
    async fn sample_metrics(self) {
        let Sources {
            metrics, memory, ..
        } = &self.0.sources;
        let used = || memory.report().uses.iter().map(|(_, used, _)| used).sum();
        _ = self.0.drain.run_until_stopping(metrics.sample(used)).await;
    }

    async fn serve_connection(
        self,
        stream: impl ClientStream,
        peer: Option<IpAddr>,
        router: Router,
        connection: Connection,
    ) {
        let is_stream = OnceLock::new();
        let router = TowerToHyperService::new(router);
        let service = service_fn(|mut request: Request<Incoming>| {
            // Each connection has one request.
            _ = is_stream.set(request.uri().path() == api::STREAM);
            if let Some(client) = self.0.trusted_proxies.client(peer, request.headers()) {
                request.extensions_mut().insert(Peer(client));
            }
            request.extensions_mut().insert(connection.clone());
            router.call(request)
        });
        let connection = http_server().serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let serving = async {
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = self.0.drain.stopping() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            }
        };
        let timeout = async {
            tokio::time::sleep(CONNECTION_TIMEOUT).await;
            if is_stream.get() == Some(&true) {
                tokio::time::sleep(STREAM_TIMEOUT).await;
            }
        };
        let ended = tokio::select! {
            ended = serving => ended,
            () = timeout => return,
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection to the admin address failed");
        }
    }
}

fn host_policy(hosts: &[String]) -> HostPolicy {
    HostPolicy::new(hosts, &[])
        .with_addresses()
        .with_own_origins()
}

/// `axum::serve` has no timeouts. Each connection has one request, so that idle connections do not use up the limit.
fn http_server() -> http1::Builder {
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_header_size(MAX_HEAD)
        .keep_alive(false);
    server
}
