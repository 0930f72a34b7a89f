//! What a file holds: by its stamp, where it was seen before, or by reading it.

use std::time::Duration;

use super::{Errand, Load, Loaded, Outcome, Revision};
use crate::name::Digest;
use crate::policy::Grant;
use crate::provider::LoadError;
use crate::sandbox::{Hashed, Recalled};
use crate::source::{Fetched, File};

/// How long what was known by its stamp serves before it is read: whoever starts wants to be served first.
const CHECK: Duration = Duration::from_secs(2);

/// What a file holds.
pub(super) enum Component {
    /// It was read before, and was not touched since.
    Known(Recalled),
    Read(Hashed),
}

impl Component {
    pub(super) fn digest(&self) -> Digest {
        match self {
            Self::Known(recalled) => recalled.digest(),
            Self::Read(hashed) => hashed.digest(),
        }
    }
}

impl Load {
    /// By its stamp, where that is known and what it stands for was compiled; else by reading it.
    pub(super) async fn identify(&self, file: &File, grant: &Grant) -> Result<Component, LoadError> {
        if file.stamp().size() <= grant.limits.component
            && let Some(recalled) = self.sandbox.recall(&self.team, file.stamp()).await
        {
            return Ok(Component::Known(recalled));
        }
        let hashed = self.read(file, grant).await?;
        if file.stamp().is_settled() && self.is_same(file).await {
            self.sandbox.remember(file.stamp(), hashed.digest()).await;
        }
        Ok(Component::Read(hashed))
    }

    async fn read(&self, file: &File, grant: &Grant) -> Result<Hashed, LoadError> {
        let (file, limit) = (file.clone(), grant.limits.component);
        let work = self.drain.spawn_blocking(move || {
            let fetched = file.fetch(limit)?;
            Ok::<_, std::io::Error>(match fetched {
                Fetched::Bytes(bytes) => Ok(Hashed::new(bytes)),
                Fetched::TooLarge(size) => Err(size),
            })
        });
        match work.await.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
            Ok(Ok(hashed)) => Ok(hashed),
            Ok(Err(size)) => Err(LoadError::TooLarge { size, limit }),
            Err(error) => Err(LoadError::Unreadable(error.to_string())),
        }
    }

    /// Reads a component that was known by its stamp, once there is time. On some file systems (an image that
    /// is made the same way again) a file may have the stamp of another.
    pub(super) async fn check(&self, file: &File, revision: Revision) {
        tokio::select! {
            () = self.drain.stopping() => return,
            () = tokio::time::sleep(CHECK) => {}
        }
        let _turn = self.checks.acquire().await;
        let read = file.clone();
        let digest = self.drain.spawn_blocking(move || read.digest().ok()).await.ok().flatten();
        // What was touched meanwhile is looked at for that.
        if digest == Some(revision.digest) || !self.is_same(file).await {
            return;
        }
        tracing::warn!(
            component = file.name,
            "it is not what it was at the last start, though the system says so"
        );
        self.sandbox.disown(file.stamp()).await;
        let (stem, errand, outcome) = (file.stem().to_owned(), Errand::Doubt, Outcome::Same(revision));
        let _ = self.done.send(Loaded { stem, errand, outcome, covered: true, took: Duration::ZERO });
        self.wake.notify_one();
    }

    async fn is_same(&self, file: &File) -> bool {
        let file = file.clone();
        self.drain.spawn_blocking(move || file.is_same()).await.unwrap_or(false)
    }
}
