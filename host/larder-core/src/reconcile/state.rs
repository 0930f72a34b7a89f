//! The state of all components, by name: what is served, what is loading, what failed.

mod component;
mod retry;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::time::Instant;

use self::component::{ComponentState, RunningLoad, ServedComponent};
use self::retry::time_until_first;
use super::approvals::{Imports, OfferRecords};
use super::components::ComponentReport;
use super::desired_state::{DesiredComponent, DesiredComponents};
use super::load::{LoadJob, LoadResult, Loader, Outcome};
use super::pass::ReconcilePass;
use crate::catalog::{
    Catalog, OfferRecord, PendingApproval, RejectedComponent, UnavailableProvider,
};
use larder_model::name::ProviderName;

/// The state of all components.
#[derive(Default)]
pub(super) struct State {
    components: BTreeMap<String, ComponentState>,
    /// New artifacts that wait for approval, as their sources report. They are loaded after the approval.
    pending_artifacts: Vec<PendingApproval>,
    /// What the providers answered for that were served before the start and have not been served since. Providers
    /// whose component is gone are not included.
    last_offers: BTreeMap<String, Arc<OfferRecord>>,
    /// Whether the sources were read since the start, so that the names of all components are known.
    knows_components: bool,
    generation: u64,
    last_job_id: u64,
}

impl State {
    pub(super) fn is_loading(&self) -> bool {
        self.components
            .values()
            .any(|component| component.loading.is_some())
    }

    /// Sets what the providers answered for that were served before the start.
    pub(super) fn set_last_offers(&mut self, last_offers: OfferRecords) {
        self.last_offers = last_offers
            .into_iter()
            .map(|(name, record)| (name, Arc::new(record)))
            .collect();
    }

    /// Whether the sources were read since the start.
    pub(super) fn knows_components(&self) -> bool {
        self.knows_components
    }

    /// Returns the origins of the components that were served before the start and are not served yet: components that
    /// are loading, and components that failed temporarily.
    pub(super) fn awaited(&self) -> Vec<&str> {
        let is_awaited = |(name, component): &(&String, &ComponentState)| {
            let is_retried = component
                .failed
                .as_ref()
                .is_some_and(|failed| failed.retry.is_some());
            let is_known = self.last_offers.contains_key(*name);
            component.serving.is_none() && (component.loading.is_some() || is_retried && is_known)
        };
        self.components
            .iter()
            .filter(is_awaited)
            .map(|(_, component)| component.origin.as_str())
            .collect()
    }

    /// Returns the providers that were served before the start and are not served yet.
    fn unavailable(&self) -> Vec<UnavailableProvider> {
        let unavailable = |(name, record): (&String, &Arc<OfferRecord>)| {
            Some(UnavailableProvider {
                provider: ProviderName::parse(name).ok()?,
                record: record.clone(),
                retry_at: self.load_retry_at(name),
            })
        };
        self.last_offers.iter().filter_map(unavailable).collect()
    }

    /// Returns when the failed load of a component is retried.
    fn load_retry_at(&self, name: &str) -> Option<Instant> {
        let failed = self.components.get(name)?.failed.as_ref()?;
        failed.retry.map(|retry| retry.due_at())
    }

    /// Returns what the served revisions answer for, by provider.
    pub(super) fn offers(&self) -> OfferRecords {
        self.served()
            .map(|serving| {
                (
                    serving.offer.name().to_string(),
                    OfferRecord::of(&serving.offer),
                )
            })
            .collect()
    }

    /// Returns the components that are served.
    fn served(&self) -> impl Iterator<Item = &ServedComponent> {
        self.components
            .values()
            .filter_map(|component| component.serving.as_ref())
    }

    /// Returns the origins of the components that are loading.
    pub(super) fn loading(&self) -> Vec<&str> {
        let loading = self
            .components
            .values()
            .filter(|component| component.loading.is_some());
        loading.map(|component| component.origin.as_str()).collect()
    }

    /// Ends all loads. Their providers may take long, and the results are not needed any more.
    pub(super) fn cancel_loads(&mut self) {
        self.components
            .values_mut()
            .for_each(ComponentState::cancel_load);
    }

    /// Records that the own calls of a provider began.
    pub(super) fn mark_probing(&mut self, name: &str, id: u64) {
        let load = self
            .components
            .get_mut(name)
            .and_then(|component| component.loading.as_mut());
        if let Some(load) = load.filter(|load| load.id == id) {
            load.probing_since = Some(Instant::now());
        }
    }

