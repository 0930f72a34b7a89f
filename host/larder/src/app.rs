//! Builds all parts of the server from a configuration, connects them, runs them, and shuts them down.

mod admin_listener;
mod critical_tasks;
mod error;
mod fd_limit;
mod file_watcher;
mod guest_stderr;
mod huge_pages;
mod inherited_sockets;
mod interfaces;
mod memory_return;
mod operator_credentials;
mod platform_limitations;
mod registry;
mod reload;
#[cfg(feature = "cluster")]
mod replicas;
mod run;
mod service_manager;
mod serving_report;
mod sessions;
mod signal;
mod stored_state;
mod team;
mod team_collisions;
mod teams;
mod wiring;
#[cfg(not(feature = "cluster"))]
mod without_replicas;

use std::sync::Arc;
use std::time::Duration;

use tokio::io::DuplexStream;
use tokio::sync::watch;

use self::critical_tasks::CriticalTasks;
pub use self::reload::LogHook;
use self::reload::{ReloadRequests, Reloader};
use self::team::Team;
use self::teams::RunningTeams;
#[cfg(not(feature = "cluster"))]
use self::without_replicas as replicas;
use larder_admin::TeamView;
use larder_config::{self as config, Config};
use larder_core::catalog::{Offer, Reader};
use larder_core::reconcile::StartLimits;
use larder_mcp::{Endpoint, Listener};
use larder_runtime::drain::{Drain, DrainGuard, SupervisedTask};
use larder_runtime::health::{Health, Impact};

pub(crate) use admin_listener::bind_explicit_admin;
use admin_listener::for_command;
pub use admin_listener::{IfInUse, bind_admin};
pub use error::{RunError, bind};
pub use inherited_sockets::InheritedSockets;
pub use interfaces::{Argument, Hints, Interfaces, Prompt, Setting, Tool};
pub(crate) use serving_report::full_name;
pub use serving_report::{Provider, RejectedComponent, ServingReport};
use signal::HangupSignals;
pub(crate) use signal::ShutdownSignals;
pub(crate) use stored_state::{is_stored, missing_state, use_stored_keys};

/// The buffer size, in bytes, between an in-process client and the endpoint.
const DUPLEX_BUFFER: usize = 64 << 10;

/// How long the start waits for the components of all teams, so that one team cannot delay the others.
const TEAMS_START_TIMEOUT: Duration = Duration::from_secs(10);
/// Like [`TEAMS_START_TIMEOUT`], without teams. The time is shorter than most clients wait for the first response of a
/// server.
const START_TIMEOUT: Duration = Duration::from_secs(45);
/// How long the start waits for the own calls of providers whose components are compiled.
const OWN_CALLS_TIMEOUT: Duration = Duration::from_secs(1);

/// The running server, or the same parts for one command.
pub struct App {
    endpoint: Endpoint,
    teams: Arc<RunningTeams>,
    /// The parts that keep the catalogs up to date, until their tasks are started.
    teams_to_run: Vec<Team>,
    reloader: Arc<Reloader>,
    /// None when the tasks that watch the file are started.
    reload_requests: Option<ReloadRequests>,
    critical_tasks: CriticalTasks,
    health: Health,
    drain: Drain,
    /// The tasks that write the audit log and traces. They are stopped after all other tasks.
    log_drain: Drain,
    /// The tasks of the admin address, which answers until the end.
    admin_drain: Drain,
    /// These guards stop all tasks if the app is dropped, even while it is built.
    _drain_guards: [DrainGuard; 3],
    /// Registered before the server announces that it is ready. `None` keeps the default signal handling of
    /// the process.
    shutdown_signals: Option<ShutdownSignals>,
    hangup_signals: Option<HangupSignals>,
    /// Whether SIGHUP stops the process instead of triggering a reload, as it should for a command in a terminal.
    stops_on_hangup: bool,
}

/// What the parts are built for.
#[derive(Debug, Clone, Copy)]
enum Purpose {
    /// A command. It stores nothing: pending approvals, for example, are recorded only by a server.
    Command,
    /// A server for the author of a component.
    Development,
    /// A server whose start has these limits.
    Server(StartLimits),
}

impl Purpose {
    fn is_server(self) -> bool {
        matches!(self, Self::Server(_))
    }

    /// Whether sessions, pending approvals and the values of providers are stored.
    fn persists_state(self) -> bool {
        !matches!(self, Self::Command)
    }

    fn start_limits(self) -> Option<StartLimits> {
        match self {
            Self::Server(limits) => Some(limits),
            Self::Command | Self::Development => None,
        }
    }
}

/// Read-only access to the served catalogs.
#[derive(Clone)]
pub struct View(watch::Receiver<Vec<TeamView>>);

impl View {
    /// Returns what is currently served.
    pub fn served(&self) -> ServingReport {
        let teams = self.0.borrow();
        ServingReport::of(teams.iter().map(|team| &team.catalog))
    }
}

