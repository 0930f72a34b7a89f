//! Builds all parts of the server from a configuration, connects them, runs them, and shuts them down.

mod admin_listener;
mod critical_tasks;
mod fd_limit;
mod file_watcher;
mod guest_stderr;
mod huge_pages;
mod interfaces;
mod reload;
mod served;
mod signal;
mod team;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::DuplexStream;
use tokio::net::TcpListener;

use self::critical_tasks::CriticalTasks;
use self::reload::ConfigReloader;
use crate::config::Config;
use larder_admin::{Admin, TeamView};
use larder_core::audit::AuditLog;
use larder_core::catalog::Reader;
use larder_core::gateway::Gateway;
use larder_core::reconcile::StartLimits;
use larder_core::telemetry::{Telemetry, TelemetryError};
use larder_mcp::auth::Authenticator;
use larder_mcp::{Endpoint, ListenAddress, Listener};
use larder_runtime::drain::{Drain, DrainGuard};
use larder_runtime::health::{Health, Impact};
use larder_sandbox::{Sandbox, SetUpError};

pub use admin_listener::{IfInUse, bind_admin};
pub use interfaces::{Argument, Hints, Interfaces, Prompt, Setting, Tool};
pub use served::{Provider, Rejected, Served};
use signal::HangupSignals;
pub(crate) use signal::ShutdownSignals;
use team::{SharedServices, Team};

/// The buffer size, in bytes, between an in-process client and the endpoint.
const DUPLEX_BUFFER: usize = 64 << 10;
/// How long the audit log and traces may take to write their last entries at shutdown.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);
/// How long clients of the admin address may take to read their last response at shutdown.
const ADMIN_TIMEOUT: Duration = Duration::from_millis(500);

/// The delay between the start and the removal of old files from the compilation cache.
const CACHE_SWEEP_DELAY: Duration = Duration::from_secs(10);

/// How long the start waits for the components of all teams, so that one team cannot delay the others.
const TEAMS_START_TIMEOUT: Duration = Duration::from_secs(10);
/// The same without teams. It is shorter than most clients wait for the first response of a server.
const START_TIMEOUT: Duration = Duration::from_secs(45);
/// How long the start waits for the own calls of providers whose components are compiled.
const OWN_CALLS_TIMEOUT: Duration = Duration::from_secs(1);

/// The running server, or the same parts for one command.
pub struct App {
    endpoint: Endpoint,
    catalogs: Vec<Reader>,
    /// The parts that keep the catalogs up to date, until their tasks are started.
    teams_to_run: Vec<Team>,
    reloader: Option<ConfigReloader>,
    critical_tasks: CriticalTasks,
    audit: AuditLog,
    health: Health,
    drain: Drain,
    /// The tasks that write the audit log and traces. They are stopped after all others.
    log_drain: Drain,
    /// The tasks of the admin address, which answers until the end.
    admin_drain: Drain,
    /// Stop all tasks if the app is dropped, even while it is built.
    _drain_guards: [DrainGuard; 3],
    shutdown_grace: Duration,
    /// Registered before the server announces that it is ready. `None` keeps the default signal handling of
    /// the process.
    shutdown_signals: Option<ShutdownSignals>,
    hangup_signals: Option<HangupSignals>,
    /// Whether SIGHUP stops the process, as it should for a command in a terminal, instead of triggering a
    /// reload.
    stops_on_hangup: bool,
}

/// Read-only access to the served catalogs.
#[derive(Clone)]
pub struct View(Vec<Reader>);

impl View {
    /// Returns what is currently served.
    pub fn served(&self) -> Served {
        Served::of(self.0.iter().map(|catalog| (catalog.team(), catalog.snapshot())))
    }
}

