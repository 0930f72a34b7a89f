//! Identifies the content of a component. Uses the fingerprint of its file if the fingerprint is in the cache,
//! otherwise reads the component.

use std::time::{Duration, Instant};

use super::super::desired_state::DesiredComponent;
use super::{LoadJob, LoadResult, Loader, Outcome, Revision};
use crate::source::{Artifact, Blob, BlobRevision, FetchOutcome, SignedSubject};
use larder_model::name::Digest;
use larder_model::policy::Grant;
use larder_provider::{CachedComponent, HashedComponent, LoadError};
use larder_runtime::file_fingerprint::FileFingerprint;

/// A component that was identified by its fingerprint is read after this delay, so that reading does not slow
/// the start.
const RECHECK_DELAY: Duration = Duration::from_secs(2);
/// If a file was replaced while it was read, the error is reported after this time. A scan that finds the new file
/// cancels the report.
const REPLACEMENT_DELAY: Duration = Duration::from_secs(2);

/// A component whose digest is known.
pub(super) enum IdentifiedComponent {
    /// The file was read before and has not changed since.
    Cached(Box<dyn CachedComponent>),
    Read(HashedComponent),
}

impl IdentifiedComponent {
    pub(super) fn digest(&self) -> Digest {
        match self {
            Self::Cached(cached) => cached.digest(),
            Self::Read(hashed) => hashed.digest(),
        }
    }
}

/// Whether the bytes of the component are needed to verify its signatures.
fn needs_bytes(desired: &DesiredComponent) -> bool {
    let signatures = &desired.artifact.signatures;
    let is_signed = !signatures.found.is_empty() || !signatures.files.is_empty();
    !desired.trust.0.is_empty() && is_signed && signatures.subject == SignedSubject::Component
}

impl Loader {
    /// Uses the compiled component in the cache if the fingerprint is known. Otherwise, or if its bytes are needed to
    /// verify a signature, reads the component.
    pub(super) async fn identify(
        &self,
        desired: &DesiredComponent,
    ) -> Result<IdentifiedComponent, LoadError> {
        let component = &desired.artifact.component;
        let grant = &*desired.config.grant;
        let fingerprint = match component.revision() {
            BlobRevision::Fingerprint(fingerprint) => Some(fingerprint),
            BlobRevision::Digest(_) => None,
        };
        if let Some(fingerprint) = fingerprint
            && !needs_bytes(desired)
            && fingerprint.size() <= grant.limits.component_size
            && let Some(cached) = self
                .engine
                .clone()
                .find_cached(&self.team, fingerprint)
                .await
        {
            return Ok(IdentifiedComponent::Cached(cached));
        }
        let hashed = self.read(component, grant).await?;
        if let Some(fingerprint) = fingerprint.filter(FileFingerprint::is_settled)
            && self.is_unchanged(component).await
        {
            self.engine
                .record_digest(fingerprint, hashed.digest())
                .await;
        }
        Ok(IdentifiedComponent::Read(hashed))
    }

    pub(super) async fn read(
        &self,
        component: &Blob,
        grant: &Grant,
    ) -> Result<HashedComponent, LoadError> {
        let component = component.clone();
        let limit = grant.limits.component_size;
        let work = self.threads.run(move || {
            let fetched = component.fetch(limit)?;
            Ok::<_, std::io::Error>(match fetched {
                FetchOutcome::Bytes(bytes) => Ok(HashedComponent::new(bytes)),
                FetchOutcome::TooLarge(size) => Err(size),
            })
        });
        match work.await.flatten() {
            Ok(Ok(hashed)) => Ok(hashed),
            Ok(Err(size)) => Err(LoadError::TooLarge { size, limit }),
            Err(error) => Err(LoadError::Unreadable(error.to_string())),
        }
    }

    /// Reads a component that was identified by its fingerprint, and starts a new load if the content
    /// differs. On some file systems different content may have the same fingerprint, for example in an image
    /// that is built reproducibly.
    pub(super) async fn recheck(&self, artifact: &Artifact, revision: Revision) {
        tokio::select! {
            () = self.drain.stopping() => return,
            () = tokio::time::sleep(RECHECK_DELAY) => {}
        }
        let BlobRevision::Fingerprint(fingerprint) = artifact.component.revision() else {
            return;
        };
        let _permit = self.recheck_permit.acquire().await;
        let read = artifact.component.clone();
        let digest = self.threads.run(move || read.digest()).await.flatten().ok();
        // If the component changed in the meantime, the next scan loads it anyway.
        if digest == Some(revision.digest) || !self.is_unchanged(&artifact.component).await {
            return;
        }
        tracing::warn!(
            component = artifact.origin,
            "the component changed although its file fingerprint did not; loading it again"
        );
        self.engine.forget_digest(fingerprint).await;
        let outcome = Outcome::Unchanged(revision);
        let began = Instant::now();
        self.send_result(LoadResult::new(
            &artifact.name,
            LoadJob::Recheck,
            outcome,
            began,
        ));
        self.wake.notify_one();
    }

    /// Waits if a component could not be read because it was replaced in the meantime: the next scan finds the new
    /// component and cancels this load, so that the error is not reported.
    pub(super) async fn wait_if_replaced(&self, outcome: &Outcome, component: &Blob) {
        let is_unreadable = matches!(outcome, Outcome::Rejected(LoadError::Unreadable(_), _));
        if is_unreadable && !self.is_unchanged(component).await {
            self.wake.notify_one();
            tokio::select! {
                () = self.drain.stopping() => {}
                () = tokio::time::sleep(REPLACEMENT_DELAY) => {}
            }
        }
    }

    pub(super) async fn is_unchanged(&self, component: &Blob) -> bool {
        let component = component.clone();
        self.threads
            .run(move || component.is_unchanged())
            .await
            .unwrap_or(false)
    }
}
