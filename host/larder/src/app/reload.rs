//! Reloads the configuration while the server runs. Credentials are reloaded separately, so that the revocation of a
//! credential does not wait for the folders of teams, and also works if the rest of the file is invalid.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use tokio::sync::{Notify, mpsc, oneshot, watch};

use super::critical_tasks::CriticalTasks;
use super::file_watcher::{ReloadRequest, WatchedFile};
use super::team::Team;
use super::team_collisions;
use super::teams::{RunningTeam, RunningTeams, TeamChanges};
use larder_admin::ReloadReport;
use larder_config::{self as config, Config, ConfigReload, SecretFiles};
use larder_core::audit::{AuditEvent, AuditLog};
use larder_core::gateway::Gateway;
use larder_core::telemetry::Telemetry;
use larder_mcp::Endpoint;
use larder_mcp::auth::Authenticator;
use larder_model::name::TeamName;
use larder_model::policy::CredentialStore;
use larder_runtime::drain::{Drain, SupervisedTask};
use larder_runtime::health::{Health, Impact};
use larder_runtime::history::{Event, EventKind};
use larder_runtime::metrics::Metrics;
use larder_runtime::shares::Shares;

/// How long calls of a removed team may continue.
const REMOVAL_GRACE: Duration = Duration::from_secs(1);
/// The two parts of the file, which have a reload each. Their problems are reported to health under these names.
const CREDENTIALS: &str = "credentials";
const CONFIGURATION: &str = "configuration";

/// All parts that a reload changes.
pub(super) struct ReloadableParts {
    pub(super) authenticator: Authenticator,
    pub(super) gateway: Gateway,
    pub(super) endpoint: Endpoint,
    pub(super) telemetry: Telemetry,
    pub(super) audit: AuditLog,
    pub(super) shares: Shares,
    pub(super) credentials: CredentialStore,
    pub(super) metrics: Metrics,
    pub(super) teams: Arc<RunningTeams>,
    pub(super) critical_tasks: CriticalTasks,
    pub(super) health: Health,
    pub(super) drain: Drain,
    pub(super) log_hook: LogHook,
}

/// Is called with the configuration of the log at each reload.
pub type LogHook = Box<dyn Fn(&config::Log) + Send + Sync>;

/// Reloads the configuration whenever the file changes, and on request.
pub(super) struct Reloader {
    /// The configuration that is in effect.
    running: watch::Sender<Config>,
    needs_restart: watch::Sender<Vec<String>>,
    /// When the file was read last without an error, in seconds since 1970.
    last_success: Arc<AtomicU64>,
    parts: ReloadableParts,
    credentials: Watcher,
    configuration: Watcher,
}

/// The connection to one of the two tasks that watch the file.
struct Watcher {
    wake: Arc<Notify>,
    requests: mpsc::UnboundedSender<ReloadRequest>,
}

/// What the two tasks receive.
pub(super) struct ReloadRequests {
    credentials: mpsc::UnboundedReceiver<ReloadRequest>,
    configuration: mpsc::UnboundedReceiver<ReloadRequest>,
}

impl Watcher {
    fn new() -> (Self, mpsc::UnboundedReceiver<ReloadRequest>) {
        let (requests, received) = mpsc::unbounded_channel();
        let wake = Arc::default();
        (Self { wake, requests }, received)
    }

    /// Reloads now, and returns the result.
    async fn reload(&self) -> Result<(), String> {
        let (request, result) = oneshot::channel();
        let stopping = || Err("the server is stopping".to_owned());
        match self.requests.send(request) {
            Ok(()) => result.await.unwrap_or_else(|_| stopping()),
            Err(_) => stopping(),
        }
    }
}

impl Reloader {
    /// Also returns the requests, for [`Self::start`].
    pub(super) fn new(
        config: Config,
        parts: ReloadableParts,
        needs_restart: watch::Sender<Vec<String>>,
    ) -> (Arc<Self>, ReloadRequests) {
        let last_success = Arc::new(AtomicU64::new(now()));
        register_metrics(&parts, last_success.clone());
        let (credentials, credential_requests) = Watcher::new();
        let (configuration, configuration_requests) = Watcher::new();
        let reloader = Self {
            running: watch::Sender::new(config),
            needs_restart,
            last_success,
            parts,
            credentials,
            configuration,
        };
        let requests = ReloadRequests {
            credentials: credential_requests,
            configuration: configuration_requests,
        };
        (Arc::new(reloader), requests)
    }