/// Why the server could not start or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The MCP address is in use or not available.
    #[error("cannot listen on {listen}: {error}{}", bind_advice(listen, error))]
    Bind {
        /// The address.
        listen: ListenAddress,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The admin address is in use or not available.
    #[error("cannot listen on {listen}: {error}{}", advice(error, "admin.listen` or `--admin"))]
    BindAdmin {
        /// The address.
        listen: SocketAddr,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The audit log cannot be opened.
    #[error("cannot open the audit log (`audit.file`): {0}")]
    Audit(io::Error),
    /// The trace exporter cannot be set up.
    #[error("cannot set up the trace exporter (`telemetry.otlp`): {0}")]
    Telemetry(TelemetryError),
    /// The sandbox cannot be set up.
    #[error("cannot set up the sandbox: {0}")]
    SetUp(#[from] SetUpError),
    /// The endpoint stopped unexpectedly.
    #[error("the endpoint stopped unexpectedly: {0}")]
    Serve(#[from] io::Error),
    /// A critical task panicked. Without it, the catalogs would become outdated.
    #[error(
        "a task that keeps the catalog up to date panicked; this is a bug in Larder, and the log names the task"
    )]
    CriticalTaskPanicked,
}

/// Removes old files from the compilation cache, some time after the start: there can be thousands of them,
/// and the start has more urgent work.
async fn sweep_cache_later(sandbox: Arc<Sandbox>, drain: Drain) {
    if drain.run_until_stopping(tokio::time::sleep(CACHE_SWEEP_DELAY)).await.is_some() {
        drain.spawn_blocking(move || sandbox.sweep_cache());
    }
}

fn advice(error: &io::Error, option: &str) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("; is another server running there? choose another address with `{option}`")
        }
        io::ErrorKind::AddrNotAvailable => "; it is not an address of this machine".into(),
        io::ErrorKind::PermissionDenied => format!("; choose a port above 1023 with `{option}`"),
        _ => String::new(),
    }
}

fn bind_advice(listen: &ListenAddress, error: &io::Error) -> String {
    match (listen, error.kind()) {
        (ListenAddress::Tcp(_), _) => advice(error, "--listen"),
        (_, io::ErrorKind::AddrInUse | io::ErrorKind::AlreadyExists) => {
            "; choose another path with `--listen`".into()
        }
        (_, io::ErrorKind::NotFound) => "; create the folder first".into(),
        (_, io::ErrorKind::PermissionDenied) => {
            "; the user who runs the server must be able to create files in the folder".into()
        }
        _ => String::new(),
    }
}

/// Binds the MCP address before the components load. Early clients wait until the server accepts connections.
pub async fn bind(listen: &ListenAddress) -> Result<Listener, RunError> {
    Listener::bind(listen).await.map_err(|error| RunError::Bind { listen: listen.clone(), error })
}

impl App {
    /// Builds all parts and loads all components, for a single command: without audit log, traces and admin
    /// address.
    pub async fn build(mut config: Config) -> Result<Self, RunError> {
        (config.audit.to, config.telemetry) = (None, None);
        Self::wire(config, None, None).await
    }

    /// Builds all parts of a server. The admin address answers from the beginning, and shutdown signals are
    /// handled as soon as this returns. The start waits only a limited time for components to load; the others
    /// are served as soon as they are loaded.
    pub async fn build_server(config: Config, admin: Option<TcpListener>) -> Result<Self, RunError> {
        huge_pages::disable();
        for warning in &config.warnings {
            tracing::warn!("{}", warning.in_file(config.file.as_deref()));
        }
        let total = if config.teams.len() > 1 { TEAMS_START_TIMEOUT } else { START_TIMEOUT };
        let limits = StartLimits { total, own_calls: OWN_CALLS_TIMEOUT };
        let mut app = Self::wire(config, admin, Some(limits)).await?;
        (app.shutdown_signals, app.hangup_signals) =
            (Some(ShutdownSignals::new()), Some(HangupSignals::new()));
        Ok(app)
    }

    /// Also stops when the terminal closes (SIGHUP), for a command that serves the user of that terminal.
    pub(crate) fn for_terminal(self) -> Self {
        Self { shutdown_signals: Some(ShutdownSignals::for_terminal()), stops_on_hangup: true, ..self }
    }

