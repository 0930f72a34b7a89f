//! The state of one component.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::SystemTime;

use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::super::components::{ComponentReport, RevisionRecord, RevisionState, remember};
use super::super::desired_state::DesiredComponent;
use super::super::load::{LoadJob, LoadResult, LoadedProvider, PreviousRevisions, Revision};
use super::super::pass::{DeniedRequest, ReconcilePass, RevisionSummary};
use super::super::phases::LoadPhases;
use super::retry::Retry;
use crate::catalog::{Offer, PendingApproval, RejectedComponent};
use crate::source::BlobRevision;
use larder_model::name::{Digest, ProviderName};
use larder_model::signature::Signer;
use larder_provider::LoadError;

/// Maximum number of omissions of one provider in a log line. `larder status` shows all omissions.
const MAX_LOGGED_OMISSIONS: usize = 10;
/// Maximum number of loads that are cancelled in a row because the file of the component was replaced.
const MAX_CANCELLED_LOADS: u32 = 5;

/// The state of one component.
#[derive(Default)]
pub(super) struct ComponentState {
    /// The desired component that is loaded or being loaded.
    pub(super) desired: Option<DesiredComponent>,
    /// The origin of the artifact that is loaded or being loaded.
    pub(super) origin: String,
    pub(super) serving: Option<ServedComponent>,
    pub(super) loading: Option<RunningLoad>,
    /// The loads that were cancelled since the last one ended.
    pub(super) cancelled_loads: u32,
    pub(super) failed: Option<Failure>,
    pub(super) pending_approval: Option<PendingApproval>,
    /// The requested lines beyond the ceiling of the team.
    denied: BTreeSet<String>,
    pub(super) list_refresh: ListRefresh,
    /// The last revisions of the component, for operators.
    revisions: Arc<VecDeque<RevisionRecord>>,
}

/// A load in progress.
pub(super) struct RunningLoad {
    pub(super) id: u64,
    pub(super) task: AbortHandle,
    /// Whether the component was read, so that the load can end although the file was replaced.
    pub(super) has_read: Arc<AtomicBool>,
    /// The time since which the provider itself is called. `None` while its component is read and compiled.
    pub(super) probing_since: Option<Instant>,
}

/// List refreshes of one provider. One runs at a time, so that an older result cannot replace a newer one.
#[derive(Default)]
pub(super) struct ListRefresh {
    pub(super) running: Option<u64>,
    pub(super) requested: bool,
    /// Whether the provider reported that its lists changed. Not set if the lists may only be stale. Stays set until a
    /// newer list arrives, after any delay and any number of attempts.
    pub(super) changed: bool,
    /// When a failed refresh is retried.
    pub(super) retry: Option<Retry>,
}

pub(super) struct ServedComponent {
    pub(super) offer: Arc<Offer>,
    pub(super) revision: Revision,
    /// The signers of the revision.
    pub(super) signers: Vec<Signer>,
    /// The grant request lines and imports of the revision. A newer revision may have them as well.
    pub(super) requests: BTreeSet<String>,
    /// The tools that are not offered, if there are any: they wait for approval. If this has no lines, they were
    /// rejected.
    pub(super) withheld: Option<PendingApproval>,
}

pub(super) struct Failure {
    pub(super) rejection: RejectedComponent,
    revision: Option<Revision>,
    pub(super) retry: Option<Retry>,
}

impl ComponentState {
    /// Returns whether a failed load is due for a retry.
    pub(super) fn is_retry_due(&self) -> bool {
        self.load_retry().is_some_and(|retry| retry.is_due())
    }

    /// Returns the retry of a failed load, unless a load is running.
    pub(super) fn load_retry(&self) -> Option<Retry> {
        let retry = self.failed.as_ref()?.retry;
        retry.filter(|_| self.loading.is_none())
    }

    /// Returns the revisions that need not be loaded again. A failed revision counts unless it is retried.
    pub(super) fn previous_revisions(&self, is_retry: bool) -> PreviousRevisions {
        let failed = self.failed.as_ref().filter(|_| !is_retry);
        let serving = self.serving.as_ref();
        PreviousRevisions {
            serving: serving.map(|serving| serving.revision.clone()),
            signers: serving
                .map(|serving| serving.signers.clone())
                .unwrap_or_default(),
            has_withheld_tools: serving.is_some_and(|serving| serving.withheld.is_some()),
            needs_optimised_code: serving
                .is_some_and(|serving| serving.offer.provider.needs_optimised_code()),
            requests: serving.map(|serving| serving.requests.clone()),
            failed: failed.and_then(|failed| failed.revision.clone()),
            is_retry,
        }
    }

