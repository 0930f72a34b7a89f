//! The results of loads, and what identifies a revision.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::super::ProviderConfig;
use super::super::phases::PhaseTimer;
use crate::catalog::{Definitions, PendingApproval};
use larder_model::name::Digest;
use larder_model::signature::Signer;
use larder_provider::{LoadError, Priority, ProbeResult, Provider};
use larder_runtime::metrics;

/// Identifies a revision: the component's digest and its configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::reconcile) struct Revision {
    pub(in crate::reconcile) digest: Digest,
    pub(in crate::reconcile) config: ProviderConfig,
}

/// What a load or a list refresh reports.
pub(in crate::reconcile) enum LoadEvent {
    /// The component of this load is compiled. From now on, the own calls of the provider determine how long the load
    /// takes.
    Probing {
        /// The name of the artifact.
        name: String,
        /// The number of the load.
        id: u64,
    },
    Ended(Box<LoadResult>),
}

/// The result of a load or of a list refresh.
pub(in crate::reconcile) struct LoadResult {
    /// The name of the artifact.
    pub(in crate::reconcile) name: String,
    pub(in crate::reconcile) job: LoadJob,
    pub(in crate::reconcile) outcome: Outcome,
    /// Whether the operator still permits everything that the serving revision has.
    pub(in crate::reconcile) still_permitted: bool,
    /// The signers of the loaded revision.
    pub(in crate::reconcile) signers: Vec<Signer>,
    /// The requested lines beyond the ceiling of the team; none if the request was not read.
    pub(in crate::reconcile) denied: Option<BTreeSet<String>>,
    pub(in crate::reconcile) duration: Duration,
    /// Where the time of a load went.
    pub(in crate::reconcile) timer: Option<PhaseTimer>,
}

/// The operation to which a result belongs. The numbers are unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::reconcile) enum LoadJob {
    /// A component was loaded.
    Load(u64),
    /// A provider's lists were refreshed.
    RefreshList(u64),
    /// A component was identified by the fingerprint of its file, but its content differs from the cached component.
    Recheck,
}

pub(in crate::reconcile) enum Outcome {
    /// The revision is served already, or failed before.
    Unchanged(Revision),
    /// The revision works.
    Offer(Box<LoadedProvider>),
    /// The revision cannot be served.
    Rejected(LoadError, Option<Revision>),
    /// The revision requests more than is approved.
    PendingApproval(PendingApproval),
}

impl Outcome {
    pub(super) fn metric_label(&self) -> metrics::LoadOutcome {
        match self {
            Self::Unchanged(_) => metrics::LoadOutcome::Unchanged,
            Self::Offer(_) => metrics::LoadOutcome::Served,
            Self::Rejected(..) => metrics::LoadOutcome::Rejected,
            Self::PendingApproval(_) => metrics::LoadOutcome::PendingApproval,
        }
    }

    /// The new provider, if its code is to be replaced by optimised code.
    pub(super) fn unoptimised_provider(&self) -> Option<Weak<dyn Provider>> {
        match self {
            Self::Offer(loaded) if loaded.provider.needs_optimised_code() => {
                Some(Arc::downgrade(&loaded.provider))
            }
            _ => None,
        }
    }
}

/// A revision that works.
pub(in crate::reconcile) struct LoadedProvider {
    pub(in crate::reconcile) provider: Arc<dyn Provider>,
    pub(in crate::reconcile) probed: ProbeResult,
    /// The tools and prompts that clients can use.
    pub(in crate::reconcile) definitions: Definitions,
    /// The tools that are not offered, if there are any: they wait for approval. If this has no lines, they were
    /// rejected.
    pub(in crate::reconcile) withheld: Option<PendingApproval>,
    pub(in crate::reconcile) revision: Revision,
    /// The grant request lines and imports beyond the operator's grant.
    pub(in crate::reconcile) requests: BTreeSet<String>,
}

/// The revisions that need not be loaded again, and the requests of the serving revision.
pub(in crate::reconcile) struct PreviousRevisions {
    pub(in crate::reconcile) serving: Option<Revision>,
    /// The signers of the serving revision.
    pub(in crate::reconcile) signers: Vec<Signer>,
    /// Whether tools of the serving revision wait for approval.
    pub(in crate::reconcile) has_withheld_tools: bool,
    /// Whether the code of the serving revision is not optimised yet.
    pub(in crate::reconcile) needs_optimised_code: bool,
    pub(in crate::reconcile) requests: Option<BTreeSet<String>>,
    pub(in crate::reconcile) failed: Option<Revision>,
    /// Whether the last load failed, so that this load is another attempt.
    pub(in crate::reconcile) is_retry: bool,
}

impl PreviousRevisions {
    /// Whether this revision is served already, or failed before.
    pub(super) fn has(&self, revision: &Revision) -> bool {
        let is_serving = self.serving.as_ref() == Some(revision) && !self.has_withheld_tools;
        is_serving || self.failed.as_ref() == Some(revision)
    }

    /// The priority of the next revision. Somebody waits for it if no revision is served. Somebody probably also waits
    /// if the served revision is not optimised yet: it was added seconds ago, and its author is probably still changing
    /// it.
    pub(super) fn priority_of_next(&self) -> Priority {
        if self.serving.is_none() || self.needs_optimised_code {
            Priority::Awaited
        } else {
            Priority::Replacement
        }
    }
}

impl LoadResult {
    /// A result that says nothing about what the serving revision has. Its job began at this time.
    pub(super) fn new(name: &str, job: LoadJob, outcome: Outcome, began: Instant) -> Self {
        Self {
            name: name.to_owned(),
            job,
            outcome,
            still_permitted: true,
            signers: Vec::new(),
            denied: None,
            duration: began.elapsed(),
            timer: None,
        }
    }

    /// Returns the revision of a load, if its signatures were verified and it can be served.
    pub(in crate::reconcile) fn verified_revision(&self) -> Option<&Revision> {
        let is_load = matches!(self.job, LoadJob::Load(_));
        let is_served = matches!(self.outcome, Outcome::Unchanged(_) | Outcome::Offer(_));
        self.revision().filter(|_| is_load && is_served)
    }

    /// Whether the serving revision has something that was revoked, and this result does not replace it.
    pub(in crate::reconcile) fn withdraws_serving(&self) -> bool {
        let has_no_offer = matches!(
            self.outcome,
            Outcome::PendingApproval(_) | Outcome::Rejected(..)
        );
        !self.still_permitted && has_no_offer
    }

    pub(in crate::reconcile) fn revision(&self) -> Option<&Revision> {
        match &self.outcome {
            Outcome::Unchanged(revision) => Some(revision),
            Outcome::Offer(loaded) => Some(&loaded.revision),
            Outcome::Rejected(_, revision) => revision.as_ref(),
            Outcome::PendingApproval(_) => None,
        }
    }

    /// Returns the name and the phases of a load whose revision can be served.
    pub(in crate::reconcile) fn timer_of_served(&self) -> Option<(String, PhaseTimer)> {
        let timer = self
            .timer
            .filter(|_| matches!(self.outcome, Outcome::Offer(_)))?;
        Some((self.name.clone(), timer))
    }
}
