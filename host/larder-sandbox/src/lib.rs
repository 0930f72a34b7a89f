//! Runs guests: compiles components, instantiates them with wasmtime and enforces all limits.
//!
//! A guest normally lives for one call, and dropping the future of the call drops the guest. Where the
//! operator allows it, a guest is reused for later calls of the same caller (module `reuse`).

mod address;
pub mod bindings;
mod cache;
pub mod child;
mod compiled;
mod compiler;
mod dns;
mod engine;
mod fault;
mod folder_threads;
mod guest;
mod host;
mod limits;
mod log;
mod outgoing_http;
mod preopen;
pub mod provider;
mod queue_timer;
mod reuse;
mod signal_queue;
mod signal_rate_limit;
mod state;
mod ticker;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::Engine;
use wasmtime::component::Linker;

pub use self::cache::{CacheError, CacheLocation, Config as CacheConfig};
pub use self::compiled::{CachedComponent, CompiledComponent, HashedComponent, Rejection};
use self::compiler::Compiler;
pub use self::compiler::Config as CompilerConfig;
use self::fault::{ExceededLimits, classify, fault_without_detail};
pub use self::fault::{Fault, FaultKind};
pub use self::folder_threads::FolderThreads;
use self::folder_threads::FolderThreadsByProvider;
use self::guest::Guest;
pub use self::guest::{CallableGuest, GuestCall};
pub use self::outgoing_http::OutgoingHttp;
pub use self::queue_timer::QueueTimer;
use self::reuse::ReusableGuests;
pub use self::reuse::ReuseKey;
pub use self::signal_queue::{SignalReceiver, SignalSender, signal_channel};
pub use self::signal_rate_limit::SignalRateLimit;
pub use self::state::{GuestConfig, GuestState, Lease, Signal};
use larder_model::name::{ProviderName, TeamName};
use larder_runtime::deadline::with_deadline;
use larder_runtime::drain::Drain;
use larder_runtime::metrics::Metrics;

/// Maximum number of characters of the engine's error text in a [`Fault`].
const MAX_FAULT_DETAIL: usize = 4_096;

/// Configuration of the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Maximum number of guests at the same time, over all providers.
    pub slots: u32,
    /// Configuration of the compiler.
    pub compiler: CompilerConfig,
}

/// Why the sandbox could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetUpError {
    /// The engine or its ticker thread could not be started.
    #[error("cannot set up the engine: {0}")]
    Engine(String),
    /// The cache of compiled components could not be opened.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// Compiles components and makes calls to guests.
pub struct Sandbox {
    engine: Engine,
    linker: Linker<GuestState>,
    slots: Arc<Semaphore>,
    reusable: ReusableGuests,
    ticker: ticker::Ticker,
    compiler: Compiler,
    folder_threads: FolderThreadsByProvider,
    metrics: Metrics,
}

impl Sandbox {
    /// Sets up the engine, the imports that components may use, and the cache of compiled components.
    pub fn new(config: &Config, drain: &Drain) -> Result<Self, SetUpError> {
        // Fails if a provider is installed already, which is fine: a process may create several sandboxes.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let failed = |error: wasmtime::Error| SetUpError::Engine(format!("{error:#}"));
        let engine = engine::engine(config.slots).map_err(failed)?;
        let (reusable, metrics) = (ReusableGuests::new(config.slots, drain), Metrics::default());
        let idle = reusable.clone();
        metrics.register_gauge(
            "larder_guests_waiting",
            "Idle guests that are kept for another call.",
            move || idle.len() as u64,
        );
        Ok(Self {
            linker: engine::linker(&engine).map_err(failed)?,
            slots: Arc::new(Semaphore::new(config.slots as usize)),
            reusable,
            ticker: ticker::Ticker::start(&engine).map_err(|error| SetUpError::Engine(error.to_string()))?,
            compiler: Compiler::new(&config.compiler, &engine, drain)?,
            folder_threads: FolderThreadsByProvider::default(),
            metrics,
            engine,
        })
    }