    /// Returns the time at which each loading provider will have had this much time for its own calls. `None` while a
    /// component is still read or compiled.
    pub(super) fn own_calls_end(&self, time: Duration) -> Option<Instant> {
        let all = self.loads().map(|load| load.probing_since);
        let since = all.reduce(|one, other| Some(one?.max(other?)));
        Some(since?? + time)
    }

    fn loads(&self) -> impl Iterator<Item = &RunningLoad> {
        self.components
            .values()
            .filter_map(|component| component.loading.as_ref())
    }

    /// Starts a new generation. Providers of a later generation do not take URIs from earlier ones.
    pub(super) fn next_generation(&mut self) {
        self.generation += 1;
    }

    /// Removes the components that the sources do not have any more.
    pub(super) fn remove_missing(&mut self, desired: &DesiredComponents, pass: &mut ReconcilePass) {
        if desired.source_error.is_none() && desired.artifact_error.is_none() {
            self.knows_components = true;
            pass.unavailable_changed |= self.forget_offers(&desired.names);
        }
        let components = desired
            .components
            .iter()
            .map(|desired| &desired.artifact.name);
        let desired: BTreeSet<_> = components.chain(&desired.unknown).collect();
        self.components.retain(|name, component| {
            let stays = desired.contains(name);
            if !stays {
                component.end(name, pass);
            }
            stays
        });
    }

    /// Forgets what the providers answered for whose components are gone. Returns whether there were such providers.
    fn forget_offers(&mut self, names: &BTreeSet<String>) -> bool {
        let before = self.last_offers.len();
        self.last_offers.retain(|name, _| names.contains(name));
        self.last_offers.len() != before
    }

    /// Replaces the list of new artifacts that wait for approval.
    pub(super) fn set_pending_artifacts(
        &mut self,
        pending: Vec<PendingApproval>,
        pass: &mut ReconcilePass,
    ) {
        let before = std::mem::replace(&mut self.pending_artifacts, pending);
        let now = &self.pending_artifacts;
        pass.pending_approvals
            .extend(now.iter().filter(|one| !before.contains(one)).cloned());
        let is_resolved =
            |one: &&PendingApproval| now.iter().all(|other| other.provider != one.provider);
        pass.resolved.extend(
            before
                .iter()
                .filter(is_resolved)
                .map(|one| one.provider.to_string()),
        );
    }

    /// Starts to load a component, unless it was already loaded in its current state.
    pub(super) fn ensure_loaded(&mut self, desired: DesiredComponent, loader: &Arc<Loader>) {
        let component = self
            .components
            .entry(desired.artifact.name.clone())
            .or_default();
        let is_retry = component.is_retry_due();
        if component.desired.as_ref() == Some(&desired) && !is_retry {
            return;
        }
        if component.lets_load_end(&desired) {
            return;
        }
        component.cancel_load();
        component.origin.clone_from(&desired.artifact.origin);
        component.desired = Some(desired.clone());
        self.last_job_id += 1;
        let previous = component.previous_revisions(is_retry);
        let id = self.last_job_id;
        let has_read = Arc::<AtomicBool>::default();
        let task = loader.start(id, desired, previous, has_read.clone());
        component.loading = Some(RunningLoad {
            id,
            task,
            has_read,
            probing_since: None,
        });
    }

    /// Records that a provider reported changed lists.
    pub(super) fn mark_list_changed(&mut self, provider: &ProviderName) {
        if let Some(component) = self.components.get_mut(provider.as_str()) {
            component.list_refresh.changed = true;
        }
    }

    /// Starts a list refresh of a provider without a change of its component. If the refresh cannot start now, it is
    /// recorded.
    pub(super) fn refresh_list(&mut self, provider: &ProviderName, loader: &Arc<Loader>) {
        let Some(component) = self.components.get_mut(provider.as_str()) else {
            return;
        };
        match &component.serving {
            // A load or refresh in progress may have read the lists before the change.
            Some(serving) if component.is_idle() => {
                self.last_job_id += 1;
                component.list_refresh.running = Some(self.last_job_id);
                loader.refresh_list(
                    self.last_job_id,
                    serving.offer.provider.clone(),
                    serving.revision.clone(),
                    serving.requests.clone(),
                );
            }
            _ => component.list_refresh.requested = true,
        }
    }

    /// Returns the providers whose recorded refresh can start now.
    pub(super) fn take_requested_refreshes(&mut self) -> Vec<ProviderName> {
        let idle = |component: &&mut ComponentState| {
            component.list_refresh.requested && component.is_idle()
        };
        let requested = self
            .components
            .values_mut()
            .filter(idle)
            .filter_map(|component| {
                component.list_refresh.requested = false;
                component.served_name()
            });
        requested.collect()
    }

