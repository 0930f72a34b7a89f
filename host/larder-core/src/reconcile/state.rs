//! The state of all components, by the file name without extension: what is served, what is loading, what
//! failed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::task::AbortHandle;

use super::approvals::Imports;
use super::desired_state::DesiredComponent;
use super::load::{LoadJob, LoadResult, LoadedProvider, Loader, Outcome, PreviousRevisions, Revision};
use super::pass::{ReconcilePass, RevisionSummary};
use crate::catalog::{Catalog, Offer, PendingApproval, RejectedComponent};
use larder_model::name::ProviderName;
use larder_sandbox::Rejection;
use larder_sandbox::provider::LoadError;

/// First delay before a component that loaded but failed its probe is loaded again. It doubles each time.
const LOAD_RETRY: Duration = Duration::from_secs(15);
const MAX_RETRY: Duration = Duration::from_secs(600);
/// The same for a list refresh; the previous lists are served meanwhile.
const LIST_RETRY: Duration = Duration::from_millis(500);
/// Omissions of one provider in a log line. `larder status` shows all of them.
const MAX_LOGGED_OMISSIONS: usize = 10;
/// Stands for "no retry".
const NEVER: Duration = Duration::from_secs(3_600);

/// The state of all components.
#[derive(Default)]
pub(super) struct State {
    components: BTreeMap<String, ComponentState>,
    generation: u64,
    last_job_id: u64,
}

/// The state of one component.
#[derive(Default)]
struct ComponentState {
    /// The desired component that is loaded or being loaded.
    desired: Option<DesiredComponent>,
    serving: Option<Serving>,
    loading: Option<(u64, AbortHandle)>,
    failed: Option<Failure>,
    pending_approval: Option<PendingApproval>,
    list_refresh: ListRefresh,
}

/// List refreshes of one provider. One runs at a time, so that an older result cannot replace a newer one.
#[derive(Default)]
struct ListRefresh {
    running: Option<u64>,
    requested: bool,
    /// Whether the provider reported that its lists changed, rather than that they may be stale. Stays set
    /// until a newer list is there, whatever the delay and the number of attempts.
    changed: bool,
    /// When a failed refresh is retried, and the delay before it.
    retry: Option<(Instant, Duration)>,
}

struct Serving {
    offer: Arc<Offer>,
    revision: Revision,
    /// Its grant request lines and imports, which a newer revision may have as well.
    requests: BTreeSet<String>,
}

struct Failure {
    rejection: RejectedComponent,
    revision: Option<Revision>,
    retry: Option<(Instant, Duration)>,
}

impl State {
    pub(super) fn is_loading(&self) -> bool {
        self.components.values().any(|component| component.loading.is_some())
    }

    /// Starts a new generation. Providers of a later generation do not take URIs from earlier ones.
    pub(super) fn next_generation(&mut self) {
        self.generation += 1;
    }

    /// Removes the components that are not desired any more.
    pub(super) fn remove_missing(&mut self, desired: &[DesiredComponent], pass: &mut ReconcilePass) {
        let desired: BTreeSet<_> = desired.iter().map(|desired| desired.file.stem()).collect();
        self.components.retain(|stem, component| {
            let stays = desired.contains(stem.as_str());
            if !stays {
                component.cancel_load();
                pass.removed.extend(component.serving.as_ref().map(|serving| serving.offer.name().clone()));
                pass.resolved.extend(component.has_problem().then(|| stem.clone()));
            }
            stays
        });
    }

    /// Starts to load a component, unless that was done for its current state.
    pub(super) fn ensure_loaded(&mut self, desired: DesiredComponent, loader: &Arc<Loader>) {
        let component = self.components.entry(desired.file.stem().to_owned()).or_default();
        let is_due = component.failed.as_ref().is_some_and(Failure::is_due) && component.loading.is_none();
        if component.desired.as_ref() == Some(&desired) && !is_due {
            return;
        }
        component.cancel_load();
        component.desired = Some(desired.clone());
        self.last_job_id += 1;
        let failed = component.failed.as_ref().filter(|_| !is_due);
        let previous = PreviousRevisions {
            serving: component.serving.as_ref().map(|serving| serving.revision.clone()),
            requests: component.serving.as_ref().map(|serving| serving.requests.clone()),
            failed: failed.and_then(|failed| failed.revision.clone()),
        };
        component.loading = Some((self.last_job_id, loader.start(self.last_job_id, desired, previous)));
    }

