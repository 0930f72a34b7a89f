//! Identifies the content of a component file: by its file fingerprint if that is in the cache, otherwise by
//! reading it.

use std::time::Duration;

use super::{LoadJob, LoadResult, Loader, Outcome, Revision};
use crate::source::{Fetched, File};
use larder_model::name::Digest;
use larder_model::policy::Grant;
use larder_sandbox::provider::LoadError;
use larder_sandbox::{CachedComponent, HashedComponent};

/// A component that was identified by its fingerprint is read after this delay, so that reading does not slow
/// the start.
const RECHECK_DELAY: Duration = Duration::from_secs(2);

/// A component whose digest is known.
pub(super) enum IdentifiedComponent {
    /// The file was read before and has not changed since.
    Cached(CachedComponent),
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

impl Loader {
    /// Uses the compiled component in the cache if the fingerprint is known; reads the file otherwise.
    pub(super) async fn identify(
        &self,
        file: &File,
        grant: &Grant,
    ) -> Result<IdentifiedComponent, LoadError> {
        if file.fingerprint().size() <= grant.limits.component_size
            && let Some(cached) = self.sandbox.find_cached(&self.team, file.fingerprint()).await
        {
            return Ok(IdentifiedComponent::Cached(cached));
        }
        let hashed = self.read(file, grant).await?;
        if file.fingerprint().is_settled() && self.is_unchanged(file).await {
            self.sandbox.record_digest(file.fingerprint(), hashed.digest()).await;
        }
        Ok(IdentifiedComponent::Read(hashed))
    }

    async fn read(&self, file: &File, grant: &Grant) -> Result<HashedComponent, LoadError> {
        let (file, limit) = (file.clone(), grant.limits.component_size);
        let work = self.drain.spawn_blocking(move || {
            let fetched = file.fetch(limit)?;
            Ok::<_, std::io::Error>(match fetched {
                Fetched::Bytes(bytes) => Ok(HashedComponent::new(bytes)),
                Fetched::TooLarge(size) => Err(size),
            })
        });
        match work.await.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
            Ok(Ok(hashed)) => Ok(hashed),
            Ok(Err(size)) => Err(LoadError::TooLarge { size, limit }),
            Err(error) => Err(LoadError::Unreadable(error.to_string())),
        }
    }

    /// Reads a component that was identified by its fingerprint, and starts a new load if the content
    /// differs. On some file systems different content may have the same fingerprint, for example in an image
    /// that is built reproducibly.
    pub(super) async fn recheck(&self, file: &File, revision: Revision) {
        tokio::select! {
            () = self.drain.stopping() => return,
            () = tokio::time::sleep(RECHECK_DELAY) => {}
        }
        let _permit = self.recheck_permit.acquire().await;
        let read = file.clone();
        let digest = self.drain.spawn_blocking(move || read.digest().ok()).await.ok().flatten();
        // If the file changed meanwhile, the next scan loads it anyway.
        if digest == Some(revision.digest) || !self.is_unchanged(file).await {
            return;
        }
        tracing::warn!(
            component = file.name,
            "the component changed although its file fingerprint did not; loading it again"
        );
        self.sandbox.forget_digest(file.fingerprint()).await;
        let (stem, job, outcome) = (file.stem().to_owned(), LoadJob::Recheck, Outcome::Unchanged(revision));
        let _ = self.load_results.send(LoadResult {
            stem,
            job,
            outcome,
            still_permitted: true,
            duration: Duration::ZERO,
        });
        self.wake.notify_one();
    }

    async fn is_unchanged(&self, file: &File) -> bool {
        let file = file.clone();
        self.drain.spawn_blocking(move || file.is_unchanged()).await.unwrap_or(false)
    }
}
