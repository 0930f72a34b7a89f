//! Compiles components in a separate process, one at a time, and stores the code in the cache. A separate
//! process is used because compiling takes seconds on all processors and hundreds of megabytes that the
//! allocator would never return, and because a hostile component can then harm only that process.

mod process;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Mutex;
use wasmtime::Engine;

use super::cache::{self, Cache, CacheEntry, CacheError};
use super::compiled::Rejection;
use larder_model::name::{Digest, TeamName};
use larder_runtime::drain::Drain;
use larder_runtime::file_fingerprint::FileFingerprint;

/// Configuration of the compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The program that is run with the subcommand `compile-component`: `larder` itself.
    pub program: PathBuf,
    /// Configuration of the cache for compiled components.
    pub cache: cache::Config,
    /// Limit for the address space of the compiler process, in bytes.
    pub memory: u64,
    /// Limit for the CPU time of the compiler process; enforced in whole seconds.
    pub cpu_time: Duration,
    /// Limit for the duration of one compilation.
    pub timeout: Duration,
    /// Limit for the size of the compiled code, in bytes.
    pub code: u64,
}

/// Compiles components, or returns them from the cache.
pub(super) struct Compiler {
    config: Config,
    cache: Arc<Cache>,
    /// Held during a compilation. A component that several calls need at the same time is compiled only once,
    /// because each of them checks the cache again when it has the lock.
    lock: Mutex<()>,
    /// At most one component of each team waits for [`Self::lock`], and the others of the team wait behind
    /// it. So the teams take turns, regardless of how many components each of them has.
    team_queues: TeamQueues,
    drain: Drain,
}

/// One lock per team.
#[derive(Default)]
struct TeamQueues(Lock<HashMap<TeamName, Arc<Mutex<()>>>>);

impl TeamQueues {
    fn of(&self, team: &TeamName) -> Arc<Mutex<()>> {
        let mut lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.entry(team.clone()).or_default().clone()
    }
}

/// The key of a component in the cache. Each team has its own entries: otherwise the time of a load would
/// reveal that another team has the same component.
fn cache_key(team: &TeamName, digest: Digest) -> Digest {
    if *team == TeamName::default_team() {
        digest
    } else {
        Digest::of(format!("{digest} of {team}").as_bytes())
    }
}

impl Compiler {
    pub(super) fn new(config: &Config, engine: &Engine, drain: &Drain) -> Result<Self, CacheError> {
        let cache = Arc::new(Cache::open(&config.cache, engine)?);
        Ok(Self {
            config: config.clone(),
            cache,
            lock: Mutex::new(()),
            team_queues: TeamQueues::default(),
            drain: drain.clone(),
        })
    }

    /// Returns the compiled form of a file with this fingerprint, and its digest, if both are cached for this
    /// team.
    pub(super) async fn find_cached(
        &self,
        team: &TeamName,
        fingerprint: FileFingerprint,
    ) -> Option<(Digest, CacheEntry)> {
        let team = team.clone();
        let found = self.run_blocking(move |cache| {
            let digest = cache.recorded_digest(&fingerprint)?;
            Some((digest, cache.find(cache_key(&team, digest))?))
        });
        // On any error the file itself is read and compiled.
        found.await.ok().flatten()
    }

    /// Records the digest of the file with this fingerprint. If that fails, the file is only read again at
    /// the next start.
    pub(super) async fn record_digest(&self, fingerprint: FileFingerprint, digest: Digest) {
        let written = self.run_blocking(move |cache| cache.record_digest(&fingerprint, &digest)).await;
        if let Ok(Err(error)) = written {
            tracing::debug!(%error, "cannot record a component's digest: its file is read again at the next start");
        }
    }

    /// Removes the recorded digest of the file with this fingerprint.
    pub(super) async fn forget_digest(&self, fingerprint: FileFingerprint) {
        let _ = self.run_blocking(move |cache| cache.forget_digest(&fingerprint)).await;
    }

    /// Removes entries that were not used for long. Blocks the calling thread.
    pub(super) fn sweep_cache(&self) {
        self.cache.remove_unused();
    }

    /// Returns a component of this team from the cache, compiling it first if necessary.
    pub(super) async fn get_or_compile(
        &self,
        team: &TeamName,
        digest: Digest,
        bytes: Bytes,
    ) -> Result<CacheEntry, Rejection> {
        let key = cache_key(team, digest);
        if let Some(entry) = self.find(key).await? {
            return Ok(entry);
        }
        let team_queue = self.team_queues.of(team);
        let _team_guard = team_queue.lock().await;
        let _guard = self.lock.lock().await;
        // Another call may have compiled the same component meanwhile.
        if let Some(entry) = self.find(key).await? {
            return Ok(entry);
        }
        self.compile(key, &bytes).await?;
        let unusable = "the compiler process succeeded, but its code cannot be loaded by this engine";
        self.find(key).await?.ok_or_else(|| Rejection::Compiler(unusable.into()))
    }

    async fn find(&self, digest: Digest) -> Result<Option<CacheEntry>, Rejection> {
        let found = self.run_blocking(move |cache| cache.find_executable(digest)).await?;
        found.map_err(|denied| Rejection::ExecutionDenied(denied.to_string()))
    }

    async fn compile(&self, digest: Digest, bytes: &Bytes) -> Result<(), Rejection> {
        let start = std::time::Instant::now();
        let unwritable =
            |error: std::io::Error| Rejection::Compiler(format!("cannot write into the cache: {error}"));
        let (temp_file, output) = self
            .run_blocking(|cache| {
                let temp_file = cache.temp_file()?;
                let output = temp_file.reopen()?;
                Ok((temp_file, output))
            })
            .await?
            .map_err(unwritable)?;
        process::compile(&self.config, bytes, output).await?;
        self.run_blocking(move |cache| cache.insert(digest, temp_file)).await?.map_err(unwritable)?;
        tracing::debug!(digest = digest.short(), took = ?start.elapsed(), "compiled a component");
        Ok(())
    }

    /// Runs blocking work on the blocking thread pool.
    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Cache) -> T + Send + 'static,
    ) -> Result<T, Rejection> {
        let cache = self.cache.clone();
        let work = self.drain.spawn_blocking(move || work(&cache));
        // If wasmtime panics over a component, only this component is rejected.
        work.await.map_err(|error| Rejection::Compiler(format!("the engine panicked: {error}")))
    }
}