    /// Records that a provider reported changed lists.
    pub(super) fn mark_list_changed(&mut self, provider: &ProviderName) {
        if let Some(component) = self.components.get_mut(provider.as_str()) {
            component.list_refresh.changed = true;
        }
    }

    /// Starts a list refresh of a provider, whose component stays as it is. If it cannot start now, it is
    /// recorded.
    pub(super) fn refresh_list(&mut self, provider: &ProviderName, loader: &Arc<Loader>) {
        let Some(component) = self.components.get_mut(provider.as_str()) else { return };
        match &component.serving {
            // A load or refresh in progress may have read the lists before the change.
            Some(serving) if component.loading.is_none() && component.list_refresh.running.is_none() => {
                self.last_job_id += 1;
                component.list_refresh.running = Some(self.last_job_id);
                let Serving { offer, revision, requests } = serving;
                loader.refresh_list(
                    self.last_job_id,
                    offer.provider.clone(),
                    revision.clone(),
                    requests.clone(),
                );
            }
            _ => component.list_refresh.requested = true,
        }
    }

    /// Returns the providers whose recorded refresh can start now.
    pub(super) fn take_requested_refreshes(&mut self) -> Vec<ProviderName> {
        let idle = |component: &&mut ComponentState| {
            component.list_refresh.requested
                && component.loading.is_none()
                && component.list_refresh.running.is_none()
        };
        let requested = self.components.values_mut().filter(idle).filter_map(|component| {
            component.list_refresh.requested = false;
            component.serving.as_ref().map(|serving| serving.offer.name().clone())
        });
        requested.collect()
    }

    /// Returns the providers whose failed refresh is due for a retry.
    pub(super) fn take_due_list_retries(&mut self) -> Vec<ProviderName> {
        let (now, mut due) = (Instant::now(), Vec::new());
        for component in self.components.values_mut().filter(|component| component.can_refresh_list()) {
            if let (Some((at, wait)), Some(serving)) = (&mut component.list_refresh.retry, &component.serving)
                && *at <= now
            {
                // Counts as one attempt, even if the rate limit delays it.
                *at = now + *wait;
                due.push(serving.offer.name().clone());
            }
        }
        due
    }

    /// Returns the time until the next refresh retry.
    pub(super) fn next_list_retry(&self) -> Duration {
        let waiting = self.components.values().filter(|component| component.can_refresh_list());
        soonest(waiting.filter_map(|component| component.list_refresh.retry))
    }

    /// Applies a result. Results of loads that were superseded are ignored.
    pub(super) fn apply(&mut self, result: LoadResult, pass: &mut ReconcilePass) {
        let Some(component) = self.components.get_mut(&result.stem) else { return };
        match result.job {
            LoadJob::Load(id) if component.loading.as_ref().is_some_and(|(current, _)| *current == id) => {
                component.loading = None;
            }
            LoadJob::RefreshList(id) if component.list_refresh.running == Some(id) => {
                component.list_refresh.running = None;
                // Another revision is served by now.
                if component.serving.as_ref().map(|serving| &serving.revision) != result.revision() {
                    return;
                }
            }
            // The next scan starts a load, which reads the file.
            LoadJob::Recheck => return component.desired = None,
            _ => return,
        }
        let is_list_refresh = matches!(result.job, LoadJob::RefreshList(_));
        if !result.still_permitted
            && matches!(result.outcome, Outcome::PendingApproval(_) | Outcome::Rejected(..))
        {
            component.withdraw(pass);
        }
        match result.outcome {
            Outcome::Unchanged(revision) => {
                pass.resolved.extend(component.resolve_if_serving(&revision).then_some(result.stem))
            }
            Outcome::Offer(loaded) => component.serve(*loaded, is_list_refresh, self.generation, pass),
            Outcome::Rejected(error, revision) if is_list_refresh => {
                // A failed probe may succeed later. Lists that violate the contract will not.
                let is_temporary = matches!(error, LoadError::Probe { .. });
                component.list_refresh.retry =
                    is_temporary.then(|| next_attempt(component.list_refresh.retry, LIST_RETRY));
                let digest = revision.map(|revision| revision.digest.short());
                tracing::warn!(
                    provider = result.stem,
                    digest,
                    %error,
                    "list refresh failed; the previous list stays"
                );
            }
            Outcome::Rejected(error, revision) => component.fail(&result.stem, &error, revision, pass),
            Outcome::PendingApproval(approval) => {
                let approval = approval.keep_since(component.pending_approval.as_ref());
                if component.pending_approval.as_ref() != Some(&approval) {
                    pass.pending_approvals.push(approval.clone());
                }
                component.failed = None;
                component.pending_approval = Some(approval);
            }
        }
    }

