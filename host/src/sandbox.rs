//! The only room that knows the engine: it makes guests, each under a lease, with every limit set.
//! A guest lives for one call. Dropping the call's future drops the guest.

mod address;
pub mod bindings;
mod cache;
pub mod child;
mod compiled;
mod compiler;
mod engine;
mod fault;
mod folder;
mod host;
mod limits;
mod log;
mod lookup;
mod outbox;
mod outgoing;
mod pace;
mod queue;
mod state;
mod threads;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;
use wasmtime::component::{Instance, Linker};
use wasmtime::{Engine, Store};

pub use self::cache::{CacheError, Config as CacheConfig, Place};
pub use self::compiled::{Compiled, Rejection};
use self::compiler::Compiler;
pub use self::compiler::Config as CompilerConfig;
pub use self::fault::{Fault, FaultKind};
use self::fault::{Seen, classify};
pub use self::outbox::{Inbox, Outbox, outbox};
pub use self::outgoing::Outgoing;
pub use self::pace::Pace;
pub use self::queue::Queue;
pub use self::state::{Lease, Signal, State};
use self::threads::AllThreads;
pub use self::threads::Threads;
use crate::drain::Drain;
use crate::metrics::Metrics;
use crate::name::{ProviderName, TeamName};

/// Characters of what the engine says of a fault.
const DETAIL: usize = 4_096;

/// What the operator decides about the sandbox as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Guests that may be open at the same time, over all providers.
    pub slots: u32,
    /// How components are compiled.
    pub compiler: CompilerConfig,
}

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
pub enum SetUpError {
    /// The engine does not start.
    #[error("cannot set up the engine: {0}")]
    Engine(String),
    /// There is no place for compiled components.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// Makes guests.
pub struct Sandbox {
    engine: Engine,
    linker: Linker<State>,
    slots: Semaphore,
    ticker: limits::Ticker,
    compiler: Compiler,
    threads: AllThreads,
    metrics: Metrics,
}

impl Sandbox {
    /// Sets up the engine, everything that a component may import, and the cache.
    pub fn new(config: &Config, drain: &Drain) -> Result<Self, SetUpError> {
        // A second call in one process finds it installed, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let failed = |error: wasmtime::Error| SetUpError::Engine(format!("{error:#}"));
        let engine = engine::engine(config.slots).map_err(failed)?;
        Ok(Self {
            linker: engine::linker(&engine).map_err(failed)?,
            slots: Semaphore::new(config.slots as usize),
            ticker: limits::Ticker::start(&engine).map_err(|error| SetUpError::Engine(error.to_string()))?,
            compiler: Compiler::new(&config.compiler, &engine, drain)?,
            threads: AllThreads::default(),
            metrics: Metrics::default(),
            engine,
        })
    }

    /// What is counted of the house: the lowest room that counts has the numbers.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Waits for a slot, opens a guest, lets `act` call it, and closes it, all within the limits of the lease.
    pub async fn run<T: Send>(
        &self,
        compiled: &Compiled,
        lease: Lease,
        queue: Queue,
        act: impl for<'a> FnOnce(&'a mut Store<State>, &'a Instance) -> BoxFuture<'a, wasmtime::Result<T>> + Send,
    ) -> Result<T, Fault> {
        let grant = lease.grant.clone();
        let Some(Ok(_slot)) = queue.wait(self.slots.acquire()).await else {
            return Err(plain(FaultKind::Crowded));
        };
        drop(queue);
        let _ticking = self.ticker.run();
        let (tally, ration, began) = (lease.tally.clone(), lease.ration.clone(), Instant::now());
        let wall = grant.limits.wall;
        let until = tokio::time::Instant::now() + wall;
        let threads = lease.threads.clone();
        let opening = tokio::time::timeout_at(until, self.store(lease));
        let mut store = opening.await.unwrap_or_else(|_| Err(plain(FaultKind::Wall(wall))))?;
        let log = store.data().log.clone();
        let spent = limits::arm(&mut store, grant.limits.cpu);
        let answer = {
            // Pinned here: a future that is given away by value is held twice by whoever waits for it.
            let work = pin!(async {
                let instance = compiled.pre.instantiate_async(&mut store).await?;
                act(&mut store, &instance).await
            });
            let work = pin!(limits::counted(&tally, ration.as_deref(), work));
            let work = async {
                match &threads {
                    Some(threads) => threads.within(work).await?,
                    None => work.await,
                }
            };
            tokio::time::timeout_at(until, work).await
        };
        tally.durations.note(began.elapsed());
        let error = match answer {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => error,
            // Its team had used up what it has of processors, and it was made to wait.
            Err(_) if store.data().meter.stood_still => return Err(plain(FaultKind::Crowded)),
            Err(_) => return Err(Fault { stderr: log.tail(), ..plain(FaultKind::Wall(wall)) }),
        };
        if store.data().meter.crowded {
            return Err(plain(FaultKind::Crowded));
        }
        let seen =
            Seen { out_of_cpu: spent.load(Ordering::Relaxed), out_of_memory: store.data().meter.refused };
        let kind = classify(&error, &seen, &grant.limits);
        let said = format!("{error:?}");
        // A backtrace has names of the guest's own making in it, as long as it likes.
        let detail = grant.secrets.redact(&said).chars().take(DETAIL).collect();
        Err(Fault { kind, detail, stderr: log.tail() })
    }

    /// The threads for a provider that was granted folders.
    pub fn threads(&self, team: &TeamName, provider: &ProviderName) -> Arc<Threads> {
        self.threads.of(team, provider)
    }

    async fn store(&self, lease: Lease) -> Result<Store<State>, Fault> {
        let result = usize::try_from(lease.grant.limits.result).unwrap_or(usize::MAX);
        let state = match lease.threads.clone() {
            Some(threads) => threads.open(|| State::new(lease)).await.map_err(Into::into).flatten(),
            None => State::new(lease),
        };
        let state = state.map_err(|error| {
            // A granted folder that is gone is the operator's to know, and not what a guest did.
            Fault {
                detail: format!("{error:#}"),
                ..plain(FaultKind::Trap("what it was granted cannot be opened".into()))
            }
        })?;
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.meter);
        store.set_hostcall_fuel(result);
        store.set_max_component_handles(state::HANDLES);
        Ok(store)
    }
}

fn plain(kind: FaultKind) -> Fault {
    Fault { detail: kind.to_string(), kind, stderr: String::new() }
}
