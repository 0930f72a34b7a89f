//! Compiles components in a separate process, and stores the code in the cache. A separate process is used for two
//! reasons. Compiling takes seconds on all processors, and hundreds of megabytes that the allocator would never return.
//! A hostile component can then harm only that process. The server itself only separates libraries, within limits. One
//! component of each priority is compiled at a time, in at most two processes. Meanwhile, processes of other teams may
//! be paused.

mod parts;
mod process;
mod processes;
mod queue;
mod whole;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tempfile::NamedTempFile;
use wasmtime::Engine;

use self::process::Input;
use self::processes::{Processes, RunningJob};
use self::queue::Queue;
use super::cache::{self, Cache, CacheEntry, CacheError, Code, ComponentCode, Unusable};
use super::child::Output;
use super::compiled_code::CompiledCode;
use super::job::PRIORITIES;
use super::phases::{Stopwatch, phases_of_process};
use crate::engine::tier::{Tier, usable_tiers};
use larder_model::name::{Digest, TeamName};
use larder_provider::{CompileJob, CompilePhases, Rejection};
use larder_runtime::drain::Drain;
use larder_runtime::file_fingerprint::FileFingerprint;
use larder_runtime::shares::Shares;

/// The compiler process ended without an error, but its output is invalid.
const UNUSABLE: &str =
    "the compiler process succeeded, but its code cannot be loaded by this engine";

const STOPS: &str = "the server stops";

/// Why one run of the compiler process did not produce usable code.
struct Failure {
    rejection: Rejection,
    /// Whether the process was ended because it took too long.
    is_timeout: bool,
}

impl Failure {
    fn timeout(error: String) -> Self {
        Self {
            is_timeout: true,
            ..Rejection::Compiler(error).into()
        }
    }
}

impl From<Rejection> for Failure {
    fn from(rejection: Rejection) -> Self {
        Self {
            rejection,
            is_timeout: false,
        }
    }
}

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
pub(crate) struct Compiler {
    config: Config,
    cache: Arc<Cache>,
    /// There is one queue for each priority, because a compilation of a lower priority may get little CPU time.
    queues: [Queue; PRIORITIES],
    shares: Shares,
    drain: Drain,
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

fn unwritable(error: std::io::Error) -> Rejection {
    Rejection::Compiler(format!("cannot write into the cache: {error}"))
}

impl Compiler {
    pub(crate) fn new(
        config: &Config,
        engine: &Engine,
        shares: &Shares,
        drain: &Drain,
    ) -> Result<Self, CacheError> {
        let cache = Arc::new(Cache::open(&config.cache, engine)?);
        Ok(Self {
            config: config.clone(),
            cache,
            queues: Default::default(),
            shares: shares.clone(),
            drain: drain.clone(),
        })
    }

    /// Returns the compiled form of a file with this fingerprint, and the digest of the file, if both are cached for
    /// this team.
    pub(crate) async fn find_cached(
        &self,
        team: &TeamName,
        fingerprint: FileFingerprint,
    ) -> Option<(Digest, CompiledCode)> {
        let shares = self.shares.team(team);
        let team = team.clone();
        let found = self.run_blocking(move |cache| {
            let digest = cache.recorded_digest(&fingerprint)?;
            let key = Tier::Optimised.key(cache_key(&team, digest));
            let entry = cache.find(key, &shares).ok()??;
            let code = CompiledCode::without_libraries(entry, Tier::Optimised);
            Some((digest, code))
        });
        // After any error, the file itself is read and compiled.
        found.await.ok().flatten()
    }

    /// Returns the optimised code of the component with this digest, if it is cached for this team.
    pub(crate) async fn find_optimised(
        &self,
        team: &TeamName,
        digest: Digest,
    ) -> Option<CompiledCode> {
        // After any error, the component is compiled.
        self.find_any(team, cache_key(team, digest), &[Tier::Optimised])
            .await
            .ok()
            .flatten()
    }