    /// How long requests in flight may continue after shutdown begins.
    pub(super) fn shutdown_grace(&self) -> Duration {
        self.running.borrow().shutdown_grace
    }

    fn report_collisions(&self) {
        let gateway = self.parts.gateway.clone();
        let health = self.parts.health.clone();
        let drain = self.parts.drain.clone();
        let report =
            move || team_collisions::report(gateway.clone(), health.clone(), drain.clone());
        let task = SupervisedTask::new("team collisions", Impact::OperatorOnly);
        self.parts.drain.supervise_restarting(task, report);
    }

    /// Starts to watch the file, if the server has a file, and to report collisions between teams.
    pub(super) fn start(self: Arc<Self>, requests: ReloadRequests) {
        self.report_collisions();
        let this = self.clone();
        // Credentials name no files.
        self.watch(
            CREDENTIALS,
            &self.credentials,
            requests.credentials,
            Box::new(SecretFiles::new),
            move || this.audited("reload-credentials", || this.reload_auth()),
        );
        let this = self.clone();
        let secret_files = Box::new(move || this.running.borrow().secret_files.clone());
        let this = self.clone();
        self.watch(
            CONFIGURATION,
            &self.configuration,
            requests.configuration,
            secret_files,
            move || this.audited("reload-configuration", || this.reload_config()),
        );
    }

    fn watch(
        &self,
        section: &'static str,
        watcher: &Watcher,
        requests: mpsc::UnboundedReceiver<ReloadRequest>,
        named_files: Box<dyn Fn() -> SecretFiles + Send>,
        action: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) {
        let running = self.running.borrow();
        let Some(path) = running.file.clone() else {
            return;
        };
        let file = WatchedFile {
            section,
            path,
            applied: running.fingerprint,
            named_files,
            scan_interval: shortest_scan_interval(&running),
            health: self.parts.health.clone(),
            wake: watcher.wake.clone(),
        };
        self.parts.critical_tasks.spawn(
            section,
            file.run(self.parts.drain.clone(), requests, action),
        );
    }

    /// Makes the server scan the plugins folders, check the file, and open the audit log again.
    pub(super) fn trigger(&self) {
        self.scan_and_reopen();
        self.credentials.wake.notify_one();
        self.configuration.wake.notify_one();
    }

    fn scan_and_reopen(&self) {
        self.parts.teams.scan();
        if let Some(reopen) = self.parts.audit.reopen_signal() {
            reopen.notify_one();
        }
    }

    /// Does the same as [`Self::trigger`], reads the file even if it has not changed, and returns the result.
    pub(super) async fn reload(&self) -> ReloadReport {
        self.scan_and_reopen();
        let mut errors = Vec::new();
        if self.running.borrow().file.is_some() {
            for watcher in [&self.credentials, &self.configuration] {
                let error = watcher.reload().await.err();
                errors.extend(error.into_iter().flat_map(|error| lines(&error)));
            }
        }
        let needs_restart = self.needs_restart.borrow().clone();
        ReloadReport {
            ok: errors.is_empty(),
            errors,
            needs_restart,
        }
    }

    /// Reloads, and records the result in the audit log.
    fn audited(
        &self,
        operation: &'static str,
        reload: impl FnOnce() -> Result<(), String>,
    ) -> Result<(), String> {
        let result = reload();
        let outcome = if result.is_ok() { "ok" } else { "failed" };
        let details: Vec<_> = result.as_ref().err().cloned().into_iter().collect();
        self.parts.audit.record(&AuditEvent {
            details: &details,
            ..AuditEvent::new(operation, outcome)
        });
        let text = format!("the configuration was read again ({operation}): {outcome}");
        self.parts
            .metrics
            .events()
            .record(Event::new(EventKind::Reload, text).with("error", details.join("\n")));
        result
    }