    /// Returns the providers whose failed refresh is due for a retry.
    pub(super) fn take_due_list_retries(&mut self) -> Vec<ProviderName> {
        let mut due = Vec::new();
        for component in self
            .components
            .values_mut()
            .filter(|component| component.can_refresh_list())
        {
            if let (Some(retry), Some(serving)) =
                (&mut component.list_refresh.retry, &component.serving)
                && retry.is_due()
            {
                // This counts as one attempt, also if the rate limit delays it.
                retry.postpone();
                due.push(serving.offer.name().clone());
            }
        }
        due
    }

    /// Returns the time until the next refresh retry.
    pub(super) fn next_list_retry(&self) -> Duration {
        let components = self.components.values();
        time_until_first(components.filter_map(ComponentState::list_retry))
    }

    /// Applies a result. Results of loads that were superseded are ignored.
    pub(super) fn apply(&mut self, mut result: LoadResult, pass: &mut ReconcilePass) {
        let Some(component) = self.components.get_mut(&result.name) else {
            return;
        };
        if !component.end_job(&result) {
            return;
        }
        if result.withdraws_serving() {
            component.withdraw(pass);
        }
        if let Some(denied) = result.denied.take() {
            component.set_denied(&result.name, denied, pass);
        }
        let is_list_refresh = matches!(result.job, LoadJob::RefreshList(_));
        let verified = result.verified_revision().cloned();
        match result.outcome {
            Outcome::Unchanged(revision) => {
                if component.resolve_if_serving(&revision) {
                    pass.resolved.push(result.name);
                }
            }
            Outcome::Offer(loaded) => {
                self.last_offers.remove(&result.name);
                component.serve(*loaded, is_list_refresh, self.generation, pass);
                if let Some(timer) = result.timer {
                    component.set_phases(timer.phases);
                }
            }
            Outcome::Rejected(error, revision) if is_list_refresh => {
                let digest = revision.map(|revision| revision.digest);
                component.fail_list_refresh(&result.name, &error, digest);
            }
            Outcome::Rejected(error, revision) => component.fail(&error, revision, pass),
            Outcome::PendingApproval(approval) => component.wait_for_approval(approval, pass),
        }
        if let Some(revision) = verified {
            component.set_signers(&revision, result.signers);
        }
    }

    /// Returns, by provider, the imports of the served revisions that reach outside the sandbox.
    pub(super) fn imports(&self) -> Imports {
        self.served()
            .map(|serving| {
                (
                    serving.offer.name().to_string(),
                    imports_of(&serving.requests),
                )
            })
            .collect()
    }

    /// Returns the time until a failed load is retried.
    pub(super) fn next_load_retry(&self) -> Duration {
        let components = self.components.values();
        time_until_first(components.filter_map(ComponentState::load_retry))
    }

    /// Returns what operators see of the components.
    pub(super) fn reports(&self) -> Vec<ComponentReport> {
        self.components
            .iter()
            .map(|(name, component)| component.report(name))
            .collect()
    }

    /// Returns the catalog, with the skills and pages that wait for approval.
    pub(super) fn catalog<'a>(
        &self,
        pending_contents: impl Iterator<Item = &'a PendingApproval>,
    ) -> Catalog {
        let offers = self.served().map(|serving| serving.offer.clone());
        let pending = self
            .components
            .values()
            .filter_map(|component| component.pending_approval.clone());
        let pending = pending
            .chain(self.withheld())
            .chain(pending_contents.cloned())
            .chain(self.pending_artifacts.iter().cloned());
        let catalog = Catalog::new(
            offers.collect(),
            self.rejected().collect(),
            pending.collect(),
        );
        catalog.with_unavailable(self.unavailable())
    }

    fn rejected(&self) -> impl Iterator<Item = RejectedComponent> {
        self.components
            .values()
            .filter_map(|component| Some(component.failed.as_ref()?.rejection.clone()))
    }

    /// Returns the tools of served components that wait for approval.
    fn withheld(&self) -> impl Iterator<Item = PendingApproval> {
        let all = self.served().filter_map(|serving| serving.withheld.clone());
        all.filter(PendingApproval::is_pending)
    }
}

fn imports_of(requests: &BTreeSet<String>) -> BTreeSet<String> {
    requests
        .iter()
        .filter(|line| line.starts_with("import "))
        .cloned()
        .collect()
}