    /// Records the digest of the file with this fingerprint. If this fails, the file is only read again at the next
    /// start.
    pub(crate) async fn record_digest(&self, fingerprint: FileFingerprint, digest: Digest) {
        let written = self
            .run_blocking(move |cache| cache.record_digest(&fingerprint, &digest))
            .await;
        if let Ok(Err(error)) = written {
            tracing::debug!(%error, "cannot record a component's digest: its file is read again at the next start");
        }
    }

    /// Removes the recorded digest of the file with this fingerprint.
    pub(crate) async fn forget_digest(&self, fingerprint: FileFingerprint) {
        let _ = self
            .run_blocking(move |cache| cache.forget_digest(&fingerprint))
            .await;
    }

    /// Removes entries that were not used for long. Blocks the calling thread.
    pub(crate) fn sweep_cache(&self) {
        self.cache.remove_unused();
    }

    /// Returns a component from the cache, and how long each phase took. If the cache does not have the component,
    /// compiles it first.
    pub(crate) async fn get_or_compile(
        &self,
        job: &CompileJob<'_>,
        digest: Digest,
        bytes: Bytes,
    ) -> Result<(CompiledCode, CompilePhases), Rejection> {
        let key = cache_key(job.team, digest);
        let tiers = usable_tiers(job, bytes.len());
        if let Some(code) = self.find_any(job.team, key, tiers).await? {
            return Ok((code, CompilePhases::default()));
        }
        let stopwatch = Stopwatch::start();
        let compile = |processes| self.compile_in_turn(job, processes, &bytes, key, stopwatch);
        let compiled = self.queues[job.priority as usize]
            .run(job.team, compile)
            .await;
        let (code, phases) = compiled.unwrap_or_else(|| Err(Rejection::Compiler(STOPS.into())))?;
        tracing::debug!(digest = digest.short(), tier = ?code.tier, %phases, "compiled a component");
        Ok((code, phases))
    }

    /// Compiles a component when it is the turn of its team.
    async fn compile_in_turn(
        &self,
        job: &CompileJob<'_>,
        processes: Arc<Processes>,
        bytes: &Bytes,
        key: Digest,
        mut stopwatch: Stopwatch,
    ) -> Result<(CompiledCode, CompilePhases), Rejection> {
        let waited = stopwatch.lap();
        // Another call may have compiled the same component in the meantime.
        let tiers = usable_tiers(job, bytes.len());
        if let Some(code) = self.find_any(job.team, key, tiers).await? {
            let phases = CompilePhases {
                queue: waited,
                ..CompilePhases::default()
            };
            return Ok((code, phases));
        }
        let running = RunningJob {
            job,
            processes: &processes,
        };
        let (code, mut phases) = self.compile(&running, key, bytes).await?;
        phases.queue = waited + processes.paused();
        Ok((code, phases))
    }

    /// Finds the code of the first of these tiers that is in the cache.
    async fn find_any(
        &self,
        team: &TeamName,
        key: Digest,
        tiers: &[Tier],
    ) -> Result<Option<CompiledCode>, Rejection> {
        for &tier in tiers {
            let Some(entry) = self.find::<ComponentCode>(team, tier.key(key)).await? else {
                continue;
            };
            let libraries = match tier {
                Tier::Split => self.find_libraries(team, &entry.code.component).await?,
                Tier::First | Tier::Optimised => Some(Vec::new()),
            };
            let code = libraries.map(|libraries| CompiledCode {
                entry,
                libraries,
                tier,
            });
            // The parts may have been compiled for different components, so the limit of their sum is also checked
            // here.
            if let Some(code) =
                code.filter(|code| tier != Tier::Split || code.size() <= self.config.code)
            {
                return Ok(Some(code));
            }
        }
        Ok(None)
    }

