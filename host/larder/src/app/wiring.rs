//! Connects the parts of the server.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use tokio::sync::watch;

use super::critical_tasks::CriticalTasks;
use super::operator_credentials::{CATALOG_JSON, operator_credentials};
use super::reload::{ReloadableParts, Reloader};
use super::replicas::Replicas;
use super::team::SharedServices;
use super::teams::RunningTeams;
use super::{App, RunError};
use crate::config::Config;
use crate::text_indexes::TextIndexes;
use larder_admin::{Admin, FetchError, Folders, Issuer, ReloadTrigger, Reloaded, Sources};
use larder_core::audit::AuditLog;
use larder_core::gateway::Gateway;
use larder_core::reconcile::StartLimits;
use larder_core::telemetry::Telemetry;
use larder_mcp::auth::Authenticator;
use larder_mcp::{Endpoint, Listener};
use larder_runtime::drain::{Drain, SupervisedTask, TaskPanics};
use larder_runtime::health::{Health, Impact};
use larder_sandbox::{CacheLocation, Sandbox};

/// The delay between the start and the removal of old files from the compilation cache.
const CACHE_SWEEP_DELAY: Duration = Duration::from_secs(10);

impl App {
    pub(super) async fn wire(
        config: Config,
        admin: Option<Listener>,
        limits: Option<StartLimits>,
    ) -> Result<Self, RunError> {
        let health = Health::default();
        let panics = TaskPanics::new(health.clone());
        let drain = Drain::reporting(panics.clone());
        let log_drain = Drain::reporting(panics.clone());
        let admin_drain = Drain::reporting(panics.clone());
        let drain_guards = [&drain, &log_drain, &admin_drain].map(Drain::guard);
        let sandbox = Arc::new(Sandbox::new(&config.sandbox, &drain)?);
        drain.spawn(sweep_cache_later(sandbox.clone(), drain.clone()));
        let metrics = sandbox.metrics().clone();
        let memory = sandbox.memory_budget().clone();
        panics.register_metrics(&metrics);
        metrics.register_problems(&health);
        memory.set_team_count(config.teams.len());
        let shares = sandbox.shares().clone();
        let shares_of_teams = shares.teams(config.teams.keys());
        let audit = AuditLog::open(
            &config.audit,
            shares_of_teams.clone(),
            metrics.clone(),
            health.clone(),
            &log_drain,
        )
        .map_err(RunError::Audit)?;
        let authenticator = authenticator(&config, &drain);
        authenticator.register_metrics(&metrics);
        let replicas = Replicas::start(&config, &health, &metrics, &drain)?;
        let teams = Arc::new(RunningTeams::new(SharedServices {
            sandbox,
            replicas: replicas.clone(),
            drain: drain.clone(),
            health: health.clone(),
            audit: audit.clone(),
            watched_uris: config.watched_uris,
            change_detector: config.change_detector.clone(),
            state_dir: config.state_dir.clone(),
            is_server: limits.is_some(),
            text_indexes: TextIndexes::default(),
        }));
        let mut teams_to_run = teams.set(&config.teams).added;
        health.report(
            "start",
            "not all components have been loaded yet",
            Impact::AllTeams,
        );
        let needs_restart = watch::Sender::default();
        let reloader_slot = Arc::default();
        let gateway_slot = Arc::<OnceLock<Gateway>>::default();
        if let Some(listener) = admin {
            let sources = Sources {
                teams: teams.views(),
                metrics: metrics.clone(),
                memory: memory.clone(),
                folders: folders(&config),
                health: health.clone(),
                issuer: issuer_source(&config, &authenticator),
                cluster: cluster_source(replicas.clone()),
                needs_restart: needs_restart.subscribe(),
                audit: audit.clone(),
                reload: reload_trigger(&reloader_slot),
                gateway: gateway_slot.clone(),
                credentials: operator_credentials(&config, &authenticator),
                catalog_json: CATALOG_JSON,
                server_drain: drain.clone(),
            };
            let admin = Admin::new(&config.admin, sources, admin_drain.clone());
            let task = SupervisedTask::new("admin address", Impact::OperatorOnly);
            admin_drain.supervise(task, admin.serve(listener));
        }
        let telemetry = Telemetry::open(&config.telemetry, shares_of_teams, &metrics, &log_drain);
        let telemetry = telemetry.map_err(RunError::Telemetry)?;
        join_all(teams_to_run.iter_mut().map(|team| team.load(limits))).await;
        let gateway = Gateway::new(config.gateway.clone(), teams.gateway_parts())
            .with_audit(audit.clone())
            .with_quotas(teams.quotas())
            .with_memory(memory);
        gateway.set_text_indexes(teams.text_indexes());
        // It is set here only.
        _ = gateway_slot.set(gateway.clone());
        gateway.register_refusal_metrics(&metrics);
        gateway.register_cache_metrics(&metrics);
        let events = metrics.events().clone();
        let endpoint = Endpoint::new(
            config.endpoint.clone(),
            authenticator.clone(),
            gateway.clone(),
            drain.clone(),
            metrics,
            telemetry.clone(),
        );
        if replicas.is_some() {
            endpoint.expect_replicas();
        }
        health.resolve("start");
        let critical_tasks = CriticalTasks::new(drain.clone());
        let parts = ReloadableParts {
            authenticator,
            gateway,
            endpoint: endpoint.clone(),
            telemetry,
            audit,
            shares,
            events,
            teams: teams.clone(),
            critical_tasks: critical_tasks.clone(),
            health: health.clone(),
            drain: drain.clone(),
        };
        let reloader = Arc::new(Reloader::new(config, parts, needs_restart));
        // It is set here only.
        _ = reloader_slot.set(reloader.clone());
        Ok(Self {
            endpoint,
            replicas,
            teams,
            teams_to_run,
            reloader,
            critical_tasks,
            health,
            drain,
            log_drain,
            admin_drain,
            _drain_guards: drain_guards,
            shutdown_signals: None,
            hangup_signals: None,
            stops_on_hangup: false,
        })
    }
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

/// Returns what the admin address shows of the other replicas.
fn cluster_source(
    replicas: Option<Replicas>,
) -> Box<dyn Fn() -> Option<larder_admin::Cluster> + Send + Sync> {
    Box::new(move || replicas.as_ref().map(Replicas::status))
}

/// Removes old files from the compilation cache, some time after the start: there can be thousands of them,
/// and the start has more urgent work.
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

/// Returns what the admin address shows of the issuer. Clients on stdio have no credentials, so its keys are not even
/// fetched there.
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

/// Returns the trigger of the admin address, which answers before the reloader exists.
fn reload_trigger(reloader: &Arc<OnceLock<Arc<Reloader>>>) -> ReloadTrigger {
    let reloader = reloader.clone();
    ReloadTrigger::new(move || {
        let reloader = reloader.get().cloned();
        async move {
            match reloader {
                Some(reloader) => reloader.reload().await,
                None => Reloaded {
                    errors: vec!["the server is starting: try again later".into()],
                    ..Reloaded::default()
                },
            }
        }
        .boxed()
    })
}