    /// The metrics of the server. They are created here because the sandbox is the lowest layer that records
    /// any.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Makes a call to a guest, within the limits of the lease. The guest is new and is dropped after the
    /// call, unless `reuse_key` is given: then an idle guest with this key is used if there is one, and the
    /// guest is kept afterwards.
    pub async fn run<W: GuestCall>(
        &self,
        compiled: &CompiledComponent,
        lease: Lease,
        queue_timer: QueueTimer,
        reuse_key: Option<ReuseKey>,
        guest_call: &W,
    ) -> Result<W::Output, Fault> {
        let timeout = lease.grant.limits.timeout;
        if let Some(reuse_key) = &reuse_key
            && let Some((mut guest, slot)) = self.reusable.take(reuse_key)
        {
            drop(queue_timer);
            guest.store.data_mut().begin_call(lease.clone());
            let reused = async { Ok(guest) };
            match self.call(compiled, (reused, timeout), slot, Some(reuse_key.clone()), guest_call).await {
                // State that an earlier call left in the guest may be the cause. Calling again is safe: reads
                // have no effects.
                Err(fault) if fault.kind.may_be_caused_by_reuse() => {
                    tracing::debug!(provider = lease.provider.as_str(), fault = %fault.kind, "reused guest failed, calling a fresh one");
                }
                result => return result,
            }
            // The slot of the failed guest is free again, unless another call took it.
            let slot = self
                .slots
                .clone()
                .try_acquire_owned()
                .map_err(|_| fault_without_detail(FaultKind::NoCapacity))?;
            return self
                .call(compiled, (self.open(lease), timeout), slot, Some(reuse_key.clone()), guest_call)
                .await;
        }
        let Some(Ok(slot)) = queue_timer.wait(self.slots.clone().acquire_owned()).await else {
            return Err(fault_without_detail(FaultKind::NoCapacity));
        };
        drop(queue_timer);
        self.call(compiled, (self.open(lease), timeout), slot, reuse_key, guest_call).await
    }

    async fn call<W: GuestCall>(
        &self,
        compiled: &CompiledComponent,
        (guest, timeout): (impl Future<Output = Result<Guest, Fault>>, Duration),
        slot: OwnedSemaphorePermit,
        reuse_key: Option<ReuseKey>,
        guest_call: &W,
    ) -> Result<W::Output, Fault> {
        let _tick_guard = self.ticker.run();
        let start = Instant::now();
        let deadline = || start + timeout;
        let guest = with_deadline(deadline, guest).await;
        let mut guest = guest.unwrap_or_else(|| Err(fault_without_detail(FaultKind::Timeout(timeout))))?;
        let config = guest.store.data().lease.config.clone();
        let GuestConfig { grant, metrics, quota_usage, folder_threads, .. } = &*config;
        let cpu_time_exceeded = guest.prepare_call();
        let response = {
            // Pinned here because a future that is moved by value takes space twice in the future that awaits
            // it.
            let guest_call = pin!(guest.call(compiled, guest_call));
            let guest_call =
                pin!(limits::measure_cpu(metrics, quota_usage.as_deref(), &self.ticker, guest_call));
            let guest_call = async {
                match folder_threads {
                    Some(folder_threads) => folder_threads.run_with(guest_call).await?,
                    None => guest_call.await,
                }
            };
            with_deadline(deadline, guest_call).await
        };
        metrics.durations.observe(start.elapsed());
        let error = match response {
            Some(Ok(response)) => {
                if let Some(reuse_key) = reuse_key {
                    self.reusable.keep(reuse_key, guest, slot);
                }
                return Ok(response);
            }
            Some(Err(error)) => Some(error),
            None => None,
        };
        let state = guest.store.data();
        let stderr = state.log.tail();
        let Some(error) = error else {
            // The guest was paused because its team had used up its CPU quota.
            if state.limiter.throttled_by_quota {
                return Err(fault_without_detail(FaultKind::NoCapacity));
            }
            return Err(Fault { stderr, ..fault_without_detail(FaultKind::Timeout(timeout)) });
        };
        if state.limiter.team_memory_exhausted {
            return Err(fault_without_detail(FaultKind::NoCapacity));
        }
        let exceeded = ExceededLimits {
            out_of_cpu: cpu_time_exceeded.load(Ordering::Relaxed),
            out_of_memory: state.limiter.growth_refused,
        };
        let kind = classify(&error, &exceeded, &grant.limits);
        let debug_text = format!("{error:?}");
        // Function names in a backtrace come from the guest and can have any length.
        let detail = grant.secrets.redact(&debug_text).chars().take(MAX_FAULT_DETAIL).collect();
        Err(Fault { kind, detail, stderr })
    }

    /// Drops the idle guests of a revision that is not served any more.
    pub fn discard_idle_guests(&self, revision: u64) {
        self.reusable.discard(revision);
    }

    /// Removes compiled components that were not used for long from the cache. Blocks the calling thread.
    pub fn sweep_cache(&self) {
        self.compiler.sweep_cache();
    }

    /// The thread pool of a provider that was granted folders.
    pub fn folder_threads(&self, team: &TeamName, provider: &ProviderName) -> Arc<FolderThreads> {
        self.folder_threads.of(team, provider)
    }
}