    async fn wire(
        config: Config,
        admin: Option<TcpListener>,
        limits: Option<StartLimits>,
    ) -> Result<Self, RunError> {
        let (drain, log_drain, admin_drain) = (Drain::new(), Drain::new(), Drain::new());
        let drain_guards = [&drain, &log_drain, &admin_drain].map(Drain::guard);
        let health = Health::default();
        let sandbox = Arc::new(Sandbox::new(&config.sandbox, &drain)?);
        drain.spawn(sweep_cache_later(sandbox.clone(), drain.clone()));
        let metrics = sandbox.metrics().clone();
        let (watched_uris, change_detector) = (config.watched_uris, config.change_detector.clone());
        let audit =
            AuditLog::open(&config.audit, config.teams.keys(), (metrics.clone(), health.clone()), &log_drain);
        let audit = audit.map_err(RunError::Audit)?;
        let services = SharedServices {
            sandbox,
            drain: drain.clone(),
            health: health.clone(),
            audit: audit.clone(),
            watched_uris,
            change_detector,
        };
        let endpoint = &config.endpoint;
        let authenticator = Authenticator::new(endpoint.auth.clone(), endpoint.caller.clone(), drain.clone());
        let teams = config.teams.values();
        let mut teams_to_run: Vec<_> = teams.map(|team| Team::new(team.clone(), services.clone())).collect();
        let config_handles =
            teams_to_run.iter().map(|team| (team.reader.team().clone(), team.config_handle()));
        let reloader = ConfigReloader::new(&config, &authenticator, config_handles, (&health, &audit));
        let catalogs: Vec<_> = teams_to_run.iter().map(|team| team.reader.clone()).collect();
        health.report("start", "not all components have been loaded yet", Impact::AllTeams);
        if let Some(listener) = admin {
            let folders = config.teams.values().map(|team| team.plugins.clone());
            let teams = folders.zip(catalogs.iter().cloned());
            let teams = teams.map(|(plugins, catalog)| TeamView { plugins, catalog }).collect();
            let (server_drain, own_drain) = (drain.clone(), admin_drain.clone());
            let admin =
                Admin::new(&config.admin, teams, metrics.clone(), health.clone(), server_drain, own_drain);
            admin_drain.spawn(admin.serve(listener));
        }
        let telemetry =
            Telemetry::open(&config.telemetry, config.teams.keys().cloned(), &metrics, &log_drain);
        let telemetry = telemetry.map_err(RunError::Telemetry)?;
        join_all(teams_to_run.iter_mut().map(|team| team.load(limits))).await;
        let parts = teams_to_run.iter().map(|team| (team.reader.clone(), team.signals.clone()));
        let quotas = teams_to_run
            .iter()
            .filter_map(|team| Some((team.reader.team().clone(), team.quota_usage.clone()?)));
        let gateway = Gateway::new(config.gateway, parts).with_audit(audit.clone()).with_quotas(quotas);
        gateway.register_refusal_metrics(&metrics);
        gateway.register_cache_metrics(&metrics);
        let endpoint =
            Endpoint::new(config.endpoint, authenticator, gateway, drain.clone(), (metrics, telemetry));
        health.resolve("start");
        let critical_tasks = CriticalTasks::new(drain.clone());
        Ok(Self {
            endpoint,
            catalogs,
            teams_to_run,
            reloader,
            critical_tasks,
            audit,
            health,
            drain,
            log_drain,
            admin_drain,
            _drain_guards: drain_guards,
            shutdown_grace: config.shutdown_grace,
            shutdown_signals: None,
            hangup_signals: None,
            stops_on_hangup: false,
        })
    }

    /// Starts the tasks that keep the catalogs up to date, without recording pending approvals for `larder
    /// approve`: only a server records them.
    pub fn start_updates(&mut self) {
        self.spawn_updates(false);
    }

    /// Starts the tasks of a server, including the SIGHUP handler, which triggers a scan and a reload.
    fn start_server_tasks(&mut self) {
        fd_limit::raise();
        let teams = self.teams_to_run.iter().map(Team::wake);
        let reloader = self.reloader.iter().flat_map(ConfigReloader::wakes);
        let wakes = teams.chain(reloader).chain(self.audit.reopen_signal()).collect();
        if !self.stops_on_hangup {
            let hangup_signals = self.hangup_signals.take().unwrap_or_else(HangupSignals::new);
            self.drain.spawn(hangup_signals.wake(wakes, self.drain.clone()));
        }
        self.spawn_updates(true);
    }