    /// Returns, by provider, the imports of the served revisions that reach outside the sandbox.
    pub(super) fn imports(&self) -> Imports {
        let serving = self.components.values().filter_map(|component| component.serving.as_ref());
        let imports = |requests: &BTreeSet<String>| {
            requests.iter().filter(|line| line.starts_with("import ")).cloned().collect()
        };
        serving.map(|serving| (serving.offer.name().to_string(), imports(&serving.requests))).collect()
    }

    /// Returns the time until a failed load is retried.
    pub(super) fn next_load_retry(&self) -> Duration {
        let waiting = self.components.values().filter(|component| component.loading.is_none());
        soonest(waiting.filter_map(|component| component.failed.as_ref()?.retry))
    }

    pub(super) fn catalog(&self) -> Catalog {
        let components = || self.components.values();
        let offers = components().filter_map(|component| Some(component.serving.as_ref()?.offer.clone()));
        let rejected =
            components().filter_map(|component| Some(component.failed.as_ref()?.rejection.clone()));
        let pending = components().filter_map(|component| component.pending_approval.clone());
        Catalog::new(offers.collect(), rejected.collect(), pending.collect())
    }
}

impl ComponentState {
    fn cancel_load(&mut self) {
        if let Some((_, load)) = self.loading.take() {
            load.abort();
        }
    }

    /// Whether a list refresh can start.
    fn can_refresh_list(&self) -> bool {
        self.serving.is_some() && self.loading.is_none() && self.list_refresh.running.is_none()
    }

    fn has_problem(&self) -> bool {
        self.failed.is_some() || self.pending_approval.is_some()
    }

    /// Clears the problem if this revision is the one that is served. Returns whether there was a problem.
    fn resolve_if_serving(&mut self, revision: &Revision) -> bool {
        if !self.serving.as_ref().is_some_and(|serving| serving.revision == *revision) {
            return false;
        }
        let had_problem = self.has_problem();
        (self.failed, self.pending_approval) = (None, None);
        had_problem
    }

    /// Stops serving the revision, because the operator revoked something that it has.
    fn withdraw(&mut self, pass: &mut ReconcilePass) {
        if let Some(serving) = self.serving.take() {
            let name = serving.offer.name().clone();
            tracing::warn!(provider = %name, "not served any more: its grant or approval was revoked");
            pass.removed.push(name);
        }
    }

