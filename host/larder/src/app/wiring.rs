//! Connects the parts of the server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use tokio::sync::watch;

use super::critical_tasks::CriticalTasks;
use super::operator_credentials::{CATALOG_JSON, operator_credentials};
use super::reload::{LogHook, ReloadableParts, Reloader};
use super::replicas::Replicas;
use super::sessions::stored_sessions;
use super::team::SharedServices;
use super::teams::RunningTeams;
use super::{App, Purpose, RunError};
use crate::text_indexes::TextIndexes;
use larder_admin::{Admin, FetchError, Folders, Issuer, ReloadTrigger, Sources, StartedServer};
use larder_config::Config;
use larder_core::audit::AuditLog;
use larder_core::gateway::Gateway;
use larder_core::telemetry::Telemetry;
use larder_mcp::auth::Authenticator;
use larder_mcp::{Endpoint, EndpointParts, Listener};
use larder_model::name::TeamName;
use larder_runtime::drain::{Drain, DrainGuard, SupervisedTask, TaskPanics};
use larder_runtime::health::{Health, Impact};
use larder_runtime::metrics::Metrics;
use larder_runtime::shares::TeamShares;
use larder_sandbox::{CacheLocation, Sandbox};

/// The delay between the start and the removal of old files from the compilation cache.
const CACHE_SWEEP_DELAY: Duration = Duration::from_secs(10);

impl App {
    pub(super) async fn wire(
        config: Config,
        admin: Option<Listener>,
        purpose: Purpose,
        log_hook: LogHook,
    ) -> Result<Self, RunError> {
        let common = CommonParts::start(&config)?;
        let teams = Arc::new(common.teams(&config, purpose));
        teams.register_metrics(&common.metrics);
        let mut teams_to_run = teams.set(&config.teams).added;
        common.report_start();
        let needs_restart = watch::Sender::default();
        let started = watch::Sender::default();
        if let Some(listener) = admin {
            let sources = common.admin_sources(&config, &teams, &needs_restart, &started);
            common.serve_admin(listener, &config, sources);
        }
        let telemetry = common.telemetry(&config)?;
        let limits = purpose.start_limits();
        join_all(teams_to_run.iter_mut().map(|team| team.load(limits))).await;
        let gateway = common.gateway(&config, &teams);
        let endpoint = common
            .endpoint(&config, &gateway, &telemetry, purpose)
            .await;
        let critical_tasks = CriticalTasks::new(common.drains.server.clone());
        let parts = ReloadableParts {
            authenticator: common.authenticator,
            gateway: gateway.clone(),
            endpoint: endpoint.clone(),
            telemetry,
            audit: common.audit,
            shares: common.sandbox.shares().clone(),
            credentials: common.sandbox.credentials().clone(),
            metrics: common.metrics.clone(),
            teams: teams.clone(),
            critical_tasks: critical_tasks.clone(),
            health: common.health.clone(),
            drain: common.drains.server.clone(),
            log_hook,
        };
        let (reloader, reload_requests) = Reloader::new(config, parts, needs_restart);
        started.send_replace(Some(StartedServer {
            gateway,
            reload: reload_trigger(reloader.clone()),
        }));
        common.health.resolve("start");
        Ok(Self {
            endpoint,
            teams,
            teams_to_run,
            reloader,
            reload_requests: Some(reload_requests),
            critical_tasks,
            health: common.health,
            drain: common.drains.server,
            log_drain: common.drains.log,
            admin_drain: common.drains.admin,
            _drain_guards: common.drains.guards,
            shutdown_signals: None,
            hangup_signals: None,
            stops_on_hangup: false,
        })
    }
}

/// The parts that the others use.
struct CommonParts {
    health: Health,
    drains: Drains,
    sandbox: Arc<Sandbox>,
    metrics: Metrics,
    team_shares: BTreeMap<TeamName, TeamShares>,
    audit: AuditLog,
    authenticator: Authenticator,
    replicas: Option<Replicas>,
}

struct Drains {
    server: Drain,
    log: Drain,
    admin: Drain,
    /// Stop all tasks if the start fails.
    guards: [DrainGuard; 3],
}

impl Drains {
    fn new(panics: &TaskPanics) -> Self {
        let drain = || Drain::reporting(panics.clone());
        let server = drain();
        let log = drain();
        let admin = drain();
        let guards = [&server, &log, &admin].map(Drain::guard);
        Self {
            server,
            log,
            admin,
            guards,
        }
    }
}

impl CommonParts {
    fn start(config: &Config) -> Result<Self, RunError> {
        let health = Health::default();
        let panics = TaskPanics::new(health.clone());
        let drains = Drains::new(&panics);
        let sandbox = start_sandbox(config, &drains.server)?;
        let metrics = sandbox.metrics().clone();
        panics.register_metrics(&metrics);
        metrics.register_problems(&health);
        let team_shares = sandbox.shares().teams(config.teams.keys());
        let audit = AuditLog::open(
            &config.audit,
            team_shares.clone(),
            metrics.clone(),
            health.clone(),
            &drains.log,
        )
        .map_err(RunError::Audit)?;
        let authenticator = authenticator(config, &drains.server);
        authenticator.register_metrics(&metrics);
        let replicas = Replicas::start(config, &health, &metrics, &drains.server)?;
        Ok(Self {
            health,
            drains,
            sandbox,
            metrics,
            team_shares,
            audit,
            authenticator,
            replicas,
        })
    }

    fn teams(&self, config: &Config, purpose: Purpose) -> RunningTeams {
        RunningTeams::new(SharedServices {
            engine: self.sandbox.clone(),
            replicas: self.replicas.clone(),
            drain: self.drains.server.clone(),
            health: self.health.clone(),
            audit: self.audit.clone(),
            watched_uris: config.watched_uris,
            change_detector: config.change_detector.clone(),
            state_dir: config.state_dir.clone(),
            purpose,
            text_indexes: TextIndexes::new(config.text_index),
        })
    }

