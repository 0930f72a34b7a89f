//! What operators see of the components of a team: the components that are loading, and the last revisions of each
//! component.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwap;

use super::phases::LoadPhases;
use larder_model::name::Digest;

/// Maximum number of revisions of one component that are listed.
const MAX_REVISIONS: usize = 20;
/// Maximum length of the error of a revision in bytes.
const MAX_ERROR: usize = 1 << 10;

/// The components of a team, as the reconciler reported them last. Clones share the same report.
#[derive(Debug, Clone, Default)]
pub struct Components(Arc<ArcSwap<Vec<ComponentReport>>>);

/// What is known about a component, whether it is served or not.
#[derive(Debug, Clone)]
pub struct ComponentReport {
    /// The name of the provider; if the name is invalid, the text in its place.
    pub name: String,
    /// Where the component comes from, for people: a file name, or a registry reference.
    pub origin: String,
    /// The verified signers of the served revision.
    pub signers: Vec<String>,
    /// Whether the component is being loaded.
    pub is_loading: bool,
    /// The requested grants beyond the ceiling of the team, which are refused.
    pub denied: Vec<String>,
    /// The last revisions of the component, oldest first.
    pub revisions: Arc<VecDeque<RevisionRecord>>,
}

/// What happened to a revision of a component, and when.
#[derive(Debug, Clone)]
pub struct RevisionRecord {
    /// The number of the revision, which is unique among all revisions of all providers; none if the revision was never
    /// served.
    pub number: Option<u64>,
    /// The digest of the component, if it could be read.
    pub digest: Option<Digest>,
    /// When the state changed to this one.
    pub at: SystemTime,
    /// What happened to the revision.
    pub state: RevisionState,
    /// The size of the component in bytes, if it is known.
    pub size: Option<u64>,
    /// Why the revision is not served.
    pub error: Option<String>,
    /// How long each phase of its load took, if the revision was published.
    pub phases: Option<LoadPhases>,
}

/// What happened to a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevisionState {
    /// The revision was served.
    Served,
    /// The revision cannot be served.
    Rejected,
    /// The revision waits for approval.
    PendingApproval,
    /// The revision is not served any more, because one of its grants, approvals or signers was revoked.
    Withdrawn,
}

impl RevisionState {
    /// The name of this state.
    pub fn label(self) -> &'static str {
        match self {
            Self::Served => "served",
            Self::Rejected => "rejected",
            Self::PendingApproval => "pending",
            Self::Withdrawn => "withdrawn",
        }
    }
}

impl RevisionRecord {
    /// Creates the record of an event that happened just now.
    pub(super) fn new(state: RevisionState, digest: Option<Digest>) -> Self {
        Self {
            number: None,
            digest,
            at: SystemTime::now(),
            state,
            size: None,
            error: None,
            phases: None,
        }
    }

    /// Sets why the revision is not served.
    pub(super) fn because(mut self, error: &str) -> Self {
        self.error = Some(error[..error.floor_char_boundary(MAX_ERROR)].to_owned());
        self
    }
}

/// Adds a record, and removes the oldest record if there are too many.
pub(super) fn remember(revisions: &mut Arc<VecDeque<RevisionRecord>>, record: RevisionRecord) {
    let revisions = Arc::make_mut(revisions);
    revisions.push_back(record);
    if revisions.len() > MAX_REVISIONS {
        revisions.pop_front();
    }
}

impl Components {
    /// Returns the components, by name.
    pub fn reports(&self) -> Arc<Vec<ComponentReport>> {
        self.0.load_full()
    }

    pub(super) fn set(&self, reports: Vec<ComponentReport>) {
        self.0.store(Arc::new(reports));
    }
}