impl App {
    /// Builds all parts and loads all components, for a single command. There is no audit log, no traces, no admin
    /// address and no connection to other replicas.
    pub async fn build(mut config: Config) -> Result<Self, RunError> {
        use_stored_keys(&mut config);
        for team in config.teams.values_mut() {
            team.reconcile.approvals = team.reconcile.approvals.clone().read_only();
        }
        let log_hook = Box::new(|_: &config::Log| ());
        Self::wire(for_command(config), None, Purpose::Command, log_hook).await
    }

    /// Builds all parts of a server. The admin address answers from the beginning, and shutdown signals are handled as
    /// soon as this returns. The start waits only a limited time for components to load; the remaining components are
    /// served as soon as they are loaded. `log_hook` is called when the configuration was read again.
    pub async fn build_server(
        config: Config,
        admin: Option<Listener>,
        log_hook: LogHook,
    ) -> Result<Self, RunError> {
        huge_pages::disable();
        log_warnings(&config);
        let limits = StartLimits {
            total: start_timeout(&config),
            own_calls: OWN_CALLS_TIMEOUT,
            ready: config.ready_timeout,
        };
        let mut app = Self::wire(config, admin, Purpose::Server(limits), log_hook).await?;
        platform_limitations::report(&app.health);
        app.keep_running("return of freed memory", memory_return::return_regularly);
        (app.shutdown_signals, app.hangup_signals) =
            (Some(ShutdownSignals::new()), Some(HangupSignals::new()));
        Ok(app)
    }

    /// Also stops when the terminal closes (SIGHUP). For a command that serves the user of that terminal.
    pub(crate) fn for_terminal(self) -> Self {
        Self {
            shutdown_signals: Some(ShutdownSignals::for_terminal()),
            stops_on_hangup: true,
            ..self
        }
    }

    /// Starts the tasks that keep the catalogs up to date.
    pub fn start_updates(&mut self) {
        self.teams_to_run
            .drain(..)
            .for_each(|team| team.start_updates(&self.critical_tasks));
        if let Some(requests) = self.reload_requests.take() {
            self.reloader.clone().start(requests);
        }
    }

    /// Starts the tasks of a server, including the SIGHUP handler, which triggers a scan and a reload.
    fn start_server_tasks(&mut self) {
        fd_limit::raise();
        self.handle_hangups();
        self.start_updates();
        self.keep_running("watchdog of the service manager", service_manager::watch);
    }

    fn handle_hangups(&mut self) {
        if self.stops_on_hangup {
            return;
        }
        let signals = self.hangup_signals.take();
        let signals = signals.unwrap_or_else(HangupSignals::new);
        let reloader = self.reloader.clone();
        let handler = signals.handle(move || reloader.trigger(), self.drain.clone());
        let task = SupervisedTask::new("handler of SIGHUP", Impact::OperatorOnly);
        self.drain.supervise(task, handler);
    }

    /// Runs a task of the server until shutdown.
    fn keep_running<T>(&self, name: &str, task: impl Fn(Drain) -> T + Send + Sync + 'static)
    where
        T: Future<Output = ()> + Send + 'static,
    {
        let drain = self.drain.clone();
        let start = move || task(drain.clone());
        self.drain
            .supervise_restarting(SupervisedTask::new(name, Impact::OperatorOnly), start);
    }

    /// Notifies the service manager that the server accepts requests at this address.
    pub fn announce_to_service_manager(&self, at: &str) {
        service_manager::ready(&format!("serves {at}"));
    }

    /// Returns what is currently served.
    pub fn served(&self) -> ServingReport {
        self.view().served()
    }

    /// The drain for tasks that write logs. These tasks are stopped after all other tasks.
    pub(crate) fn log_drain(&self) -> &Drain {
        &self.log_drain
    }

    /// Returns the current problems of the server, such as files that cannot be read.
    pub fn problems(&self) -> Vec<String> {
        self.health
            .problems()
            .into_iter()
            .map(|problem| problem.message)
            .collect()
    }

    /// Returns the catalogs of all teams.
    fn catalogs(&self) -> Vec<Reader> {
        self.teams
            .views()
            .borrow()
            .iter()
            .map(|team| team.catalog.clone())
            .collect()
    }

    /// Returns what the providers of all teams offer.
    fn offers(&self) -> Vec<Arc<Offer>> {
        let mut offers = Vec::new();
        for catalog in self.catalogs() {
            offers.extend_from_slice(catalog.snapshot().offers());
        }
        offers
    }

    /// Returns a view of the served catalogs that stays current.
    pub fn view(&self) -> View {
        View(self.teams.views())
    }

    /// Connects a client in this process and returns its end of the stream.
    pub fn connect(&self) -> DuplexStream {
        let (near, far) = tokio::io::duplex(DUPLEX_BUFFER);
        let (input, output) = tokio::io::split(far);
        let endpoint = self.endpoint.clone();
        self.drain
            .spawn(async move { endpoint.serve_stdio(input, output).await });
        near
    }
}

fn log_warnings(config: &Config) {
    for warning in &config.warnings {
        tracing::warn!("{}", warning.in_file(config.file.as_deref()));
    }
}

/// Returns how long the start may wait for components to load.
fn start_timeout(config: &Config) -> Duration {
    if config.teams.len() > 1 {
        TEAMS_START_TIMEOUT
    } else {
        START_TIMEOUT
    }
}

#[cfg(test)]
mod tests;
