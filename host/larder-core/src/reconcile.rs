//! Compares the artifacts of the sources with the components that are served, and loads what differs.
//!
//! Loading runs in the background. A new revision is published in one step, after it is known to work. A
//! faulty component is not an error of this module: it becomes an entry in the catalog, and the last good
//! revision keeps serving. This is the only module that loads components.

mod approvals;
mod components;
mod config;
mod desired_state;
mod event_loop;
mod load;
mod pass;
mod pass_events;
mod phases;
mod rate_limiter;
mod replica_reports;
mod scan_schedule;
mod source_scanner;
mod state;
mod state_writer;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc};

pub use self::approvals::{
    ApprovalScope, Approvals, ApprovalsError, Imports, PendingApprovalRecord, RejectedRequest,
    StoredState, ToolChange,
};
pub(crate) use self::approvals::{PinCheck, PinDecision, PinKind, Pins};
pub use self::components::{ComponentReport, Components, RevisionRecord, RevisionState};
pub use self::config::{Config, ConfigHandle, ProviderConfig};
use self::desired_state::{DesiredComponents, DesiredState};
pub use self::load::MAX_GRANT_REQUEST_SIZE;
use self::load::{LoadEvent, Loader, LoaderParts};
pub use self::pass::{ReconcilePass, RevisionSummary};
pub use self::phases::LoadPhases;
use self::rate_limiter::RateLimiter;
use self::replica_reports::ReplicaReports;
use self::source_scanner::SourceScanner;
use self::state::State;
use self::state_writer::{PersistedState, StateWriter};
use crate::audit::AuditLog;
use crate::catalog::Writer;
use crate::replicas::TeamReplicas;
use crate::source::Source;
use larder_key_value::KeyValueStore;
use larder_model::name::{ProviderName, TeamName};
use larder_model::policy::QuotaUsage;
use larder_provider::{Engine, SignalReceiver, SignalSender, signal_channel};
use larder_runtime::drain::Drain;
use larder_runtime::file_fingerprint::FileFingerprint;
use larder_runtime::health::{Health, Impact};

/// Limit of concurrent loads. It is above one so that a slow component does not delay the others.
const MAX_CONCURRENT_LOADS: usize = 4;
/// Limit of providers that are called at the same time to get their descriptions and lists, not counting slow ones.
const MAX_CONCURRENT_PROBES: usize = 8;
/// Maximum number of threads that read the files of one team. A file on a mount whose server is gone blocks its thread
/// forever. Because of this limit, it blocks only the loads of its own team.
const MAX_FILE_THREADS: usize = 8;

/// How long the start of a server waits for the components that are present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartLimits {
    /// The time for the whole wait.
    pub total: Duration,
    /// The time for the own calls of the providers, which begins when their components are compiled.
    pub own_calls: Duration,
    /// How long the server is not ready while components are not served yet.
    pub ready: Duration,
}

/// What a reconciler works with.
pub struct ReconcilerParts {
    /// If several sources have a component of the same name, the first of them is used.
    pub sources: Vec<Box<dyn Source>>,
    /// Compiles the components and calls them.
    pub engine: Arc<dyn Engine>,
    /// Publishes the catalog of the team.
    pub writer: Writer,
    /// The quota of the team and its use; none without a quota.
    pub quota_usage: Option<Arc<QuotaUsage>>,
    /// The store of providers with a grant for it; none in a process without a store.
    pub key_value: Option<KeyValueStore>,
    /// The drain of the tasks.
    pub drain: Drain,
}

/// The reconcile loop of one team.
pub struct Reconciler {
    scanner: SourceScanner,
    state_writer: StateWriter,
    state: State,
    list_refresh_limiter: RateLimiter<ProviderName>,
    replica_reports: ReplicaReports,
    writer: Writer,
    loader: Arc<Loader>,
    team: TeamName,
    scan_interval: Duration,
    load_events: mpsc::UnboundedReceiver<LoadEvent>,
    signal_receiver: SignalReceiver,
    config_handle: ConfigHandle,
    persists_state: bool,
    /// True until everything that was present at the start is loaded. All these components get the same generation, in
    /// whatever order the loads finish.
    starting: bool,
    /// Until when the server is not ready while components are not served yet. `None` after that time, and when all
    /// components are served.
    ready_by: Option<tokio::time::Instant>,
    health: Health,
    audit: AuditLog,
    components: Components,
    /// The version of the approvals that the last scan found.
    approvals: Option<FileFingerprint>,
    drain: Drain,
}