    fn reload_auth(&self) -> Result<(), String> {
        let running = self.running.borrow().clone();
        let authenticator = &self.parts.authenticator;
        let reloaded = running
            .reload_auth(&authenticator.config())
            .map_err(|error| error.to_string())?;
        authenticator.reload(reloaded.auth);
        match reloaded.error {
            None => Ok(()),
            Some(error) => Err(format!(
                "removed credentials are revoked; other changes have no effect until these errors are fixed: {error}"
            )),
        }
    }

    fn reload_config(&self) -> Result<(), String> {
        let before = self.running.borrow().clone();
        let ConfigReload {
            config,
            needs_restart,
        } = before.reload().map_err(|error| error.to_string())?;
        log_new_warnings(&config, &before);
        self.apply(&config);
        self.running.send_replace(config);
        let reported = self.needs_restart.send_replace(needs_restart.clone());
        for key in needs_restart.iter().filter(|key| !reported.contains(key)) {
            tracing::warn!(key, "changed; this takes effect after a restart");
        }
        self.last_success.store(now(), Relaxed);
        Ok(())
    }

    /// Applies a configuration. Each part receives everything that concerns it, and takes what it can change.
    fn apply(&self, config: &Config) {
        let parts = &self.parts;
        // Before the teams: a revision that is loaded now must find the credentials of its grant.
        parts.credentials.set(config.credentials());
        let changes = parts.teams.set(&config.teams);
        if !changes.is_empty() {
            let shares = parts.shares.teams(config.teams.keys());
            parts.audit.set_teams(shares.clone());
            parts.telemetry.set_teams(shares);
            parts.gateway.memory().set_team_count(config.teams.len());
        }
        parts
            .gateway
            .reload(config.gateway.clone(), parts.teams.gateway_parts());
        parts.endpoint.reload(config.endpoint.clone());
        parts
            .authenticator
            .set_anonymous_caller(config.endpoint.caller.clone());
        (parts.log_hook)(&config.log);
        self.finish_changes(changes);
    }

    /// Starts the tasks of new teams, and stops the tasks of removed teams.
    fn finish_changes(&self, changes: TeamChanges) {
        for team in changes.added {
            self.start_team(team);
        }
        for (name, team) in changes.removed {
            self.stop_team(&name, team);
        }
    }

    fn start_team(&self, team: Team) {
        tracing::info!(team = %team.reader.team(), "team added");
        team.start_updates(&self.parts.critical_tasks);
    }

    fn stop_team(&self, name: &TeamName, team: RunningTeam) {
        tracing::info!(team = %name, "team removed");
        self.parts
            .drain
            .spawn(async move { team.remove(REMOVAL_GRACE).await });
    }
}

fn shortest_scan_interval(config: &Config) -> Duration {
    let teams = config.teams.values();
    let intervals = teams.map(|team| team.reconcile.scan_interval);
    intervals.min().unwrap_or_default()
}

/// Logs the warnings that the configuration before did not have.
fn log_new_warnings(config: &Config, before: &Config) {
    for warning in &config.warnings {
        if !before.warnings.contains(warning) {
            tracing::warn!("{}", warning.in_file(config.file.as_deref()));
        }
    }
}

fn register_metrics(parts: &ReloadableParts, last_success: Arc<AtomicU64>) {
    let health = parts.health.clone();
    let has_succeeded = move || {
        let has_failed = health.has_problem(CREDENTIALS) || health.has_problem(CONFIGURATION);
        u64::from(!has_failed)
    };
    parts.metrics.register_gauge(
        "larder_config_last_reload_successful",
        "1 if the configuration file is in effect as it is, else 0",
        has_succeeded,
    );
    parts.metrics.register_gauge(
        "larder_config_last_reload_success_timestamp_seconds",
        "When the configuration file was read last without an error",
        move || last_success.load(Relaxed),
    );
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |time| time.as_secs())
}

fn lines(error: &str) -> Vec<String> {
    error.lines().map(str::to_owned).collect()
}
