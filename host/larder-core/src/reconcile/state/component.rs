//! The state of one component.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::SystemTime;

use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::super::components::{ComponentReport, RevisionRecord, RevisionState, remember};
use super::super::desired_state::DesiredComponent;
use super::super::load::{LoadedProvider, PreviousRevisions, Revision};
use super::super::pass::{ReconcilePass, RevisionSummary};
use super::super::phases::LoadPhases;
use super::retry::Retry;
use crate::catalog::{Offer, PendingApproval, RejectedComponent};
use crate::source::BlobRevision;
use larder_model::name::Digest;
use larder_model::signature::Signer;
use larder_sandbox::provider::LoadError;

/// Omissions of one provider in a log line. `larder status` shows all of them.
const MAX_LOGGED_OMISSIONS: usize = 10;
/// How many loads are cancelled in a row, because the file of the component was replaced.
const MAX_CANCELLED_LOADS: u32 = 5;

/// The state of one component.
#[derive(Default)]
pub(super) struct ComponentState {
    /// The desired component that is loaded or being loaded.
    pub(super) desired: Option<DesiredComponent>,
    /// Where the artifact comes from that is loaded or being loaded.
    pub(super) origin: String,
    pub(super) serving: Option<Serving>,
    pub(super) loading: Option<RunningLoad>,
    /// The loads that were cancelled since the last one ended.
    pub(super) cancelled_loads: u32,
    pub(super) failed: Option<Failure>,
    pub(super) pending_approval: Option<PendingApproval>,
    pub(super) list_refresh: ListRefresh,
    /// Its last revisions, for operators.
    revisions: Arc<VecDeque<RevisionRecord>>,
}

/// A load in progress.
pub(super) struct RunningLoad {
    pub(super) id: u64,
    pub(super) task: AbortHandle,
    /// Whether the component was read, so that the load can end although the file was replaced.
    pub(super) has_read: Arc<AtomicBool>,
    /// Since when the provider itself is called. `None` while its component is read and compiled.
    pub(super) probing_since: Option<Instant>,
}

/// List refreshes of one provider. One runs at a time, so that an older result cannot replace a newer one.
#[derive(Default)]
pub(super) struct ListRefresh {
    pub(super) running: Option<u64>,
    pub(super) requested: bool,
    /// Whether the provider reported that its lists changed, rather than that they may be stale. Stays set
    /// until a newer list is there, whatever the delay and the number of attempts.
    pub(super) changed: bool,
    /// When a failed refresh is retried.
    pub(super) retry: Option<Retry>,
}