impl Reconciler {
    /// Creates a reconciler. It loads nothing before the first pass.
    pub fn new(config: Config, parts: ReconcilerParts) -> Self {
        let (signals, signal_receiver) = signal_channel();
        let (load_events_sender, load_events) = mpsc::unbounded_channel();
        let team = config.team.clone();
        let scan_interval = config.scan_interval;
        let config_handle = ConfigHandle::new(config);
        let config_updates = config_handle.subscribe();
        let config = config_updates.borrow().clone();
        let state_writer =
            StateWriter::new(config.approvals.clone(), team.clone(), parts.drain.clone());
        let desired_state =
            DesiredState::new(parts.sources, config_updates, parts.quota_usage.clone());
        let loader = LoaderParts {
            engine: parts.engine,
            quota_usage: parts.quota_usage,
            key_value: parts.key_value,
            drain: parts.drain.clone(),
            signals,
            load_events: load_events_sender,
            wake: config_handle.wake(),
        };
        Self {
            scanner: SourceScanner::new(desired_state, parts.drain.clone()),
            state_writer,
            state: State::default(),
            list_refresh_limiter: RateLimiter::default(),
            replica_reports: ReplicaReports::default(),
            writer: parts.writer,
            loader: Arc::new(Loader::new(&config, loader)),
            team,
            scan_interval,
            load_events,
            signal_receiver,
            config_handle,
            persists_state: true,
            starting: true,
            ready_by: None,
            health: Health::default(),
            audit: AuditLog::default(),
            components: Components::default(),
            approvals: None,
            drain: parts.drain,
        }
    }

    /// Does not write the state files. Used by a process that only inspects the sources while a server uses them.
    pub fn without_persistence(mut self) -> Self {
        self.persists_state = false;
        self
    }

    /// From now on, reports to `health` when a source or one of its artifacts cannot be read.
    pub fn with_health(mut self, health: Health) -> Self {
        self.health = health;
        self
    }

    /// From now on, records in `audit` which components are served.
    pub fn with_audit(mut self, audit: AuditLog) -> Self {
        self.audit = audit;
        self
    }

    /// Reports what providers signal here to the same team on other replicas.
    pub fn with_replicas(mut self, replicas: Arc<dyn TeamReplicas>) -> Self {
        self.replica_reports.replicas = replicas;
        self
    }

    /// Returns the notification that triggers a scan.
    pub fn wake(&self) -> Arc<Notify> {
        self.config_handle.wake()
    }

    /// Returns the handle that replaces the configuration while the reconciler runs.
    pub fn config_handle(&self) -> ConfigHandle {
        self.config_handle.clone()
    }

    /// Returns what operators see of the components.
    pub fn components(&self) -> Components {
        self.components.clone()
    }

    /// Returns the sender for "updated" and "list changed" signals of this team's providers.
    pub fn signals(&self) -> SignalSender {
        self.loader.signals.clone()
    }

    /// Runs one complete pass: scans, compares, loads everything and publishes once.
    pub async fn run_pass(&mut self) -> ReconcilePass {
        self.run_pass_within(None).await
    }

    /// Runs the first pass of a server, before it accepts requests. Components that are not loaded in time are
    /// published later, when they are loaded.
    pub async fn run_first_pass(&mut self, limits: StartLimits) -> ReconcilePass {
        self.ready_by = Some(tokio::time::Instant::now() + limits.ready);
        // If these records cannot be read, they cannot be written either, and that error is reported.
        let last_offers = self
            .loader
            .with_approvals(|approvals, team| approvals.last_offers(team))
            .await;
        self.state.set_last_offers(last_offers.unwrap_or_default());
        self.run_pass_within(Some(limits)).await
    }

    async fn run_pass_within(&mut self, limits: Option<StartLimits>) -> ReconcilePass {
        let began = Instant::now();
        let mut pass = ReconcilePass::default();
        // All components of one pass get the same generation, in whatever order the loads finish.
        self.state.next_generation();
        let work = self.scan_and_load(&mut pass, limits.map(|limits| limits.own_calls));
        match limits {
            Some(limits) => self.starting = tokio::time::timeout(limits.total, work).await.is_err(),
            None => {
                work.await;
                self.starting = false;
            }
        }
        self.starting |= self.state.is_loading();
        self.report_start();
        self.publish(&pass);
        pass.collisions = self.writer.current().collisions().to_vec();
        pass.duration = began.elapsed();
        pass
    }

    /// Scans and waits for the loads. With `own_calls`, calls that providers make while they load are waited for at most
    /// this time. Cancel safe: the scan and the loads continue in the background.
    async fn scan_and_load(&mut self, pass: &mut ReconcilePass, own_calls: Option<Duration>) {
        loop {
            self.scanner.start_scan();
            let desired = self.scanner.finished().await;
            let Some(delay) = self.compare(desired, pass) else {
                break;
            };
            tokio::time::sleep(delay).await;
        }
        while self.state.is_loading() {
            let event = self.load_events.recv();
            let event = match own_calls.and_then(|time| self.state.own_calls_end(time)) {
                Some(end) => tokio::time::timeout_at(end, event).await.ok().flatten(),
                None => event.await,
            };
            match event {
                Some(LoadEvent::Probing { name, id }) => self.state.mark_probing(&name, id),
                Some(LoadEvent::Ended(result)) => {
                    let timer = result.timer_of_served();
                    self.state.apply(*result, pass);
                    if let Some((name, timer)) = timer {
                        timer.finish(&name);
                    }
                }
                None => break,
            }
        }
    }

