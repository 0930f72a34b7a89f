//! When the skills of a provider are built again.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::build::{BuildRequest, BuiltContent, Obstacle};
use crate::catalog::Offer;
use crate::host_reads::{self, PAUSE_FACTOR};
use crate::retry::Retry;
use larder_model::name::Digest;
use larder_model::uri::Uri;
use larder_skills::{ProviderSkills, SkillFile};

/// The time between two queries of the versions of files. Reported changes are handled at once.
const VERSION_INTERVAL: Duration = Duration::from_secs(60);
/// After this time, files without versions are read again.
const READ_INTERVAL: Duration = Duration::from_secs(3_600);
/// After this many failed builds, files that do not match their list exclude only their own skills.
const MAX_FAILURES: u32 = 4;

/// The state of the skills of one provider.
#[derive(Debug, Default)]
pub(super) struct ProviderState {
    /// The revision and the list for which the skills were built.
    built_for: Option<(u64, Digest)>,
    /// The revision and the list that are served now.
    now: Option<(u64, Digest)>,
    is_outdated: bool,
    /// Files whose update was reported.
    updated: HashSet<Uri>,
    failures: u32,
    retry: Retry,
    /// When a list that is longer than the catalog may be requested again.
    next_list: Option<Instant>,
    checked: Option<Instant>,
    read_all: Option<Instant>,
    /// The skills and pages that were built last, also those that are not approved.
    built: Option<Arc<ProviderSkills>>,
    /// Whether it is not decided yet what of them is approved.
    is_undecided: bool,
}

impl ProviderState {
    /// Records what is served now.
    pub(super) fn follow(&mut self, offer: &Offer) {
        let now = Some((offer.provider.revision(), offer.list_digest));
        if self.now == now {
            return;
        }
        self.now = now;
        self.is_outdated = true;
        self.failures = 0;
        self.retry.succeeded();
    }

    /// Records that the content of a file changed.
    pub(super) fn uri_updated(&mut self, uri: &Uri) {
        self.updated.insert(uri.clone());
        self.is_outdated = true;
    }

    /// Whether this is a file of the skills that were built last.
    pub(super) fn has_file(&self, uri: &Uri) -> bool {
        let built = self.built.as_ref();
        built.is_some_and(|built| built.file(uri).is_some())
    }

    /// Records that any content may have changed.
    pub(super) fn may_have_changed(&mut self) {
        self.is_outdated = true;
    }

    /// Ends the pause after a failure.
    pub(super) fn retry_now(&mut self) {
        self.retry.succeeded();
    }

    /// Returns the skills and pages that were built last.
    pub(super) fn built(&self) -> Option<&Arc<ProviderSkills>> {
        self.built.as_ref()
    }

    /// Requests a new decision about what is approved.
    pub(super) fn decide_again(&mut self) {
        self.is_undecided = self.built.is_some();
    }

    /// Builds and decides again after a pause, because the approvals cannot be read.
    pub(super) fn decide_later(&mut self) {
        self.is_undecided = false;
        self.is_outdated = true;
        self.retry.failed(Duration::ZERO);
    }

    /// Returns the skills and pages about which has to be decided.
    pub(super) fn undecided(&self) -> Option<Arc<ProviderSkills>> {
        self.built.clone().filter(|_| self.is_undecided)
    }

    /// Records that what is approved was published.
    pub(super) fn decided(&mut self) {
        self.is_undecided = false;
    }

    /// Whether the skills have to be built.
    pub(super) fn is_outdated(&self) -> bool {
        self.is_outdated
    }

    /// Whether the last skills were built from the revision that is served now.
    pub(super) fn is_same_revision(&self) -> bool {
        let revision = |of: Option<(u64, Digest)>| of.map(|(revision, _)| revision);
        revision(self.built_for) == revision(self.now)
    }

    /// What the next build has to do.
    pub(super) fn request(&self) -> BuildRequest {
        BuildRequest {
            updated: self.updated.clone(),
            is_last_attempt: self.failures >= MAX_FAILURES,
        }
    }

    pub(super) fn is_due(&self) -> bool {
        self.next_turn() <= Instant::now()
    }

    /// Returns when work is due, if no event happens before.
    pub(super) fn next_turn(&self) -> Instant {
        let mut turn = self.retry.at();
        if let Some(next_list) = self.next_list {
            turn = turn.max(next_list);
        }
        if let Some(checked) = self.checked.filter(|_| !self.is_outdated) {
            turn = turn.max(checked + VERSION_INTERVAL);
        }
        turn
    }

    /// Looks for changes that nobody reported: compares versions, and demands a new read after a long time.
    pub(super) async fn check(&mut self, offer: &Offer, known: &ProviderSkills) {
        let now = Instant::now();
        let is_checked = self.checked.is_some_and(|at| now < at + VERSION_INTERVAL);
        if self.is_outdated || is_checked {
            return;
        }
        self.checked = Some(now);
        if self.read_all.is_none_or(|at| now >= at + READ_INTERVAL) {
            self.updated
                .extend(known.files().map(|file| file.uri.clone()));
        }
        let uris: Vec<_> = known.files().map(|file| file.uri.clone()).collect();
        // A provider that cannot answer now is asked again later.
        let versions = host_reads::versions(offer, &uris).await.unwrap_or_default();
        for (uri, version) in versions {
            let file = known.file(&uri);
            if file.is_some_and(|file| has_other_version(file, &version)) {
                self.updated.insert(uri);
            }
        }
        self.is_outdated = !self.updated.is_empty();
    }

    pub(super) fn succeeded(&mut self, built: BuiltContent) {
        let now = Instant::now();
        *self = Self {
            built_for: self.now,
            now: self.now,
            checked: Some(now),
            read_all: self
                .read_all
                .filter(|at| now < *at + READ_INTERVAL)
                .or(Some(now)),
            next_list: Some(now + built.list_time * PAUSE_FACTOR),
            built: Some(Arc::new(built.skills)),
            is_undecided: true,
            ..Self::default()
        };
    }

    pub(super) fn failed(&mut self, obstacle: &Obstacle) {
        self.retry.failed(obstacle.pause());
        if matches!(obstacle, Obstacle::Changing(_)) {
            self.failures += 1;
        }
    }
}

fn has_other_version(file: &SkillFile, version: &str) -> bool {
    let known = file.result.version.as_deref();
    known.is_some_and(|known| known != version)
}