    fn serve(
        &mut self,
        loaded: LoadedProvider,
        is_list_refresh: bool,
        generation: u64,
        pass: &mut ReconcilePass,
    ) {
        let LoadedProvider { provider, probed, revision, requests } = loaded;
        let generation = self.serving.as_ref().map_or(generation, |serving| serving.offer.generation);
        let offer = Arc::new(Offer::new(provider, probed, generation, revision.config.priority));
        let before = self.serving.as_ref().map(|serving| &serving.offer.omitted);
        if before.is_none_or(|before| *before != offer.omitted) {
            pass.omitted.extend(describe_omissions(&offer));
        }
        self.list_refresh.retry = None;
        // The host cannot compare entries that it does not see. It trusts a provider's report of a change,
        // and assumes that a new revision differs.
        let has_unlisted_entries = offer.next_cursor.is_some() || offer.is_personal();
        if is_list_refresh {
            pass.lists_refreshed = true;
            pass.unlisted_changes |= std::mem::take(&mut self.list_refresh.changed) && has_unlisted_entries;
        } else {
            pass.unlisted_changes |= self.serving.is_some() && has_unlisted_entries;
            let changed = if self.serving.is_some() { &mut pass.replaced } else { &mut pass.loaded };
            changed.push(RevisionSummary::of(&offer));
            (self.failed, self.pending_approval) = (None, None);
        }
        self.serving = Some(Serving { offer, revision, requests });
    }

    fn fail(&mut self, stem: &str, error: &LoadError, revision: Option<Revision>, pass: &mut ReconcilePass) {
        let digest = revision.as_ref().map(|revision| revision.digest);
        let (file, reason, since) = (format!("{stem}.wasm"), error.to_string(), SystemTime::now());
        let before = self.failed.as_ref().map(|failed| &failed.rejection);
        let rejection = RejectedComponent { file, digest, reason, since }.keep_since(before);
        if self.failed.as_ref().is_none_or(|failed| failed.rejection != rejection) {
            pass.rejected.push(rejection.clone());
        }
        self.pending_approval = None;
        // Once the approvals can be read again, the component is loaded again although it did not change.
        let revision = revision.filter(|_| !matches!(error, LoadError::Approvals(_)));
        self.failed = Some(Failure { retry: load_retry(self.failed.as_ref(), error), rejection, revision });
    }
}

impl Failure {
    fn is_due(&self) -> bool {
        self.retry.is_some_and(|(at, _)| at <= Instant::now())
    }
}

/// Describes in one sentence what was omitted from a provider's lists or changed in them.
fn describe_omissions(offer: &Offer) -> Option<String> {
    let (secrets, omitted) =
        (&offer.provider.grant().secrets, offer.omitted.iter().take(MAX_LOGGED_OMISSIONS));
    let mut notes: Vec<_> = omitted.map(|note| secrets.redact(note).into_owned()).collect();
    if let more @ 1.. = offer.omitted.len().saturating_sub(MAX_LOGGED_OMISSIONS) {
        notes.push(format!("and {more} more"));
    }
    (!notes.is_empty()).then(|| format!("omitted or changed in {}: {}", offer.name(), notes.join(", ")))
}

/// Returns when to load a rejected component again. An invalid component stays invalid. A failed probe may
/// succeed once what the component needs is available, and a compiler process may fail for external reasons.
fn load_retry(before: Option<&Failure>, error: &LoadError) -> Option<(Instant, Duration)> {
    let is_temporary = match error {
        LoadError::Probe { .. }
        | LoadError::Unreadable(_)
        | LoadError::Approvals(_)
        | LoadError::GrantRequestFile(_) => true,
        LoadError::Rejected(rejection) => matches!(rejection, Rejection::Compiler(_)),
        LoadError::BadName(_) | LoadError::TooLarge { .. } | LoadError::TooMany(_) => false,
    };
    if !is_temporary {
        return None;
    }
    Some(next_attempt(before.and_then(|failed| failed.retry), LOAD_RETRY))
}

/// Returns the next attempt and its delay, which doubles each time.
fn next_attempt(before: Option<(Instant, Duration)>, first: Duration) -> (Instant, Duration) {
    let wait = before.map_or(first, |(_, wait)| (wait * 2).min(MAX_RETRY));
    (Instant::now() + wait, wait)
}

fn soonest(retries: impl Iterator<Item = (Instant, Duration)>) -> Duration {
    let now = Instant::now();
    retries.map(|(at, _)| at.saturating_duration_since(now)).min().unwrap_or(NEVER)
}
