//! Compares the artifacts of the sources with the components that are served, and loads what differs.
//!
//! Loading runs in the background. A new revision is published in one step, after it is known to work. A
//! faulty component is not an error of this module: it becomes an entry in the catalog, and the last good
//! revision keeps serving. This is the only module that loads components.

mod approvals;
mod config;
mod desired_state;
mod event_loop;
mod list_refresh;
mod load;
mod pass;
mod scan_schedule;
mod source_scanner;
mod state;
mod state_writer;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, Semaphore, mpsc};

pub use self::approvals::{Approvals, ApprovalsError, Imports, PendingApprovalRecord};
pub use self::config::{Config, ConfigHandle, ProviderConfig};
use self::desired_state::{DesiredComponents, DesiredState};
use self::list_refresh::ListRefreshLimiter;
pub use self::load::MAX_GRANT_REQUEST_SIZE;
use self::load::{LoadResult, Loader};
pub use self::pass::{ReconcilePass, RevisionSummary};
use self::source_scanner::SourceScanner;
use self::state::State;
use self::state_writer::{PersistedState, StateWriter};
use crate::catalog::Writer;
use crate::source::Source;
use larder_model::name::TeamName;
use larder_model::policy::QuotaUsage;
use larder_runtime::drain::Drain;
use larder_runtime::health::{Health, Impact};
use larder_sandbox::{Sandbox, SignalReceiver, SignalSender, signal_channel};

/// Limit of concurrent loads. It is above one so that a slow component does not delay the others.
const MAX_CONCURRENT_LOADS: usize = 4;

/// The reconcile loop of one team.
pub struct Reconciler {
    scanner: SourceScanner,
    state_writer: StateWriter,
    state: State,
    list_refresh_limiter: ListRefreshLimiter,
    writer: Writer,
    loader: Arc<Loader>,
    team: TeamName,
    scan_interval: Duration,
    load_results: mpsc::UnboundedReceiver<LoadResult>,
    signal_receiver: SignalReceiver,
    config_handle: ConfigHandle,
    persists_state: bool,
    /// True until everything that was present at the start is loaded. All of it gets the same generation,
    /// whatever the order in which the loads finish.
    starting: bool,
    health: Health,
    drain: Drain,
}

impl Reconciler {
    /// Creates a reconciler. It loads nothing before the first pass. If several sources have a component of the same
    /// name, the first of them is used.
    pub fn new(
        config: Config,
        sources: Vec<Box<dyn Source>>,
        sandbox: Arc<Sandbox>,
        writer: Writer,
        quota_usage: Option<Arc<QuotaUsage>>,
        drain: Drain,
    ) -> Self {
        let (signals, signal_receiver) = signal_channel();
        let (load_results_sender, load_results) = mpsc::unbounded_channel();
        let (team, scan_interval) = (config.team.clone(), config.scan_interval);
        let max_providers =
            quota_usage.as_ref().map_or(usize::MAX, |quota_usage| quota_usage.quota().providers as usize);
        let config_handle = ConfigHandle::new(config);
        let config_updates = config_handle.subscribe();
        let config = config_updates.borrow().clone();
        let state_writer = StateWriter::new(config.approvals.clone(), team.clone(), drain.clone());
        let loader = Loader {
            team: team.clone(),
            metrics: sandbox.metrics().load_metrics(&team),
            sandbox,
            signals,
            drain: drain.clone(),
            base_folder: config.relative_to.clone(),
            parse_grant_request: config.parse_grant_request,
            approvals: config.approvals.clone(),
            load_permits: Semaphore::new(MAX_CONCURRENT_LOADS),
            recheck_permit: Semaphore::new(1),
            wake: config_handle.wake(),
            quota_usage,
            load_results: load_results_sender,
        };
        let mut desired_state = DesiredState::new(sources, config_updates);
        desired_state.limit_components(max_providers);
        Self {
            scanner: SourceScanner::new(desired_state, drain.clone()),
            state_writer,
            state: State::default(),
            list_refresh_limiter: ListRefreshLimiter::default(),
            writer,
            loader: Arc::new(loader),
            team,
            scan_interval,
            load_results,
            signal_receiver,
            config_handle,
            persists_state: true,
            starting: true,
            health: Health::default(),
            drain,
        }
    }

    /// Does not write the state files. For a process that only inspects the sources while a server uses them.
    pub fn without_persistence(mut self) -> Self {
        self.persists_state = false;
        self
    }

    /// Reports here when a source or one of its artifacts cannot be read.
    pub fn with_health(mut self, health: Health) -> Self {
        self.health = health;
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

    /// Returns the sender for "updated" and "list changed" signals of this team's providers.
    pub fn signals(&self) -> SignalSender {
        self.loader.signals.clone()
    }

    /// Runs one complete pass: scans, compares, loads everything and publishes once. A server does this
    /// before it accepts requests.
    pub async fn run_pass(&mut self) -> ReconcilePass {
        self.run_pass_within(None).await
    }

    /// Runs one pass with a time limit. Components that are not loaded in time are published when they are.
    pub async fn run_pass_within(&mut self, limit: Option<Duration>) -> ReconcilePass {
        let began = Instant::now();
        let mut pass = ReconcilePass::default();
        // All components of one pass get the same generation, whatever the order in which the loads finish.
        self.state.next_generation();
        let work = self.scan_and_load(&mut pass);
        let completed = match limit {
            Some(limit) => tokio::time::timeout(limit, work).await.is_ok(),
            None => {
                work.await;
                true
            }
        };
        if !completed {
            tracing::warn!(
                "startup time limit reached; the remaining components are published when they are loaded"
            );
        }
        self.starting = !completed;
        self.publish(&pass);
        pass.collisions = self.writer.current().collisions().to_vec();
        pass.duration = began.elapsed();
        pass
    }

    /// Scans and waits for the loads. Cancel safe: the scan and the loads continue in the background.
    async fn scan_and_load(&mut self, pass: &mut ReconcilePass) {
        loop {
            self.scanner.start_scan();
            let desired = self.scanner.finished().await;
            let Some(delay) = self.compare(desired, pass) else { break };
            tokio::time::sleep(delay).await;
        }
        while self.state.is_loading() {
            let Some(result) = self.load_results.recv().await else { break };
            self.state.apply(result, pass);
        }
    }

    /// Compares the sources with what is served. Starts loads for what differs and removes what is missing.
    /// Returns the delay until the next scan, if artifacts are still changing.
    fn compare(&mut self, mut desired: DesiredComponents, pass: &mut ReconcilePass) -> Option<Duration> {
        self.loader.metrics.passes.inc();
        self.report_health(&desired);
        pass.problems.append(&mut desired.new_problems);
        self.state.remove_missing(&desired, pass);
        self.state.set_pending_artifacts(desired.pending_approvals, pass);
        for component in desired.components {
            self.state.ensure_loaded(component, &self.loader);
        }
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
                Some(error) => self.health.report(&part, format!("team {}: {error}", self.team), impact),
                None => self.health.resolve(&part),
            }
        }
    }

    fn publish(&mut self, pass: &ReconcilePass) {
        self.writer.publish(self.state.catalog());
        if pass.unlisted_changes {
            self.writer.list_changed();
        }
    }

    /// Saves the pending approvals for `larder approve`, which is another process, and what is served for the
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
        });
        self.state_writer.save(PersistedState { pending: pending.collect(), served: self.state.imports() });
    }
}