    /// Notes that a load or a list refresh ended. Returns whether its result is still of interest.
    pub(super) fn end_job(&mut self, result: &LoadResult) -> bool {
        match result.job {
            LoadJob::Load(id) if self.loading.as_ref().is_some_and(|load| load.id == id) => {
                self.loading = None;
                self.cancelled_loads = 0;
                true
            }
            LoadJob::RefreshList(id) if self.list_refresh.running == Some(id) => {
                self.list_refresh.running = None;
                // Otherwise, another revision is served by now.
                self.serving.as_ref().map(|serving| &serving.revision) == result.revision()
            }
            LoadJob::Recheck => {
                // The next scan starts a load, which reads the component.
                self.desired = None;
                false
            }
            LoadJob::Load(_) | LoadJob::RefreshList(_) => false,
        }
    }

    pub(super) fn cancel_load(&mut self) {
        if let Some(load) = self.loading.take() {
            load.task.abort();
            self.cancelled_loads += 1;
        }
    }

    /// Whether the running load is not cancelled for this component. Otherwise a component whose file is repeatedly
    /// replaced before it is loaded would never be served.
    pub(super) fn lets_load_end(&self, desired: &DesiredComponent) -> bool {
        let has_read = self
            .loading
            .as_ref()
            .is_some_and(|load| load.has_read.load(Relaxed));
        let is_same_otherwise = || {
            self.desired
                .as_ref()
                .is_some_and(|one| one.is_same_otherwise(desired))
        };
        self.cancelled_loads >= MAX_CANCELLED_LOADS && has_read && is_same_otherwise()
    }

    /// Whether neither a load nor a list refresh is running.
    pub(super) fn is_idle(&self) -> bool {
        self.loading.is_none() && self.list_refresh.running.is_none()
    }

    /// Whether a list refresh can start.
    pub(super) fn can_refresh_list(&self) -> bool {
        self.serving.is_some() && self.is_idle()
    }

    /// Returns the retry of a failed list refresh, if a refresh can start.
    pub(super) fn list_retry(&self) -> Option<Retry> {
        self.list_refresh.retry.filter(|_| self.can_refresh_list())
    }

    pub(super) fn has_problem(&self) -> bool {
        self.failed.is_some() || self.pending_approval.is_some()
    }

    /// Clears the problem if this revision is served. Returns whether there was a problem.
    pub(super) fn resolve_if_serving(&mut self, revision: &Revision) -> bool {
        if !self.is_serving(revision) || !self.has_problem() {
            return false;
        }
        self.failed = None;
        self.pending_approval = None;
        true
    }

    fn is_serving(&self, revision: &Revision) -> bool {
        let serving = self.serving.as_ref();
        serving.is_some_and(|serving| serving.revision == *revision)
    }

    /// Records the signers of this revision, if the revision is served.
    pub(super) fn set_signers(&mut self, revision: &Revision, signers: Vec<Signer>) {
        if let Some(serving) = self
            .serving
            .as_mut()
            .filter(|serving| serving.revision == *revision)
        {
            serving.signers = signers;
        }
    }

    /// Records which requested lines are beyond the ceiling of the team, and reports the lines that were not refused
    /// before.
    pub(super) fn set_denied(
        &mut self,
        name: &str,
        denied: BTreeSet<String>,
        pass: &mut ReconcilePass,
    ) {
        let new: Vec<_> = denied.difference(&self.denied).cloned().collect();
        if !new.is_empty() {
            pass.denied_requests.push(DeniedRequest {
                provider: name.to_owned(),
                lines: new,
            });
        }
        self.denied = denied;
    }

    /// Records where the time of the load of the newest revision went.
    pub(super) fn set_phases(&mut self, phases: LoadPhases) {
        if let Some(newest) = Arc::make_mut(&mut self.revisions).back_mut() {
            newest.phases = Some(phases);
        }
    }

    /// Stops serving the revision, because the operator revoked one of its grants, approvals or signers.
    pub(super) fn withdraw(&mut self, pass: &mut ReconcilePass) {
        if let Some(serving) = self.serving.take() {
            let name = serving.offer.name().clone();
            let digest = Some(serving.revision.digest);
            self.remember(RevisionRecord::new(RevisionState::Withdrawn, digest));
            tracing::warn!(provider = %name, "not served any more: its grant, approval or signer was revoked");
            pass.removed.push(name);
        }
    }

