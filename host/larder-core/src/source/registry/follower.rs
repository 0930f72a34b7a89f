//! Asks the registries and fills the store: pulls what is missing at once, and looks for updates at an interval. Each
//! reference is followed independently of the others.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use tokio::sync::{Notify, watch};

use super::revisions::{Revisions, Target};
use super::{RegistryComponent, RegistryConfig};
use larder_model::name::{Digest, ProviderName};
use larder_registry::{Client, Component, Error, NoProgress, Reference, Store};
use larder_runtime::drain::Drain;

/// The delay before the first repetition of a failed check. It doubles with each failure.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// The maximum delay, unless the interval is longer.
const LAST_RETRY: Duration = Duration::from_secs(60);

/// Keeps the store up to date with the references of a team.
pub struct RegistryFollower {
    config: watch::Receiver<RegistryConfig>,
    revisions: Arc<Revisions>,
}

/// One reference, and how to ask for it.
struct Followed<'a> {
    client: &'a Client,
    config: &'a RegistryConfig,
    name: &'a ProviderName,
    component: &'a RegistryComponent,
    revisions: &'a Arc<Revisions>,
}

impl RegistryFollower {
    pub(super) fn new(config: watch::Receiver<RegistryConfig>, revisions: Arc<Revisions>) -> Self {
        Self { config, revisions }
    }

    /// Follows the references until shutdown. A change of the configuration ends what is in progress.
    pub async fn run(mut self, drain: Drain) {
        let follow = async {
            loop {
                let config = self.config.borrow_and_update().clone();
                let mut changes = self.config.clone();
                tokio::select! {
                    changed = changes.changed() => if changed.is_err() { return },
                    () = self.follow_all(&config) => {}
                }
            }
        };
        _ = drain.run_until_stopping(follow).await;
    }

    async fn follow_all(&self, config: &RegistryConfig) {
        match Client::new(config.access.clone()) {
            Ok(client) => {
                let (client, revisions) = (&client, &self.revisions);
                let followed = |(name, component)| Followed { client, config, name, component, revisions };
                let all: Vec<_> = config.components.iter().map(followed).collect();
                join_all(all.iter().map(Followed::follow)).await;
            }
            Err(error) => {
                for (name, component) in &config.components {
                    self.revisions.checked((name, &component.reference), Some(error.to_string()));
                }
            }
        }
        // Without references, there is nothing to do before the configuration changes.
        std::future::pending().await
    }
}

impl Followed<'_> {
    async fn follow(&self) {
        let wanted = self.revisions.wanted(self.name);
        let (mut failures, mut reported) = (0, None);
        loop {
            // What was wanted until now is checked now.
            _ = wanted.notified().now_or_never();
            let error = self.check().await.err();
            failures = if error.is_some() { failures + 1 } else { 0 };
            if let Some(error) = error.as_ref().filter(|error| reported.as_ref() != Some(*error)) {
                let (provider, reference) = (self.name, &self.component.reference);
                tracing::warn!(%provider, %reference, error, "cannot get the component, or look for an update");
            }
            reported.clone_from(&error);
            self.revisions.checked((self.name, &self.component.reference), error);
            self.wait(failures, &wanted).await;
        }
    }

    /// Waits until the next check is due, or something is missing. After a failure, the delay counts.
    async fn wait(&self, failures: u32, wanted: &Notify) {
        let pause = tokio::time::sleep(delay(failures, self.config.check_interval));
        tokio::select! {
            () = pause => {}
            () = wanted.notified(), if failures == 0 => {}
        }
    }

    /// Pulls what is missing, and looks for a newer image unless the reference is fixed.
    async fn check(&self) -> Result<(), String> {
        let reference = &self.component.reference;
        let (store, Target { accepted, .. }, is_there) = self.stored().await?;
        if let Some(digest) = accepted.filter(|_| !is_there) {
            self.pull_accepted(digest, &store).await.map_err(|error| error.to_string())?;
            self.revisions.checked((self.name, reference), None);
        }
        if self.config.is_locked || reference.pinned().is_some() {
            return Ok(());
        }
        let pulled = self.client.pull(reference, &store, &NoProgress).await;
        let latest = pulled.map_err(|error| error.to_string())?.component.manifest;
        let (revisions, config) = (self.revisions.clone(), self.config.clone());
        let (name, component) = (self.name.clone(), self.component.clone());
        let found = blocking(move || revisions.found(&config, (&name, &component), latest));
        found.await.map_err(|error| error.to_string())
    }

    /// Returns what is to be served, and whether the store has it.
    async fn stored(&self) -> Result<(Store, Target, bool), String> {
        let (revisions, config) = (self.revisions.clone(), self.config.clone());
        let (name, component) = (self.name.clone(), self.component.clone());
        blocking(move || {
            let lock = config.read_lock().map_err(|error| error.to_string())?;
            let store = revisions.store(&config).map_err(|error| error.to_string())?;
            let target = revisions.target(&config, lock.as_ref(), (&name, &component))?;
            store.touch_resolution(&config.key(&name, &component.reference));
            let is_there = target.accepted.is_some_and(|digest| Component::of(&store, &digest).is_ok());
            Ok((store, target, is_there))
        })
        .await
    }

    /// Pulls the image that is to be served, wherever its tag points by now.
    async fn pull_accepted(&self, digest: Digest, store: &Store) -> Result<(), Error> {
        let image = self.client.image_at(&self.component.reference, digest).await?;
        self.client.pull(&Reference::Image(image), store, &NoProgress).await.map(drop)
    }
}

/// Returns the time until the next check.
fn delay(failures: u32, interval: Duration) -> Duration {
    match failures {
        0 => interval,
        failures => (FIRST_RETRY * 2_u32.saturating_pow(failures - 1)).min(LAST_RETRY).min(interval),
    }
}

/// Runs work of the store on a thread that may block.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    // Not spawned through the drain: shutdown must not wait for a disk.
    match tokio::runtime::Handle::current().spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_checks_are_repeated_less_and_less_often() {
        let seconds = |failures| delay(failures, Duration::from_secs(600)).as_secs();
        assert_eq!([0, 1, 2, 3, 7, 99].map(seconds), [600, 1, 2, 4, 60, 60]);
        assert_eq!(delay(99, Duration::from_secs(5)).as_secs(), 5);
    }
}