    fn report_start(&self) {
        let message = "not all components have been loaded yet";
        self.health.report("start", message, Impact::AllTeams);
    }

    fn serve_admin(&self, listener: Listener, config: &Config, sources: Sources) {
        let drain = &self.drains.admin;
        let admin = Admin::new(&config.admin, sources, drain.clone());
        let task = SupervisedTask::new("admin address", Impact::OperatorOnly);
        drain.supervise(task, admin.serve(listener));
    }

    fn admin_sources(
        &self,
        config: &Config,
        teams: &RunningTeams,
        needs_restart: &watch::Sender<Vec<String>>,
        started: &watch::Sender<Option<StartedServer>>,
    ) -> Sources {
        Sources {
            teams: teams.views(),
            metrics: self.metrics.clone(),
            memory: self.sandbox.memory_budget().clone(),
            folders: folders(config),
            health: self.health.clone(),
            issuer: issuer_source(config, &self.authenticator),
            cluster: cluster_source(self.replicas.clone()),
            needs_restart: needs_restart.subscribe(),
            audit: self.audit.clone(),
            started: started.subscribe(),
            credentials: operator_credentials(config, &self.authenticator),
            catalog_json: CATALOG_JSON,
            server_drain: self.drains.server.clone(),
        }
    }

    fn telemetry(&self, config: &Config) -> Result<Telemetry, RunError> {
        Telemetry::open(
            &config.telemetry,
            self.team_shares.clone(),
            &self.metrics,
            &self.drains.log,
        )
        .map_err(RunError::Telemetry)
    }

    fn gateway(&self, config: &Config, teams: &RunningTeams) -> Gateway {
        let memory = self.sandbox.memory_budget().clone();
        let gateway = Gateway::new(config.gateway.clone(), teams.gateway_parts(), memory)
            .with_audit(self.audit.clone());
        gateway.register_refusal_metrics(&self.metrics);
        gateway.register_cache_metrics(&self.metrics);
        gateway
    }

    async fn endpoint(
        &self,
        config: &Config,
        gateway: &Gateway,
        telemetry: &Telemetry,
        purpose: Purpose,
    ) -> Endpoint {
        let replicas = self.replicas.as_ref();
        let parts = EndpointParts {
            authenticator: self.authenticator.clone(),
            gateway: gateway.clone(),
            drain: self.drains.server.clone(),
            metrics: self.metrics.clone(),
            telemetry: telemetry.clone(),
            replica: replicas.and_then(Replicas::this_replica),
            stored_sessions: stored_sessions(config, replicas, purpose).await,
        };
        Endpoint::new(config.endpoint.clone(), parts)
    }
}

fn start_sandbox(config: &Config, drain: &Drain) -> Result<Arc<Sandbox>, RunError> {
    let sandbox = Arc::new(Sandbox::new(&config.sandbox, drain)?);
    sandbox.credentials().set(config.credentials());
    drain.spawn(sweep_cache_later(sandbox.clone(), drain.clone()));
    sandbox.memory_budget().set_team_count(config.teams.len());
    Ok(sandbox)
}

/// Where the server keeps its files.
fn folders(config: &Config) -> Folders {
    let text = |path: &PathBuf| path.display().to_string();
    Folders {
        configuration: config.file.as_ref().map(text),
        state: text(&config.state_dir),
        cache: match &config.sandbox.compiler.cache.location {
            CacheLocation::Configured(path) | CacheLocation::Default(path) => Some(text(path)),
            CacheLocation::Temporary => None,
        },
    }
}

/// Returns the data of the other replicas for the admin address.
fn cluster_source(
    replicas: Option<Replicas>,
) -> Box<dyn Fn() -> Option<larder_admin::Cluster> + Send + Sync> {
    Box::new(move || replicas.as_ref().map(Replicas::status))
}

/// Removes old files from the compilation cache, some time after the start: there can be thousands of files, and other
/// work at the start is more urgent.
async fn sweep_cache_later(sandbox: Arc<Sandbox>, drain: Drain) {
    if drain
        .run_until_stopping(tokio::time::sleep(CACHE_SWEEP_DELAY))
        .await
        .is_some()
    {
        drain.spawn_blocking(move || sandbox.sweep_cache());
    }
}

fn authenticator(config: &Config, drain: &Drain) -> Authenticator {
    let endpoint = &config.endpoint;
    Authenticator::new(
        endpoint.auth.clone(),
        endpoint.caller.clone(),
        drain.clone(),
    )
}

/// Returns the state of the issuer for the admin address. Clients on stdio have no credentials, so the issuer's keys
/// are not fetched for them.
fn issuer_source(
    config: &Config,
    authenticator: &Authenticator,
) -> Box<dyn Fn() -> Option<Issuer> + Send + Sync> {
    let time = |at: SystemTime| humantime::format_rfc3339_seconds(at).to_string();
    let is_over_stdio = config.is_over_stdio;
    let authenticator = authenticator.clone();
    Box::new(move || {
        let state = authenticator.issuer_state().filter(|_| !is_over_stdio)?;
        Some(Issuer {
            issuer: state.issuer,
            keys: state.keys,
            fetched: state.fetched.map(time),
            error: state.failure.map(|(at, message)| FetchError {
                at: time(at),
                message,
            }),
            is_only_credential: state.is_only_credential,
        })
    })
}

/// Returns the trigger of the admin address.
fn reload_trigger(reloader: Arc<Reloader>) -> ReloadTrigger {
    ReloadTrigger::new(move || {
        let reloader = reloader.clone();
        async move { reloader.reload().await }.boxed()
    })
}