    /// Ends the component, because it is not desired any more.
    pub(super) fn end(&mut self, name: &str, pass: &mut ReconcilePass) {
        self.cancel_load();
        pass.removed.extend(self.served_name());
        if self.has_problem() {
            pass.resolved.push(name.to_owned());
        }
    }

    pub(super) fn serve(
        &mut self,
        loaded: LoadedProvider,
        is_list_refresh: bool,
        generation: u64,
        pass: &mut ReconcilePass,
    ) {
        let before = self.served_offer();
        let generation = before.map_or(generation, |offer| offer.generation);
        let config = &loaded.revision.config;
        let offer = Offer::new(
            loaded.provider,
            loaded.probed,
            loaded.definitions,
            generation,
            config.priority,
        );
        let offer = Arc::new(offer.with_approval_mode(config.approval_mode));
        let withheld = loaded.withheld.map(|withheld| self.compared(withheld));
        self.report_withheld(withheld.as_ref(), pass);
        self.report_omissions(&offer, pass);
        self.report_setting_problems(&offer, pass);
        self.list_refresh.retry = None;
        if is_list_refresh {
            self.report_list_refresh(&offer, pass);
        } else {
            self.report_revision(&offer, pass);
        }
        let signers = self.serving.take().map(|serving| serving.signers);
        self.serving = Some(ServedComponent {
            offer,
            revision: loaded.revision,
            signers: signers.unwrap_or_default(),
            requests: loaded.requests,
            withheld,
        });
    }

    fn served_offer(&self) -> Option<&Offer> {
        self.serving.as_ref().map(|serving| &*serving.offer)
    }

    pub(super) fn served_name(&self) -> Option<ProviderName> {
        self.served_offer().map(|offer| offer.name().clone())
    }

    /// The withheld tools of the revision that is served.
    fn withheld(&self) -> Option<&PendingApproval> {
        self.serving.as_ref()?.withheld.as_ref()
    }

    /// Compares the withheld tools with the tools of the revision that is served.
    fn compared(&self, withheld: PendingApproval) -> PendingApproval {
        let before = self.withheld();
        let offered = self
            .served_offer()
            .map(|offer| &offer.definitions.tools[..]);
        let withheld_before = before.map(|before| &before.tools[..]);
        withheld
            .with_tools_before(
                offered.unwrap_or_default(),
                withheld_before.unwrap_or_default(),
            )
            .keep_since(before)
    }

    /// Reports the tools that wait for approval, unless they were reported before.
    fn report_withheld(&self, withheld: Option<&PendingApproval>, pass: &mut ReconcilePass) {
        if withheld != self.withheld() {
            let pending = withheld.filter(|withheld| withheld.is_pending());
            pass.pending_approvals.extend(pending.cloned());
        }
    }

    fn report_omissions(&self, offer: &Offer, pass: &mut ReconcilePass) {
        let before = self.served_offer().map(|before| &before.omitted);
        if before != Some(&offer.omitted) {
            pass.omitted.extend(describe_omissions(offer));
        }
    }

    fn report_setting_problems(&self, offer: &Offer, pass: &mut ReconcilePass) {
        let before = self.served_offer().map(|before| &before.setting_problems);
        if before != Some(&offer.setting_problems) {
            let problems = offer.setting_problems.iter();
            pass.problems
                .extend(problems.map(|problem| format!("{}: {problem}", offer.name())));
        }
    }

    fn report_list_refresh(&mut self, offer: &Offer, pass: &mut ReconcilePass) {
        let has_changed = std::mem::take(&mut self.list_refresh.changed);
        pass.lists_refreshed = true;
        pass.unlisted_changes |= has_changed && has_unlisted_entries(offer);
    }

    /// Reports a new revision, which resolves all problems.
    fn report_revision(&mut self, offer: &Offer, pass: &mut ReconcilePass) {
        let summary = RevisionSummary::of(offer);
        if self.serving.is_some() {
            pass.unlisted_changes |= has_unlisted_entries(offer);
            pass.replaced.push(summary);
        } else {
            pass.loaded.push(summary);
        }
        let digest = Some(offer.provider.digest());
        self.remember(RevisionRecord {
            number: Some(offer.provider.revision()),
            ..RevisionRecord::new(RevisionState::Served, digest)
        });
        self.failed = None;
        self.pending_approval = None;
    }