    /// Determines whether the start goes on, after something was loaded.
    fn update_start(&mut self) {
        let was_starting = self.starting;
        self.starting &= self.state.is_loading();
        if was_starting || self.ready_by.is_some() {
            self.report_start();
        }
    }

    /// Reports which components are not loaded yet. For a limited time, the server is not ready because of them. After
    /// that time, the server is ready although a provider is slow or cannot be loaded.
    fn report_start(&mut self) {
        let part = format!("start of {}", self.team);
        let is_waiting = self.is_waiting();
        let missing = if is_waiting {
            self.state.awaited()
        } else {
            self.state.loading()
        };
        let has_read_sources = !self.starting || self.state.knows_components();
        if has_read_sources && missing.is_empty() || !is_waiting && !self.starting {
            self.ready_by = None;
            return self.health.resolve(&part);
        }
        let message = describe_missing(&missing);
        // A team whose sources were never read may serve nothing.
        let later = if missing.is_empty() {
            Impact::OneTeam
        } else {
            Impact::OperatorOnly
        };
        let impact = if is_waiting { Impact::AllTeams } else { later };
        self.health
            .report(&part, format!("team {}: {message}", self.team), impact);
    }

    /// Whether the server still waits for components.
    fn is_waiting(&self) -> bool {
        let now = tokio::time::Instant::now();
        self.ready_by.is_some_and(|end| now < end)
    }

    /// The server is ready from now on, also if components are not served yet.
    fn end_wait(&mut self) {
        self.ready_by = None;
        self.report_start();
    }

    /// Compares the sources with the components that are served. Starts loads of components that differ and removes
    /// components that are missing. Returns the delay until the next scan, if artifacts are still changing.
    fn compare(
        &mut self,
        mut desired: DesiredComponents,
        pass: &mut ReconcilePass,
    ) -> Option<Duration> {
        self.loader.metrics.passes.inc();
        self.report_health(&desired);
        pass.problems.append(&mut desired.new_problems);
        self.state.remove_missing(&desired, pass);
        self.state
            .set_pending_artifacts(desired.pending_approvals, pass);
        for component in desired.components {
            self.state.ensure_loaded(component, &self.loader);
        }
        self.report_components();
        desired.rescan_after
    }

    /// Reports problems with the sources and their artifacts. An unreadable source affects only its own team, so
    /// that one team cannot make the server unready for all others.
    fn report_health(&self, desired: &DesiredComponents) {
        for (part, error, impact) in [
            ("sources", &desired.source_error, Impact::OneTeam),
            ("artifacts", &desired.artifact_error, Impact::OperatorOnly),
        ] {
            let part = format!("{part} of {}", self.team);
            match error {
                Some(error) => {
                    self.health
                        .report(&part, format!("team {}: {error}", self.team), impact)
                }
                None => self.health.resolve(&part),
            }
        }
    }

    /// Withdraws the reported problems, because nothing is loaded any more.
    fn withdraw_reports(&self) {
        for part in ["start", "sources", "artifacts"] {
            self.health.resolve(&format!("{part} of {}", self.team));
        }
    }

    fn publish(&mut self, pass: &ReconcilePass) {
        let pending_contents = self.writer.pending_contents();
        let catalog = self.state.catalog(pending_contents.values());
        self.writer
            .publish(if self.config_handle.has_resource_tools() {
                catalog.with_resource_tools()
            } else {
                catalog
            });
        pass.record(&self.audit, &self.team);
        pass.log_denied(&self.team);
        pass_events::record(pass, &self.team, self.loader.engine.metrics().events());
        self.report_components();
        if pass.unlisted_changes {
            self.writer.list_changed();
        }
    }

    fn report_components(&self) {
        self.components.set(self.state.reports());
    }

    /// Saves the pending approvals for `larder approve`, which is another process, and the served revisions for the
    /// next start.
    fn persist_state(&mut self) {
        if !self.persists_state {
            return;
        }
        let catalog = self.writer.current();
        let pending = catalog.pending_approvals().iter();
        let pending = pending.map(|approval| {
            PendingApprovalRecord::new(
                &self.team,
                &approval.provider,
                approval.digest,
                approval.lines.clone(),
            )
            .with_definitions(&approval.tools, &approval.contents)
        });
        let pending = pending.collect();
        let served = self.state.imports();
        let offers = self.state.offers();
        self.state_writer.save(PersistedState {
            pending,
            served,
            offers,
        });
    }
}

fn describe_missing(components: &[&str]) -> String {
    match components {
        [] => "its sources have not been read yet".to_owned(),
        components => format!("not loaded yet: {}", components.join(", ")),
    }
}