pub(super) struct Serving {
    pub(super) offer: Arc<Offer>,
    pub(super) revision: Revision,
    /// Who signed it.
    pub(super) signers: Vec<Signer>,
    /// Its grant request lines and imports, which a newer revision may have as well.
    pub(super) requests: BTreeSet<String>,
    /// The tools that are not offered, if there are any: they wait for approval, or were rejected if it has no lines.
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
        let retry = self.failed.as_ref().and_then(|failed| failed.retry);
        self.loading.is_none() && retry.is_some_and(|retry| retry.is_due())
    }

    /// Returns the revisions that need not be loaded again. A failed one counts unless it is retried.
    pub(super) fn previous_revisions(&self, is_retry: bool) -> PreviousRevisions {
        let failed = self.failed.as_ref().filter(|_| !is_retry);
        let provider = self.serving.as_ref().map(|serving| &serving.offer.provider);
        PreviousRevisions {
            serving: self
                .serving
                .as_ref()
                .map(|serving| serving.revision.clone()),
            signers: self
                .serving
                .as_ref()
                .map(|serving| serving.signers.clone())
                .unwrap_or_default(),
            has_withheld_tools: self
                .serving
                .as_ref()
                .is_some_and(|serving| serving.withheld.is_some()),
            needs_optimised_code: provider.is_some_and(|provider| provider.needs_optimised_code()),
            requests: self
                .serving
                .as_ref()
                .map(|serving| serving.requests.clone()),
            failed: failed.and_then(|failed| failed.revision.clone()),
            is_retry,
        }
    }

    pub(super) fn cancel_load(&mut self) {
        if let Some(load) = self.loading.take() {
            load.task.abort();
            self.cancelled_loads += 1;
        }
    }

    /// Whether the running load is not cancelled for this component. Otherwise one whose file is replaced again and again,
    /// before it is loaded, would never be served.
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

    pub(super) fn has_problem(&self) -> bool {
        self.failed.is_some() || self.pending_approval.is_some()
    }

    /// Clears the problem if this revision is the one that is served. Returns whether there was a problem.
    pub(super) fn resolve_if_serving(&mut self, revision: &Revision) -> bool {
        if !self
            .serving
            .as_ref()
            .is_some_and(|serving| serving.revision == *revision)
        {
            return false;
        }
        let had_problem = self.has_problem();
        self.failed = None;
        self.pending_approval = None;
        had_problem
    }

    /// Records who signed this revision, if it is the one that is served.
    pub(super) fn set_signers(&mut self, revision: &Revision, signers: Vec<Signer>) {
        if let Some(serving) = self
            .serving
            .as_mut()
            .filter(|serving| serving.revision == *revision)
        {
            serving.signers = signers;
        }
    }

    /// Records where the time of the load of the newest revision went.
    pub(super) fn set_phases(&mut self, phases: LoadPhases) {
        if let Some(newest) = Arc::make_mut(&mut self.revisions).back_mut() {
            newest.phases = Some(phases);
        }
    }

    /// Stops serving the revision, because the operator revoked something that it has.
    pub(super) fn withdraw(&mut self, pass: &mut ReconcilePass) {
        if let Some(serving) = self.serving.take() {
            let name = serving.offer.name().clone();
            let digest = Some(serving.revision.digest);
            self.remember(RevisionRecord::new(RevisionState::Withdrawn, digest));
            tracing::warn!(provider = %name, "not served any more: its grant, approval or signer was revoked");
            pass.removed.push(name);
        }
    }

    pub(super) fn serve(
        &mut self,
        loaded: LoadedProvider,
        is_list_refresh: bool,
        generation: u64,
        pass: &mut ReconcilePass,
    ) {
        let LoadedProvider {
            provider,
            probed,
            definitions,
            withheld,
            revision,
            requests,
        } = loaded;
        let generation = self
            .serving
            .as_ref()
            .map_or(generation, |serving| serving.offer.generation);
        let offer = Arc::new(Offer::new(
            provider,
            probed,
            definitions,
            generation,
            revision.config.priority,
        ));
        let before = self
            .serving
            .as_ref()
            .and_then(|serving| serving.withheld.as_ref());
        let tools = self
            .serving
            .as_ref()
            .map(|serving| serving.offer.definitions.tools.as_slice());
        let tools_withheld = before
            .map(|before| before.tools.as_slice())
            .unwrap_or_default();
        let withheld = withheld.map(|withheld| {
            withheld
                .with_tools_before(tools.unwrap_or_default(), tools_withheld)
                .keep_since(before)
        });
        if withheld.as_ref() != before {
            pass.pending_approvals
                .extend(withheld.clone().filter(PendingApproval::is_pending));
        }
        let before = self.serving.as_ref().map(|serving| &serving.offer.omitted);
        if before.is_none_or(|before| *before != offer.omitted) {
            pass.omitted.extend(describe_omissions(&offer));
        }
        let before = self
            .serving
            .as_ref()
            .map(|serving| &serving.offer.setting_problems);
        if before.is_none_or(|before| *before != offer.setting_problems) {
            pass.problems.extend(
                offer
                    .setting_problems
                    .iter()
                    .map(|it| format!("{}: {it}", offer.name())),
            );
        }
        self.list_refresh.retry = None;
        // The host cannot compare entries that it does not see. It trusts a provider's report of a change,
        // and assumes that a new revision differs.
        let has_unlisted_entries = offer.next_cursor.is_some() || offer.is_personal();
        if is_list_refresh {
            pass.lists_refreshed = true;
            pass.unlisted_changes |=
                std::mem::take(&mut self.list_refresh.changed) && has_unlisted_entries;
        } else {
            pass.unlisted_changes |= self.serving.is_some() && has_unlisted_entries;
            let changed = if self.serving.is_some() {
                &mut pass.replaced
            } else {
                &mut pass.loaded
            };
            changed.push(RevisionSummary::of(&offer));
            let record = RevisionRecord::new(RevisionState::Served, Some(revision.digest));
            self.remember(RevisionRecord {
                number: Some(offer.provider.revision()),
                ..record
            });
            self.failed = None;
            self.pending_approval = None;
        }
        let signers = self
            .serving
            .take()
            .map(|serving| serving.signers)
            .unwrap_or_default();
        self.serving = Some(Serving {
            offer,
            revision,
            signers,
            requests,
            withheld,
        });
    }

    /// Records that a load failed. What is served stays.
    pub(super) fn fail(
        &mut self,
        error: &LoadError,
        revision: Option<Revision>,
        pass: &mut ReconcilePass,
    ) {
        let digest = revision.as_ref().map(|revision| revision.digest);
        let origin = self.origin.clone();
        let reason = error.to_string();
        let since = SystemTime::now();
        let before = self.failed.as_ref().map(|failed| &failed.rejection);
        let stderr = error.guest_stderr().to_owned();
        let name = self
            .desired
            .as_ref()
            .map(|desired| desired.artifact.name.clone())
            .unwrap_or_default();
        let rejection = RejectedComponent {
            name,
            origin,
            digest,
            reason,
            stderr,
            since,
        }
        .keep_since(before);
        if before != Some(&rejection) {
            pass.rejected.push(rejection.clone());
            let record = RevisionRecord::new(RevisionState::Rejected, digest);
            self.remember(record.because(&rejection.reason));
        }
        self.pending_approval = None;
        // Once the approvals can be read again, or have changed, the component is loaded again although it did not change.
        let is_about_approvals =
            matches!(error, LoadError::Approvals(_) | LoadError::NotApproved(_));
        let revision = revision.filter(|_| !is_about_approvals);
        let retry = Retry::of_load(self.failed.as_ref().and_then(|failed| failed.retry), error);
        self.failed = Some(Failure {
            retry,
            rejection,
            revision,
        });
    }

    /// Keeps what happened to a revision, for operators.
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

    /// Returns what operators see of it.
    pub(super) fn report(&self, name: &str) -> ComponentReport {
        let signers = self.serving.iter().flat_map(|serving| &serving.signers);
        ComponentReport {
            name: name.to_owned(),
            origin: self.origin.clone(),
            signers: signers.map(ToString::to_string).collect(),
            is_loading: self.loading.is_some(),
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

    /// Records that a revision waits for approval. What is served stays.
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

/// Describes in one sentence what was omitted from a provider's lists or changed in them.
fn describe_omissions(offer: &Offer) -> Option<String> {
    let secrets = &offer.provider.grant().secrets;
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