    /// Records that a load failed. The revision that is served stays.
    pub(super) fn fail(
        &mut self,
        error: &LoadError,
        revision: Option<Revision>,
        pass: &mut ReconcilePass,
    ) {
        let digest = revision.as_ref().map(|revision| revision.digest);
        let rejection = self.rejection(error, digest);
        self.report_rejection(&rejection, pass);
        self.pending_approval = None;
        // When the approvals can be read again, or have changed, the component is loaded again although it did not
        // change.
        let is_about_approvals =
            matches!(error, LoadError::Approvals(_) | LoadError::NotApproved(_));
        let retry = self.failed.as_ref().and_then(|failed| failed.retry);
        self.failed = Some(Failure {
            retry: Retry::of_load(retry, error),
            rejection,
            revision: revision.filter(|_| !is_about_approvals),
        });
    }

    fn rejection(&self, error: &LoadError, digest: Option<Digest>) -> RejectedComponent {
        let desired = self.desired.as_ref();
        let name = desired.map(|desired| desired.artifact.name.clone());
        RejectedComponent {
            name: name.unwrap_or_default(),
            origin: self.origin.clone(),
            digest,
            reason: error.to_string(),
            stderr: error.guest_stderr().to_owned(),
            since: SystemTime::now(),
        }
        .keep_since(self.last_rejection())
    }

    fn last_rejection(&self) -> Option<&RejectedComponent> {
        self.failed.as_ref().map(|failed| &failed.rejection)
    }

    /// Reports why a component is rejected, unless that was reported before.
    fn report_rejection(&mut self, rejection: &RejectedComponent, pass: &mut ReconcilePass) {
        if self.last_rejection() != Some(rejection) {
            pass.rejected.push(rejection.clone());
            let record = RevisionRecord::new(RevisionState::Rejected, rejection.digest);
            self.remember(record.because(&rejection.reason));
        }
    }

    /// Adds a record of what happened to a revision, for operators.
    fn remember(&mut self, record: RevisionRecord) {
        let artifact = self
            .desired
            .as_ref()
            .map(|desired| desired.artifact.component.revision());
        let size = match artifact {
            Some(BlobRevision::Fingerprint(fingerprint)) => Some(fingerprint.size()),
            Some(BlobRevision::Digest(_)) | None => None,
        };
        remember(&mut self.revisions, RevisionRecord { size, ..record });
    }

    /// Returns what operators see of the component.
    pub(super) fn report(&self, name: &str) -> ComponentReport {
        let signers = self.serving.iter().flat_map(|serving| &serving.signers);
        ComponentReport {
            name: name.to_owned(),
            origin: self.origin.clone(),
            signers: signers.map(ToString::to_string).collect(),
            is_loading: self.loading.is_some(),
            denied: self.denied.iter().cloned().collect(),
            revisions: self.revisions.clone(),
        }
    }

    /// Records that a list refresh failed. The previous list stays.
    pub(super) fn fail_list_refresh(
        &mut self,
        name: &str,
        error: &LoadError,
        digest: Option<Digest>,
    ) {
        self.list_refresh.retry = Retry::of_list_refresh(self.list_refresh.retry, error);
        let digest = digest.map(|digest| digest.short());
        tracing::warn!(provider = name, digest, %error, "list refresh failed; the previous list stays");
    }

    /// Records that a revision waits for approval. The revision that is served stays.
    pub(super) fn wait_for_approval(
        &mut self,
        approval: PendingApproval,
        pass: &mut ReconcilePass,
    ) {
        let approval = approval.keep_since(self.pending_approval.as_ref());
        if self.pending_approval.as_ref() != Some(&approval) {
            pass.pending_approvals.push(approval.clone());
            self.remember(RevisionRecord::new(
                RevisionState::PendingApproval,
                Some(approval.digest),
            ));
        }
        self.failed = None;
        self.pending_approval = Some(approval);
    }
}

/// Whether the provider has entries that the host does not see, and so cannot compare. The host trusts a provider's
/// report of a change, and assumes that a new revision differs.
fn has_unlisted_entries(offer: &Offer) -> bool {
    offer.next_cursor.is_some() || offer.is_personal()
}

/// Describes in one sentence what was omitted from a provider's lists or changed in them.
fn describe_omissions(offer: &Offer) -> Option<String> {
    let secrets = &offer.grant().secrets;
    let omitted = offer.omitted.iter().take(MAX_LOGGED_OMISSIONS);
    let mut notes: Vec<_> = omitted
        .map(|note| secrets.redact(note).into_owned())
        .collect();
    if let more @ 1.. = offer.omitted.len().saturating_sub(MAX_LOGGED_OMISSIONS) {
        notes.push(format!("and {more} more"));
    }
    (!notes.is_empty()).then(|| {
        format!(
            "omitted or changed in {}: {}",
            offer.name(),
            notes.join(", ")
        )
    })
}
