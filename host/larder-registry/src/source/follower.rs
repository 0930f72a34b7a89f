//! Calls the registries and fills the store: pulls missing images at once, and checks for updates at an interval. Each
//! reference has a task of its own, which other references cannot delay or end.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::{Notify, watch};
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::revisions::{Revisions, Target};
use super::{RegistryComponent, RegistryConfig};
use crate::blocking;
use crate::{Client, Component, Error, NoProgress, Reference, Store};
use larder_model::name::{Digest, ProviderName};
use larder_runtime::drain::{Drain, SupervisedTask};
use larder_runtime::health::Impact;

/// The delay before the first repetition of a failed check. The delay doubles with each failure.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// The maximum delay, unless the interval is longer.
const LAST_RETRY: Duration = Duration::from_secs(60);

/// Keeps the store up to date with the references of a team.
#[derive(Clone)]
pub struct RegistryFollower {
    config: watch::Receiver<RegistryConfig>,
    revisions: Arc<Revisions>,
}

/// One reference, and how to check it.
#[derive(Clone)]
struct FollowedReference {
    client: Client,
    config: Arc<RegistryConfig>,
    name: ProviderName,
    component: RegistryComponent,
    revisions: Arc<Revisions>,
}

impl RegistryFollower {
    pub(super) fn new(config: watch::Receiver<RegistryConfig>, revisions: Arc<Revisions>) -> Self {
        Self { config, revisions }
    }

    /// Follows the references until shutdown.
    pub fn start(self, drain: &Drain) {
        let task = SupervisedTask::new(format!("registries{}", self.of_team()), Impact::OneTeam);
        let inner = drain.clone();
        let span = tracing::Span::current();
        let start = move || self.clone().run(inner.clone()).instrument(span.clone());
        drain.supervise_restarting(task, start);
    }

    /// A change of the configuration ends the current checks.
    async fn run(mut self, drain: Drain) {
        let follow = async {
            loop {
                let config = Arc::new(self.config.borrow_and_update().clone());
                let _running = self.follow_all(&config, &drain);
                if self.config.changed().await.is_err() {
                    return;
                }
            }
        };
        _ = drain.run_until_stopping(follow).await;
    }

    /// Starts a task for each reference. A task ends when its handle is dropped.
    fn follow_all(
        &self,
        config: &Arc<RegistryConfig>,
        drain: &Drain,
    ) -> Vec<AbortOnDropHandle<Option<()>>> {
        let client = match Client::new(config.access.clone()) {
            Ok(client) => client,
            Err(error) => {
                for (name, component) in &config.components {
                    self.revisions
                        .checked(name, &component.reference, Some(error.to_string()));
                }
                return Vec::new();
            }
        };
        let followed = |(name, component): (&ProviderName, &RegistryComponent)| FollowedReference {
            client: client.clone(),
            config: config.clone(),
            name: name.clone(),
            component: component.clone(),
            revisions: self.revisions.clone(),
        };
        config
            .components
            .iter()
            .map(followed)
            .map(|one| self.follow(one, drain))
            .collect()
    }

    fn follow(&self, followed: FollowedReference, drain: &Drain) -> AbortOnDropHandle<Option<()>> {
        let name = format!("registry of {}{}", followed.name, self.of_team());
        let span = tracing::Span::current();
        let start = move || {
            let followed = followed.clone();
            async move { followed.follow().await }.instrument(span.clone())
        };
        AbortOnDropHandle::new(
            drain.supervise_restarting(SupervisedTask::new(name, Impact::OneTeam), start),
        )
    }

    /// Returns the name of the team, if the configuration has teams.
    fn of_team(&self) -> String {
        let config = self.config.borrow();
        if config.has_teams {
            format!(" of team {}", config.team)
        } else {
            String::new()
        }
    }
}

