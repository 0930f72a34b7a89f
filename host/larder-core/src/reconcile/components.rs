//! What operators see of the components of a team: those that are loading, and the last revisions of each.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwap;

use super::phases::LoadPhases;
use larder_model::name::Digest;

/// Maximum number of revisions of one component that are remembered.
const MAX_REVISIONS: usize = 20;
/// Maximum length of the error of a revision in bytes.
const MAX_ERROR: usize = 1 << 10;

/// The components of a team, as the reconciler reported them last. Clones share the same report.
#[derive(Debug, Clone, Default)]
pub struct Components(Arc<ArcSwap<Vec<ComponentReport>>>);

/// What is known about a component, whether it is served or not.
#[derive(Debug, Clone)]
pub struct ComponentReport {
    /// The name of the provider, or what would be its name if it were valid.
    pub name: String,
    /// Where the component comes from, for people: a file name, or a registry reference.
    pub origin: String,
    /// Who signed the served revision, after verification.
    pub signers: Vec<String>,
    /// Whether it is being loaded.
    pub is_loading: bool,
    /// Its last revisions, the oldest first.
    pub revisions: Arc<VecDeque<RevisionRecord>>,
}

/// What happened to a revision of a component.
#[derive(Debug, Clone)]
pub struct RevisionRecord {
    /// Its number, which is unique among all revisions of all providers; none if it was never served.
    pub number: Option<u64>,
    /// The digest of the component, if it could be read.
    pub digest: Option<Digest>,
    /// When it happened.
    pub at: SystemTime,
    /// What happened.
    pub state: RevisionState,
    /// The size of the component in bytes, if it is known.
    pub size: Option<u64>,
    /// Why it is not served.
    pub error: Option<String>,
    /// Where the time went when it was loaded, as far as it was published.
    pub phases: Option<LoadPhases>,
}

/// What happened to a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevisionState {
    /// It was served.
    Served,
    /// It cannot be served.
    Rejected,
    /// It waits for approval.
    PendingApproval,
    /// It is not served any more, because something that it has was revoked.
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
    /// Creates the record of something that happened just now.
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

    /// Sets why it is not served.
    pub(super) fn because(mut self, error: &str) -> Self {
        self.error = Some(error[..error.floor_char_boundary(MAX_ERROR)].to_owned());
        self
    }
}

/// Adds a record, and removes the oldest one if there are too many.
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
