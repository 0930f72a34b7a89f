//! Compares the components in the plugins folder with those that are served, and loads what differs.
//!
//! Loading runs in the background. A new revision is published in one step, after it is known to work. A
//! faulty component is not an error of this module: it becomes an entry in the catalog, and the last good
//! revision keeps serving. This is the only module that loads components.

mod approvals;
mod config;
mod desired_state;
mod folder_scanner;
mod list_refresh;
mod load;
mod pass;
mod scan_schedule;
mod state;
mod state_writer;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, Semaphore, mpsc};

pub use self::approvals::{Approvals, ApprovalsError, Imports, PendingApprovalRecord};
pub use self::config::{Config, ConfigHandle, ProviderConfig};
use self::desired_state::DesiredState;
use self::folder_scanner::{FolderScanner, ScanOutcome};
use self::list_refresh::ListRefreshLimiter;
pub use self::load::MAX_GRANT_REQUEST_SIZE;
use self::load::{LoadResult, Loader};
pub use self::pass::{ReconcilePass, RevisionSummary};
use self::scan_schedule::ScanSchedule;
use self::state::State;
use self::state_writer::{PersistedState, StateWriter};
use crate::catalog::Writer;
use larder_model::name::{ProviderName, TeamName};
use larder_model::policy::QuotaUsage;
use larder_model::uri::Uri;
use larder_runtime::drain::Drain;
use larder_runtime::health::{Health, Impact};
use larder_runtime::metrics::process::thread_cpu_time;
use larder_sandbox::{Sandbox, Signal, SignalReceiver, SignalSender, signal_channel};

/// Limit of concurrent loads. It is above one so that a slow component does not delay the others.
const MAX_CONCURRENT_LOADS: usize = 4;

/// The reconcile loop of one team.
pub struct Reconciler {
    scanner: FolderScanner,
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
    /// Creates a reconciler. It loads nothing before the first pass.
    pub fn new(
        config: Config,
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
        let mut desired_state = DesiredState::new(config_updates);
        desired_state.limit_components(max_providers);
        Self {
            scanner: FolderScanner::new(desired_state, drain.clone()),
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

    /// Does not write the state files. For a process that only inspects the folder while a server uses it.
    pub fn without_persistence(mut self) -> Self {
        self.persists_state = false;
        self
    }

    /// Reports here when the folder or its files cannot be read.
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
            let outcome = self.scanner.finished().await;
            let Some(delay) = self.compare(outcome, pass) else { break };
            tokio::time::sleep(delay).await;
        }
        while self.state.is_loading() {
            let Some(result) = self.load_results.recv().await else { break };
            self.state.apply(result, pass);
        }
    }

    /// Compares the folder with what is served. Starts loads for what differs and removes what is missing.
    /// Returns the delay until the next scan, if files are still changing.
    fn compare(&mut self, outcome: ScanOutcome, pass: &mut ReconcilePass) -> Option<Duration> {
        self.loader.metrics.passes.increment();
        self.report_health(&outcome);
        pass.problems.extend(outcome.problems);
        let desired = outcome.desired?;
        self.state.remove_missing(&desired.components, pass);
        for component in desired.components {
            self.state.ensure_loaded(component, &self.loader);
        }
        desired.rescan_after
    }

