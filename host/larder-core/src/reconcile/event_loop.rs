//! The loop that keeps the catalog up to date: it waits for triggers, scans, load results and the signals of
//! providers.

use std::collections::HashSet;

use tokio::time::Instant;

use super::desired_state::earlier;
use super::load::{LoadEvent, LoadResult};
use super::scan_schedule::ScanSchedule;
use super::{DesiredComponents, ReconcilePass, Reconciler};
use crate::catalog::{Catalog, Collision};
use larder_model::name::ProviderName;
use larder_model::uri::Uri;
use larder_provider::Signal;
use larder_runtime::file_fingerprint::FileFingerprint;
use larder_runtime::metrics::process::thread_cpu_time;

impl Reconciler {
    /// Watches the sources, loads what changes and handles the providers' signals until shutdown.
    pub async fn run(mut self) {
        let drain = self.drain.clone();
        let wake = self.wake();
        self.scanner.enable_triggers(&wake);
        let mut schedule = ScanSchedule::new(self.scan_interval);
        self.persist_state();
        loop {
            let next_scan = schedule.next_scan_at(self.state.next_load_retry());
            let next_list_refresh = Instant::now()
                + self
                    .list_refresh_limiter
                    .next_due()
                    .min(self.state.next_list_retry());
            let ready_by = self.ready_by.unwrap_or_else(Instant::now);
            let next_report = Instant::now() + self.replica_reports.next_due();
            tokio::select! {
                biased;
                () = drain.stopping() => break,
                (provider, signal) = self.signal_receiver.recv() => self.handle_signal(&provider, signal),
                Some(event) = self.load_events.recv() => match event {
                    LoadEvent::Probing { name, id } => self.state.mark_probing(&name, id),
                    LoadEvent::Ended(result) => self.charge_cpu_time(|this| this.load_finished(*result)),
                },
                () = self.state_writer.finished() => {}
                () = self.writer.pending_contents_changed() => self.publish_pending_contents(),
                // This branch precedes the scan result: a source that does not respond must not delay list
                // refreshes.
                () = tokio::time::sleep_until(next_list_refresh) => self.refresh_due_lists(),
                () = tokio::time::sleep_until(next_report) => self.replica_reports.send_due(),
                () = tokio::time::sleep_until(ready_by), if self.ready_by.is_some() => self.end_wait(),
                desired = self.scanner.finished() => self.charge_cpu_time(
                    |this| this.scan_finished(desired, &mut schedule)
                ),
                () = wake.notified() => {
                    self.apply_settings();
                    schedule.wake();
                }
                () = tokio::time::sleep_until(next_scan), if !self.scanner.is_scanning() => {
                    schedule.scan_started();
                    self.scanner.start_scan();
                }
            }
        }
        self.state.cancel_loads();
        self.withdraw_reports();
        // The next start needs the offers that were served last.
        self.state_writer.flush().await;
    }

