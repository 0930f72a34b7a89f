//! Runs guests: compiles components, instantiates them with wasmtime and enforces all limits.
//!
//! A guest normally lives for one call, and dropping the future of the call drops the guest. If the operator allows it,
//! a guest is reused for later calls of the same caller (module `reuse`).

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables are long"))]

mod bindings;
mod compile;
mod engine;
mod guest;
mod guest_config;
mod imports;
mod interface;
mod json;
mod network;
pub mod provider;
mod run;
mod threads;

use std::sync::Arc;

use wasmtime::Engine;
use wasmtime::component::Linker;

pub use self::compile::cache::{CacheError, CacheLocation, Config as CacheConfig};
pub use self::compile::child;
use self::compile::compiler::Compiler;
pub use self::compile::compiler::Config as CompilerConfig;
pub use self::compile::unsupported_features::unsupported_features;
use self::guest::host_resources;
use self::guest::state::GuestState;
use self::guest_config::folder_threads::{FolderThreads, FolderThreadsByProvider};
use self::guest_config::provider_log::OutputLimits;
use self::imports::linker;
pub use self::imports::wasi_proposals::ProposalImport;
pub use self::network::credential_test::CredentialTest;
pub use self::run::compiled::{CachedComponent, CompiledComponent};
use self::run::reuse::ReusableGuests;
use self::threads::long_calls::LongCalls;
use self::threads::ticker;
use larder_model::name::{ProviderName, TeamName};
use larder_model::policy::CredentialStore;
use larder_runtime::drain::Drain;
use larder_runtime::memory_budget::MemoryBudget;
use larder_runtime::metrics::Metrics;
use larder_runtime::shares::{ShareLimits, Shares};

/// Configuration of the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Places for guests, over all providers. A guest with many memories or tables takes several places.
    pub slots: u32,
    /// Bytes of memory for guests, responses and other data that can be large.
    pub memory: u64,
    /// Bytes that the process can write to its log in a second.
    pub log: u64,
    /// Whether each fault of a provider has a log line of its own. Otherwise, repeated faults are summarized.
    pub log_each_fault: bool,
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
    shares: Shares,
    reusable: ReusableGuests,
    ticker: ticker::Ticker,
    long_calls: Arc<LongCalls>,
    compiler: Compiler,
    folder_threads: FolderThreadsByProvider,
    /// How many files and streams a guest may hold.
    max_host_resources: usize,
    log_limits: OutputLimits,
    metrics: Metrics,
    memory_budget: MemoryBudget,
    credentials: CredentialStore,
    drain: Drain,
}

impl Sandbox {
    /// Sets up the engine, the imports that components may use, and the cache of compiled components.
    pub fn new(config: &Config, drain: &Drain) -> Result<Self, SetUpError> {
        // An error means that a provider is installed already, which is no problem: a process may create several
        // sandboxes.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let failed = |error: wasmtime::Error| SetUpError::Engine(format!("{error:#}"));
        let engine = engine::engine(config.slots).map_err(failed)?;
        let reusable = ReusableGuests::new(drain);
        let metrics = Metrics::default();
        let memory_budget = MemoryBudget::new(config.memory);
        memory_budget.register_metrics(&metrics);
        let shares = Shares::new(share_limits(config), memory_budget.several_teams());
        shares.register_metrics(&metrics);
        let idle = reusable.clone();
        metrics.register_gauge(
            "larder_guests_waiting",
            "Idle guests that are kept for another call",
            move || idle.len() as u64,
        );
        let ticker = ticker::Ticker::start(&engine)
            .map_err(|error| SetUpError::Engine(error.to_string()))?;
        Ok(Self {
            linker: linker::linker(&engine).map_err(failed)?,
            compiler: Compiler::new(&config.compiler, &engine, &shares, drain)?,
            shares,
            reusable,
            long_calls: Arc::new(LongCalls::new(ticker.long_runs(), drain)),
            ticker,
            folder_threads: FolderThreadsByProvider::default(),
            max_host_resources: host_resources::max_per_guest(config.slots),
            log_limits: OutputLimits::new(config.log_each_fault),
            metrics,
            memory_budget,
            credentials: CredentialStore::default(),
            drain: drain.clone(),
            engine,
        })
    }

    /// The metrics of the server. They are created here because the sandbox is the lowest layer that records metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The memory budget of the server. It is created here because the sandbox is the lowest layer that uses it.
    pub fn memory_budget(&self) -> &MemoryBudget {
        &self.memory_budget
    }

    /// The resources that teams share. They are created here because the sandbox is the lowest layer that uses them.
    pub fn shares(&self) -> &Shares {
        &self.shares
    }

    /// The credentials that the host adds to requests of guests. They are empty until somebody sets them.
    pub fn credentials(&self) -> &CredentialStore {
        &self.credentials
    }

    /// The drain for tasks of providers.
    fn drain(&self) -> &Drain {
        &self.drain
    }

    /// Drops the idle guests of a revision that is not served any more.
    fn discard_idle_guests(&self, revision: u64) {
        self.reusable.discard(revision);
    }

    /// Removes compiled components that were not used for long from the cache. Blocks the calling thread.
    pub fn sweep_cache(&self) {
        self.compiler.sweep_cache();
    }

    /// The limits on the log output of providers.
    fn log_limits(&self) -> &OutputLimits {
        &self.log_limits
    }

    /// The thread pool of a provider that was granted folders.
    fn folder_threads(&self, team: &TeamName, provider: &ProviderName) -> Arc<FolderThreads> {
        self.folder_threads
            .of(team, provider, &self.shares.team(team))
    }
}

fn share_limits(config: &Config) -> ShareLimits {
    ShareLimits {
        guests: config.slots,
        code: config.compiler.cache.size,
        log: config.log,
        ..ShareLimits::default()
    }
}
