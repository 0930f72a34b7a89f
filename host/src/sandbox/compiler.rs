//! Components are compiled by another process of the same program, one at a time, and kept in the cache:
//! compiling takes seconds of all processors and hundreds of megabytes that would never be given back, and
//! what a hostile component does to the compiler it does to that process.

mod process;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Mutex;
use wasmtime::Engine;

use super::cache::{self, Cache, CacheError, Kept};
use super::compiled::Rejection;
use crate::drain::Drain;
use crate::name::{Digest, TeamName};
use crate::stamp::Stamp;

/// How components are compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The program that is run with `compile-component`: `larder` itself.
    pub program: PathBuf,
    /// Where its work is kept.
    pub cache: cache::Config,
    /// Bytes of address space that it may take.
    pub memory: u64,
    /// Time on a processor; counted in whole seconds.
    pub cpu: Duration,
    /// Time until it has to be done.
    pub wall: Duration,
    /// Bytes of compiled code.
    pub code: u64,
}

/// Compiles, or finds what was compiled before.
pub(super) struct Compiler {
    config: Config,
    cache: Arc<Cache>,
    /// Whose turn it is. It also makes one compilation of many for one component.
    turn: Mutex<()>,
    /// Of each team one waits for that turn, in the order of asking, and its others for the one: so all teams come in
    /// turn, however much one of them brings.
    teams: Lanes,
    drain: Drain,
}

/// One for each team.
#[derive(Default)]
struct Lanes(Lock<HashMap<TeamName, Arc<Mutex<()>>>>);

impl Lanes {
    fn of(&self, team: &TeamName) -> Arc<Mutex<()>> {
        let mut lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.entry(team.clone()).or_default().clone()
    }
}

/// Under what compiled code is kept. Each team has its own, or the time of a load would tell that another team has the same
/// component.
fn entry(team: &TeamName, digest: Digest) -> Digest {
    if *team == TeamName::sole() { digest } else { Digest::of(format!("{digest} of {team}").as_bytes()) }
}

impl Compiler {
    pub(super) fn new(config: &Config, engine: &Engine, drain: &Drain) -> Result<Self, CacheError> {
        let cache = Arc::new(Cache::open(&config.cache, engine)?);
        Ok(Self {
            config: config.clone(),
            cache,
            turn: Mutex::new(()),
            teams: Lanes::default(),
            drain: drain.clone(),
        })
    }

    /// What a file of this team's with this stamp is, compiled, where it was seen and compiled before.
    pub(super) async fn recall(&self, team: &TeamName, stamp: Stamp) -> Option<(Digest, Kept)> {
        let team = team.clone();
        let found = self.aside(move |cache| {
            let digest = cache.known(&stamp)?;
            Some((digest, cache.find(entry(&team, digest))?))
        });
        // Whatever is wrong with it, there is the file itself.
        found.await.ok().flatten()
    }

    /// Remembers what a file with this stamp is. One that cannot be written down is read again, no more.
    pub(super) async fn remember(&self, stamp: Stamp, digest: Digest) {
        let written = self.aside(move |cache| cache.remember(&stamp, &digest)).await;
        if let Ok(Err(error)) = written {
            tracing::debug!(%error, "a component will be read again at the next start");
        }
    }

    /// Remembers it no more.
    pub(super) async fn disown(&self, stamp: Stamp) {
        let _ = self.aside(move |cache| cache.disown(&stamp)).await;
    }

    /// Deletes what nobody used for long. It holds its thread.
    pub(super) fn tidy(&self) {
        self.cache.tidy();
    }

    /// What this team's component with this digest is, compiled.
    pub(super) async fn component(
        &self,
        team: &TeamName,
        digest: Digest,
        bytes: Bytes,
    ) -> Result<Kept, Rejection> {
        let entry = entry(team, digest);
        if let Some(kept) = self.find(entry).await? {
            return Ok(kept);
        }
        let lane = self.teams.of(team);
        let _first = lane.lock().await;
        let _turn = self.turn.lock().await;
        // Somebody may have waited for the same one.
        if let Some(kept) = self.find(entry).await? {
            return Ok(kept);
        }
        self.compile(entry, &bytes).await?;
        let lie = "the compiling process ended well, but did not write what this engine can use";
        self.find(entry).await?.ok_or_else(|| Rejection::Compiler(lie.into()))
    }

    async fn find(&self, digest: Digest) -> Result<Option<Kept>, Rejection> {
        self.aside(move |cache| cache.find(digest)).await
    }

    async fn compile(&self, digest: Digest, bytes: &Bytes) -> Result<(), Rejection> {
        let began = std::time::Instant::now();
        let unwritable =
            |error: std::io::Error| Rejection::Compiler(format!("cannot write into the cache: {error}"));
        let (draft, output) = self
            .aside(|cache| {
                let draft = cache.draft()?;
                let output = draft.reopen()?;
                Ok((draft, output))
            })
            .await?
            .map_err(unwritable)?;
        process::compile(&self.config, bytes, output).await?;
        self.aside(move |cache| cache.keep(digest, draft)).await?.map_err(unwritable)?;
        tracing::debug!(digest = digest.short(), took = ?began.elapsed(), "compiled");
        Ok(())
    }

    /// Runs what holds its thread on a thread of its own.
    async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Cache) -> T + Send + 'static,
    ) -> Result<T, Rejection> {
        let cache = self.cache.clone();
        let work = self.drain.spawn_blocking(move || work(&cache));
        // A component over which the engine panics is one bad component, not the end of the house.
        work.await.map_err(|error| Rejection::Compiler(format!("the engine gave up on it: {error}")))
    }
}