    /// Runs work that concerns a team's lists, and charges its CPU time to the team's quota.
    fn charge_cpu_time<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let began = thread_cpu_time();
        let done = work(self);
        if let Some(quota_usage) = &self.loader.quota_usage {
            quota_usage.charge_cpu(thread_cpu_time().saturating_sub(began));
        }
        done
    }

    fn scan_finished(&mut self, desired: DesiredComponents, schedule: &mut ScanSchedule) {
        let mut pass = ReconcilePass::default();
        let succeeded = desired.source_error.is_none();
        let withdraw_after = desired.withdraw_after;
        self.update_approvals(desired.approvals);
        let rescan_after = earlier(self.compare(desired, &mut pass), withdraw_after);
        self.update_start();
        schedule.scan_finished(succeeded, rescan_after);
        // Retries a failed write.
        self.state_writer.write_queued();
        if !pass.is_empty() || pass.unavailable_changed {
            self.publish(&pass);
            self.persist_state();
            pass.log();
        }
    }

    fn update_approvals(&mut self, approvals: Option<FileFingerprint>) {
        if self.approvals != approvals {
            self.approvals = approvals;
            self.writer.approvals_changed();
        }
    }

    /// Handles the result of a load.
    fn load_finished(&mut self, result: LoadResult) {
        let mut pass = ReconcilePass {
            duration: result.duration,
            ..ReconcilePass::default()
        };
        let before = self.writer.current();
        let timer = result.timer_of_served();
        if !self.starting {
            self.state.next_generation();
        }
        self.state.apply(result, &mut pass);
        self.update_start();
        for provider in self.state.take_requested_refreshes() {
            self.refresh_list(&provider);
        }
        if pass.is_empty() && !pass.lists_refreshed {
            self.report_components();
            return;
        }
        self.publish(&pass);
        if let Some((name, timer)) = timer {
            timer.finish(&name);
        }
        self.persist_state();
        pass.collisions = self.new_collisions(&before);
        pass.log();
    }

    /// Applies the settings that need no scan, so that a source that does not respond does not delay them.
    fn apply_settings(&mut self) {
        let before = self.writer.current();
        if self.config_handle.has_resource_tools() == before.has_resource_tools() {
            return;
        }
        self.publish(&ReconcilePass::default());
        ReconcilePass {
            collisions: self.new_collisions(&before),
            ..ReconcilePass::default()
        }
        .log();
    }

    /// Publishes which skills and pages wait for approval, and reports those that did not wait before.
    fn publish_pending_contents(&mut self) {
        let before = self.writer.current();
        let contents = self.writer.pending_contents();
        let mut new = Vec::new();
        for pending in contents.values() {
            if !before.pending_approvals().contains(pending) {
                new.push(pending.clone());
            }
        }
        let pass = ReconcilePass {
            pending_approvals: new,
            ..ReconcilePass::default()
        };
        self.publish(&pass);
        self.persist_state();
        pass.log();
    }

    /// Returns the collisions that the catalog did not have before.
    fn new_collisions(&self, before: &Catalog) -> Vec<Collision> {
        let now = self.writer.current();
        let known = before.collisions().iter().collect::<HashSet<_>>();
        now.collisions()
            .iter()
            .filter(|collision| !known.contains(collision))
            .cloned()
            .collect()
    }

    /// Refreshes a provider's lists, at once or after the minimum interval.
    fn refresh_list(&mut self, provider: &ProviderName) {
        if self.list_refresh_limiter.request(provider) {
            self.state.refresh_list(provider, &self.loader);
        }
    }

    /// Refreshes the lists that waited for the minimum interval, and retries the refreshes that failed.
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
                    self.replica_reports.updated(&uri);
                }
                Ok(_) => {
                    self.log_ignored_update(provider, &uri, "the provider does not own the URI")
                }
                Err(_) => self.log_ignored_update(provider, &uri, "the URI is invalid"),
            },
            Signal::ListChanged => {
                self.replica_reports.list_changed(provider);
                self.list_changed(provider);
            }
            Signal::ListChangedElsewhere => self.list_changed(provider),
            Signal::ToolsChanged | Signal::PromptsChanged => {
                self.replica_reports.list_changed(provider);
                self.refresh_list(provider);
            }
            Signal::ListStale => self.refresh_list(provider),
        }
    }

    /// Handles the report that a list of a provider changed. The report comes from this replica or from another one.
    fn list_changed(&mut self, provider: &ProviderName) {
        self.writer.may_have_changed(provider);
        self.state.mark_list_changed(provider);
        self.refresh_list(provider);
    }

    /// Logs an update that has no effect, unless the provider is not served any more.
    fn log_ignored_update(&self, provider: &ProviderName, uri: &str, reason: &'static str) {
        let catalog = self.writer.current();
        if let Some(offer) = catalog
            .offers()
            .iter()
            .find(|offer| offer.name() == provider)
        {
            offer.provider.log_ignored_update(uri, reason);
        }
    }
}