    async fn find<T: Code>(
        &self,
        team: &TeamName,
        digest: Digest,
    ) -> Result<Option<CacheEntry<T>>, Rejection> {
        let shares = self.shares.team(team);
        let found = self
            .run_blocking(move |cache| cache.find(digest, &shares))
            .await?;
        found.map_err(|unusable| match unusable {
            Unusable::Denied(denied) => Rejection::ExecutionDenied(denied.to_string()),
            no_room @ Unusable::NoRoom { .. } => Rejection::NoRoom(no_room.to_string()),
        })
    }

    /// Compiles a component. If it has libraries, compiles it without its libraries, because that is fastest. Otherwise
    /// compiles it as a whole.
    async fn compile(
        &self,
        job: &RunningJob<'_>,
        key: Digest,
        bytes: &Bytes,
    ) -> Result<(CompiledCode, CompilePhases), Rejection> {
        if !usable_tiers(job, bytes.len()).contains(&Tier::Split) {
            return self.compile_whole(job, key, bytes, None).await;
        }
        let failure = match self.compile_parts(job, key, bytes).await {
            Ok(Some(compiled)) => return Ok(compiled),
            Ok(None) => return self.compile_whole(job, key, bytes, None).await,
            Err(Failure {
                rejection: unusable @ (Rejection::ExecutionDenied(_) | Rejection::NoRoom(_)),
                ..
            }) => {
                return Err(unusable);
            }
            Err(failure) => failure,
        };
        let error = failure.rejection.to_string();
        let compiled = self.compile_whole(job, key, bytes, Some(failure)).await?;
        tracing::warn!(
            error,
            "compiled a component as a whole, because compiling its parts failed"
        );
        Ok(compiled)
    }

    /// Runs the compiler process once, and makes an entry of the cache from its output.
    async fn compile_once<T: Code>(
        &self,
        job: &RunningJob<'_>,
        digest: Digest,
        input: Input<'_>,
        mut stopwatch: Stopwatch,
    ) -> Result<(CacheEntry<T>, CompilePhases), Failure> {
        let paused = job.processes.paused();
        let (temp_file, output) = self.run_process(job, input).await?;
        let process = stopwatch
            .lap()
            .saturating_sub(job.processes.paused() - paused);
        let stored = self.run_blocking(move |cache| {
            temp_file.as_file().set_len(output.code)?;
            cache.insert::<T>(digest, temp_file)
        });
        let pin = stored.await?.map_err(unwritable)?;
        let phases = phases_of_process(process, &output, stopwatch.lap());
        let found = self.find(job.job.team, digest).await;
        drop(pin);
        if let Err(Rejection::NoRoom(_)) = found {
            // The entry could not be removed before.
            self.run_blocking(Cache::remove_unused).await?;
        }
        let entry = found?.ok_or_else(|| Rejection::Compiler(UNUSABLE.into()))?;
        let phases = CompilePhases {
            map: stopwatch.lap(),
            ..phases
        };
        Ok((entry, phases))
    }

    async fn run_process(
        &self,
        job: &RunningJob<'_>,
        input: Input<'_>,
    ) -> Result<(NamedTempFile, Output), Failure> {
        let (temp_file, stdout) = self
            .run_blocking(|cache| {
                let temp_file = cache.temp_file()?;
                let stdout = temp_file.reopen()?;
                Ok((temp_file, stdout))
            })
            .await?
            .map_err(unwritable)?;
        process::compile(&self.config, job, input, stdout).await?;
        let output =
            Output::of(temp_file.as_file()).map_err(|_| Rejection::Compiler(UNUSABLE.into()))?;
        Ok((temp_file, output))
    }

    /// Runs blocking work on the blocking thread pool.
    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Cache) -> T + Send + 'static,
    ) -> Result<T, Rejection> {
        let cache = self.cache.clone();
        let work = self.drain.spawn_blocking(move || work(&cache));
        // If wasmtime panics because of a component, only this component is rejected.
        work.await
            .map_err(|error| Rejection::Compiler(format!("the engine panicked: {error}")))
    }
}