    fn spawn_updates(&mut self, persists_state: bool) {
        self.teams_to_run.drain(..).for_each(|team| team.start_updates(&self.critical_tasks, persists_state));
        if let Some(reloader) = self.reloader.take() {
            reloader.start(&self.critical_tasks, &self.drain);
        }
    }

    /// Returns what is currently served.
    pub fn served(&self) -> Served {
        self.view().served()
    }

    /// The drain for tasks that write logs, which are stopped after all others.
    pub(crate) fn log_drain(&self) -> &Drain {
        &self.log_drain
    }

    /// Returns what is wrong with the server now, such as files that cannot be read.
    pub fn problems(&self) -> Vec<String> {
        self.health.problems().into_iter().map(|problem| problem.message).collect()
    }

    /// Returns a view of the served catalogs that stays current.
    pub fn view(&self) -> View {
        View(self.catalogs.clone())
    }

    /// Connects a client in this process and returns its end of the stream.
    pub fn connect(&self) -> DuplexStream {
        let (near, far) = tokio::io::duplex(DUPLEX_BUFFER);
        let (input, output) = tokio::io::split(far);
        let endpoint = self.endpoint.clone();
        self.drain.spawn(async move { endpoint.serve_stdio(input, output).await });
        near
    }

    /// Serves HTTP until shutdown.
    pub async fn serve_http(self, listener: Listener) -> Result<(), RunError> {
        let endpoint = self.endpoint.clone();
        self.run(async move { endpoint.serve_http(listener).await }).await
    }

    /// Serves standard input and output until they close, or until shutdown.
    pub async fn serve_stdio(self) -> Result<(), RunError> {
        let endpoint = self.endpoint.clone();
        self.run(async move { endpoint.serve_stdio(tokio::io::stdin(), tokio::io::stdout()).await }).await
    }

    /// Stops all tasks within `shutdown_grace`. Returns whether they ended in time.
    pub async fn finish(self) -> bool {
        let in_time = self.drain.finish(self.shutdown_grace).await;
        let in_time = self.log_drain.finish(FLUSH_TIMEOUT).await && in_time;
        // A client may keep its admin connection open, so this does not count.
        self.admin_drain.finish(ADMIN_TIMEOUT).await;
        in_time
    }

    async fn run(
        mut self,
        serving: impl Future<Output = io::Result<()>> + Send + 'static,
    ) -> Result<(), RunError> {
        self.start_server_tasks();
        let mut shutdown_signals = self.shutdown_signals.take().unwrap_or_else(ShutdownSignals::new);
        let mut serving = self.drain.spawn(serving);
        let mut panicked = false;
        let ended = tokio::select! {
            ended = &mut serving => Some(ended),
            () = shutdown_signals.next() => None,
            () = self.drain.stopping() => None,
            () = self.critical_tasks.panicked() => { panicked = true; None }
        };
        if ended.is_none() {
            tracing::info!(grace = ?self.shutdown_grace, "shutting down; a second signal stops immediately");
        }
        tokio::select! {
            in_time = self.drain.finish(self.shutdown_grace) => if !in_time {
                tracing::warn!("requests were still in flight after the shutdown grace period");
            },
            () = shutdown_signals.next() => {
                tracing::warn!("stopped immediately");
                // End all requests before the audit log closes.
                self.drain.finish(Duration::ZERO).await;
            }
        }
        if !self.log_drain.finish(FLUSH_TIMEOUT).await {
            tracing::error!("could not write the last audit log entries or traces in time");
        }
        self.admin_drain.finish(ADMIN_TIMEOUT).await;
        match ended {
            // The drain has already logged a task that panicked or was dropped.
            Some(Ok(Some(Ok(())))) => Ok(()),
            // A client that disconnects in the middle of a line just disconnected.
            Some(Ok(Some(Err(error)))) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Some(Ok(Some(Err(error)))) => Err(error.into()),
            Some(_) => Err(io::Error::other("its task ended").into()),
            None if panicked => Err(RunError::CriticalTaskPanicked),
            None => Ok(()),
        }
    }
}