    /// Reports problems with the folder and its files. An unreadable folder affects only its own team, so
    /// that one team cannot make the server unready for all others.
    fn report_health(&self, outcome: &ScanOutcome) {
        let (folder, files) = (&outcome.folder_error, &outcome.file_errors);
        for (subject, error, impact) in
            [("folder", folder, Impact::OneTeam), ("files", files, Impact::OperatorOnly)]
        {
            let subject = format!("{subject} of {}", self.team);
            match error {
                Some(error) => self.health.report(&subject, format!("team {}: {error}", self.team), impact),
                None => self.health.resolve(&subject),
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

    /// Watches the folder, loads what changes and handles the providers' signals until shutdown.
    pub async fn run(mut self) {
        let (drain, wake) = (self.drain.clone(), self.wake());
        self.scanner.enable_watch(&wake);
        let mut schedule = ScanSchedule::new(self.scan_interval);
        self.persist_state();
        loop {
            let next_scan = schedule.next_scan_at(self.state.next_load_retry());
            let next_list_refresh =
                Instant::now() + self.list_refresh_limiter.next_due().min(self.state.next_list_retry());
            tokio::select! {
                biased;
                () = drain.stopping() => break,
                (provider, signal) = self.signal_receiver.recv() => self.handle_signal(&provider, signal),
                Some(result) = self.load_results.recv() => self.charge_cpu_time(
                    |this| this.load_finished(result)
                ),
                () = self.state_writer.finished() => {}
                // This branch precedes the scan result: a folder that does not respond must not delay list
                // refreshes.
                () = tokio::time::sleep_until(next_list_refresh.into()) => self.refresh_due_lists(),
                outcome = self.scanner.finished() => self.charge_cpu_time(
                    |this| this.scan_finished(outcome, &mut schedule)
                ),
                () = wake.notified() => schedule.wake(),
                () = tokio::time::sleep_until(next_scan.into()), if !self.scanner.is_scanning() => {
                    schedule.scan_started();
                    self.scanner.start_scan();
                }
            }
        }
        // The next start must know what was served last.
        self.state_writer.flush().await;
    }

    /// Runs work that is done for a team's lists, and charges its CPU time to the team's quota.
    fn charge_cpu_time<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let began = thread_cpu_time();
        let done = work(self);
        if let Some(quota_usage) = &self.loader.quota_usage {
            quota_usage.charge_cpu(thread_cpu_time().saturating_sub(began));
        }
        done
    }

    fn scan_finished(&mut self, outcome: ScanOutcome, schedule: &mut ScanSchedule) {
        let (mut pass, scanned) = (ReconcilePass::default(), outcome.desired.is_some());
        let rescan_after = self.compare(outcome, &mut pass);
        self.starting &= self.state.is_loading();
        schedule.scan_finished(scanned, rescan_after);
        // Retries a failed write.
        self.state_writer.write_queued();
        if !pass.is_empty() {
            self.publish(&pass);
            self.persist_state();
            pass.log();
        }
    }

    /// Handles the result of a load.
    fn load_finished(&mut self, result: LoadResult) {
        let mut pass = ReconcilePass { duration: result.duration, ..ReconcilePass::default() };
        let before = self.writer.current();
        if !self.starting {
            self.state.next_generation();
        }
        self.state.apply(result, &mut pass);
        self.starting &= self.state.is_loading();
        for provider in self.state.take_requested_refreshes() {
            self.refresh_list(&provider);
        }
        if pass.is_empty() && !pass.lists_refreshed {
            return;
        }
        self.publish(&pass);
        self.persist_state();
        let now = self.writer.current();
        pass.collisions =
            now.collisions().iter().filter(|c| !before.collisions().contains(c)).cloned().collect();
        pass.log();
    }

    /// Refreshes a provider's lists, at once or after the minimum interval.
    fn refresh_list(&mut self, provider: &ProviderName) {
        if self.list_refresh_limiter.request(provider) {
            self.state.refresh_list(provider, &self.loader);
        }
    }

    /// Refreshes the lists that waited for the minimum interval, and retries those that failed.
    fn refresh_due_lists(&mut self) {
        for provider in self.list_refresh_limiter.take_due() {
            self.state.refresh_list(&provider, &self.loader);
        }
        for provider in self.state.take_due_list_retries() {
            self.refresh_list(&provider);
        }
    }

    fn handle_signal(&mut self, provider: &ProviderName, signal: Signal) {
        match signal {
            Signal::Updated(uri) => match Uri::parse(&uri) {
                Ok(uri) if self.writer.current().owns(provider, &uri) => {
                    self.writer.updated(&uri);
                }
                Ok(uri) => {
                    let uri = self.redacted(provider, uri.as_str());
                    tracing::warn!(
                        %provider,
                        uri,
                        "ignored an update of a URI that the provider does not own"
                    )
                }
                Err(error) => tracing::warn!(%provider, %error, "ignored an update of an invalid URI"),
            },
            Signal::ListChanged => {
                self.state.mark_list_changed(provider);
                self.refresh_list(provider);
            }
            Signal::ListStale => self.refresh_list(provider),
        }
    }

    /// Returns text from a provider with its secrets removed, or `None` if the provider is not served any
    /// more.
    fn redacted(&self, provider: &ProviderName, text: &str) -> Option<String> {
        let catalog = self.writer.current();
        let offer = catalog.offers().iter().find(|offer| offer.name() == provider)?;
        Some(offer.provider.grant().secrets.redact(text).into_owned())
    }
}
