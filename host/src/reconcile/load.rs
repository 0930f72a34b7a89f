//! From a file to a provider: read, compile, probe. Each load is a task of its own, and a file that turns
//! out to hold what is served already costs only its reading.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::AbortHandle;

use super::Terms;
use super::wanted::Wanted;
use crate::drain::Drain;
use crate::name::{Digest, ProviderName, TeamName};
use crate::policy::Grant;
use crate::provider::{LoadError, Probed, Provider};
use crate::sandbox::{Sandbox, Signal};
use crate::source::{Fetched, File};

/// What makes two revisions the same: the component and its terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Revision {
    pub(super) digest: Digest,
    pub(super) terms: Terms,
}

/// What a load came to.
pub(super) struct Loaded {
    pub(super) stem: String,
    /// Which load it was; none if a provider was only asked anew for its lists.
    pub(super) ticket: Option<u64>,
    pub(super) outcome: Outcome,
    pub(super) took: Duration,
}

pub(super) enum Outcome {
    /// It is a revision that is known.
    Same(Revision),
    /// It works.
    Offer(Arc<Provider>, Probed, Revision),
    /// It does not.
    Rejected(LoadError, Option<Revision>),
}

impl Loaded {
    pub(super) fn revision(&self) -> Option<&Revision> {
        match &self.outcome {
            Outcome::Same(revision) | Outcome::Offer(_, _, revision) => Some(revision),
            Outcome::Rejected(_, revision) => revision.as_ref(),
        }
    }
}

/// Makes loads.
pub(super) struct Load {
    pub(super) team: TeamName,
    pub(super) sandbox: Arc<Sandbox>,
    pub(super) signals: mpsc::Sender<(ProviderName, Signal)>,
    pub(super) drain: Drain,
    pub(super) turns: Semaphore,
    pub(super) done: mpsc::UnboundedSender<Loaded>,
}

impl Load {
    /// Loads a component in a task of its own, unless it is one of the known revisions.
    pub(super) fn start(
        self: &Arc<Self>,
        ticket: u64,
        wanted: Wanted,
        known: [Option<Revision>; 2],
    ) -> AbortHandle {
        let load = self.clone();
        let task = self.drain.spawn(async move {
            let began = Instant::now();
            let stem = wanted.file.stem().to_owned();
            // Closed never: the semaphore is ours.
            let _turn = load.turns.acquire().await;
            let outcome = load.load(wanted, known).await;
            // Nobody is there to take it when the house stops.
            let _ = load.done.send(Loaded { stem, ticket: Some(ticket), outcome, took: began.elapsed() });
        });
        task.abort_handle()
    }

    /// Asks a provider anew what it offers.
    pub(super) fn list_again(self: &Arc<Self>, provider: Arc<Provider>, revision: Revision) {
        let load = self.clone();
        self.drain.spawn(async move {
            let began = Instant::now();
            let stem = provider.name().to_string();
            let outcome = match provider.probe().await {
                Ok(probed) => Outcome::Offer(provider, probed, revision),
                Err(error) => Outcome::Rejected(error, Some(revision)),
            };
            let _ = load.done.send(Loaded { stem, ticket: None, outcome, took: began.elapsed() });
        });
    }

    async fn load(&self, wanted: Wanted, known: [Option<Revision>; 2]) -> Outcome {
        let terms = wanted.terms;
        let (bytes, digest) = match self.read(&wanted.file, &terms.grant).await {
            Ok(read) => read,
            Err(error) => return Outcome::Rejected(error, None),
        };
        let revision = Revision { digest, terms };
        if known.contains(&Some(revision.clone())) {
            return Outcome::Same(revision);
        }
        match self.provider(wanted.file.stem(), bytes, &revision.terms).await {
            Ok((provider, probed)) => Outcome::Offer(Arc::new(provider), probed, revision),
            Err(error) => Outcome::Rejected(error, Some(revision)),
        }
    }

    async fn provider(
        &self,
        stem: &str,
        bytes: Bytes,
        terms: &Terms,
    ) -> Result<(Provider, Probed), LoadError> {
        let name = ProviderName::parse(stem)?;
        let compiled = self.sandbox.compile(bytes).await?;
        let provider = Provider::new(
            (name, self.team.clone()),
            compiled.digest,
            compiled,
            terms.grant.clone(),
            self.sandbox.clone(),
            self.signals.clone(),
        );
        let probed = provider.probe().await?;
        Ok((provider, probed))
    }

    async fn read(&self, file: &File, grant: &Grant) -> Result<(Bytes, Digest), LoadError> {
        let (file, limit) = (file.clone(), grant.limits.component);
        let work = self.drain.spawn_blocking(move || {
            let fetched = file.fetch(limit)?;
            Ok::<_, std::io::Error>(match fetched {
                Fetched::Bytes(bytes) => Ok((Digest::of(&bytes), bytes)),
                Fetched::TooLarge(size) => Err(size),
            })
        });
        match work.await.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
            Ok(Ok((digest, bytes))) => Ok((bytes, digest)),
            Ok(Err(size)) => Err(LoadError::TooLarge { size, limit }),
            Err(error) => Err(LoadError::Unreadable(error.to_string())),
        }
    }
}