impl FollowedReference {
    async fn follow(&self) {
        let wanted = self.revisions.wanted(&self.name);
        let mut failures = 0_u32;
        let mut reported = None;
        loop {
            // Earlier requests are fulfilled by the check that begins now.
            _ = wanted.notified().now_or_never();
            let error = self.check().await.err();
            failures = if error.is_some() {
                failures.saturating_add(1)
            } else {
                0
            };
            if let Some(error) = error
                .as_ref()
                .filter(|error| reported.as_ref() != Some(*error))
            {
                let provider = &self.name;
                let reference = &self.component.reference;
                tracing::warn!(%provider, %reference, error, "cannot get the component, or look for an update");
            }
            reported.clone_from(&error);
            self.revisions
                .checked(&self.name, &self.component.reference, error);
            self.wait(failures, &wanted).await;
        }
    }

    /// Waits until the next check is due, or until content is missing. After a failure, always waits for the delay.
    async fn wait(&self, failures: u32, wanted: &Notify) {
        let pause = tokio::time::sleep(delay(failures, self.config.check_interval));
        tokio::select! {
            () = pause => {}
            () = wanted.notified(), if failures == 0 => {}
        }
    }

    /// Pulls missing content. Unless the reference is fixed, also checks for a newer image.
    async fn check(&self) -> Result<(), String> {
        let reference = &self.component.reference;
        let (store, Target { accepted, .. }, is_there) = self.stored().await?;
        if let Some(digest) = accepted.filter(|_| !is_there) {
            self.pull_accepted(digest, &store)
                .await
                .map_err(|error| error.to_string())?;
            self.revisions.checked(&self.name, reference, None);
        }
        if self.config.is_locked {
            return Ok(());
        }
        if let Some(digest) = reference.pinned() {
            self.look_for_signatures(digest, &store).await;
            return Ok(());
        }
        let pulled = self.client.pull(reference, &store, &NoProgress).await;
        let latest = pulled
            .map_err(|error| error.to_string())?
            .component
            .manifest;
        let revisions = self.revisions.clone();
        let config = self.config.clone();
        let name = self.name.clone();
        let component = self.component.clone();
        let found = blocking::run(move || revisions.found(&config, &name, &component, latest));
        found.await.map_err(|error| error.to_string())?;
        if let Some(digest) = accepted.filter(|digest| *digest != latest) {
            self.look_for_signatures(digest, &store).await;
        }
        Ok(())
    }

    /// Pulls attachments that were added to an image that is served, also if no tag points to the image any more. If
    /// the registry does not have the image either, that is not a problem.
    async fn look_for_signatures(&self, digest: Digest, store: &Store) {
        if let Err(error) = self.pull_accepted(digest, store).await {
            tracing::debug!(provider = %self.name, %digest, %error, "cannot look for new signatures");
        }
    }

    /// Returns the image that is to be served, and whether the store has it.
    async fn stored(&self) -> Result<(Store, Target, bool), String> {
        let revisions = self.revisions.clone();
        let config = self.config.clone();
        let name = self.name.clone();
        let component = self.component.clone();
        blocking::run(move || {
            let lock = config.read_lock().map_err(|error| error.to_string())?;
            let store = revisions
                .store(&config)
                .map_err(|error| error.to_string())?;
            let target = revisions.target(&config, lock.as_ref(), &name, &component)?;
            store.touch_resolution(&config.key(&name, &component.reference));
            let is_there = target
                .accepted
                .is_some_and(|digest| Component::of(&store, &digest).is_ok());
            Ok((store, target, is_there))
        })
        .await
    }

    /// Pulls the image that is to be served. Its tag may point to another image by now.
    async fn pull_accepted(&self, digest: Digest, store: &Store) -> Result<(), Error> {
        let image = self
            .client
            .image_at(&self.component.reference, digest)
            .await?;
        self.client
            .pull(&Reference::Image(image), store, &NoProgress)
            .await
            .map(drop)
    }
}

/// Returns the time until the next check.
fn delay(failures: u32, interval: Duration) -> Duration {
    match failures {
        0 => interval,
        failures => FIRST_RETRY
            .saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1)))
            .min(LAST_RETRY)
            .min(interval),
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
