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
mod guest;
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
mod ticker;
mod warm;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::Engine;
use wasmtime::component::Linker;

pub use self::cache::{CacheError, Config as CacheConfig, Place};
pub use self::compiled::{Compiled, Hashed, Recalled, Rejection};
use self::compiler::Compiler;
pub use self::compiler::Config as CompilerConfig;
pub use self::fault::{Fault, FaultKind};
use self::fault::{Seen, classify, plain};
use self::guest::Guest;
pub use self::guest::{Called, Work};
pub use self::outbox::{Inbox, Outbox, outbox};
pub use self::outgoing::Outgoing;
pub use self::pace::Pace;
pub use self::queue::Queue;
pub use self::state::{Lease, Signal, State, Terms};
use self::threads::AllThreads;
pub use self::threads::Threads;
pub use self::warm::Owner;
use self::warm::Warm;
use crate::drain::Drain;
use crate::metrics::Metrics;
use crate::name::{ProviderName, TeamName};
use crate::patience;

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
    slots: Arc<Semaphore>,
    warm: Warm,
    ticker: ticker::Ticker,
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
        let (warm, metrics) = (Warm::new(config.slots, drain), Metrics::default());
        let waiting = warm.clone();
        metrics.reading("larder_guests_waiting", "Guests that wait for another call.", move || {
            waiting.len() as u64
        });
        Ok(Self {
            linker: engine::linker(&engine).map_err(failed)?,
            slots: Arc::new(Semaphore::new(config.slots as usize)),
            warm,
            ticker: ticker::Ticker::start(&engine).map_err(|error| SetUpError::Engine(error.to_string()))?,
            compiler: Compiler::new(&config.compiler, &engine, drain)?,
            threads: AllThreads::default(),
            metrics,
            engine,
        })
    }

    /// What is counted of the house: the lowest room that counts has the numbers.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Has a guest do some work, within the limits of the lease. It is a new one, and its end is that of the call; unless
    /// it may be used again for its owner.
    pub async fn run<W: Work>(
        &self,
        compiled: &Compiled,
        lease: Lease,
        queue: Queue,
        owner: Option<Owner>,
        work: &W,
    ) -> Result<W::Answer, Fault> {
        let wall = lease.grant.limits.wall;
        if let Some(owner) = &owner
            && let Some((mut guest, slot)) = self.warm.take(owner)
        {
            drop(queue);
            guest.store.data_mut().begin(lease.clone());
            let again = async { Ok(guest) };
            match self.call(compiled, (again, wall), slot, Some(owner.clone()), work).await {
                // It may be what an earlier call left behind; and to read twice does no harm.
                Err(fault) if fault.kind.may_be_of_the_past() => {
                    tracing::debug!(provider = lease.provider.as_str(), fault = %fault.kind, "a guest that was called before failed: a new one is asked");
                }
                ended => return ended,
            }
            // Its slot is free again, unless somebody was quicker.
            let slot = self.slots.clone().try_acquire_owned().map_err(|_| plain(FaultKind::Crowded))?;
            return self.call(compiled, (self.open(lease), wall), slot, Some(owner.clone()), work).await;
        }
        let Some(Ok(slot)) = queue.wait(self.slots.clone().acquire_owned()).await else {
            return Err(plain(FaultKind::Crowded));
        };
        drop(queue);
        self.call(compiled, (self.open(lease), wall), slot, owner, work).await
    }

    async fn call<W: Work>(
        &self,
        compiled: &Compiled,
        (guest, wall): (impl Future<Output = Result<Guest, Fault>>, Duration),
        slot: OwnedSemaphorePermit,
        owner: Option<Owner>,
        work: &W,
    ) -> Result<W::Answer, Fault> {
        let _ticking = self.ticker.run();
        let began = Instant::now();
        let until = || began + wall;
        let guest = patience::until(until, guest).await;
        let mut guest = guest.unwrap_or_else(|| Err(plain(FaultKind::Wall(wall))))?;
        let terms = guest.store.data().lease.terms.clone();
        let Terms { grant, tally, ration, threads, .. } = &*terms;
        let spent = guest.arm();
        let answer = {
            // Pinned here: a future that is given away by value is held twice by whoever waits for it.
            let work = pin!(guest.work(compiled, work));
            let work = pin!(limits::counted(tally, ration.as_deref(), &self.ticker, work));
            let work = async {
                match threads {
                    Some(threads) => threads.within(work).await?,
                    None => work.await,
                }
            };
            patience::until(until, work).await
        };
        tally.durations.note(began.elapsed());
        let error = match answer {
            Some(Ok(answer)) => {
                if let Some(owner) = owner {
                    self.warm.keep(owner, guest, slot);
                }
                return Ok(answer);
            }
            Some(Err(error)) => Some(error),
            None => None,
        };
        let state = guest.store.data();
        let stderr = state.log.tail();
        let Some(error) = error else {
            // Its team had used up what it has of processors, and it was made to wait.
            if state.meter.stood_still {
                return Err(plain(FaultKind::Crowded));
            }
            return Err(Fault { stderr, ..plain(FaultKind::Wall(wall)) });
        };
        if state.meter.crowded {
            return Err(plain(FaultKind::Crowded));
        }
        let seen = Seen { out_of_cpu: spent.load(Ordering::Relaxed), out_of_memory: state.meter.refused };
        let kind = classify(&error, &seen, &grant.limits);
        let said = format!("{error:?}");
        // A backtrace has names of the guest's own making in it, as long as it likes.
        let detail = grant.secrets.redact(&said).chars().take(DETAIL).collect();
        Err(Fault { kind, detail, stderr })
    }

    /// Ends the guests that wait for calls of a revision which is not served any more.
    pub fn forget(&self, revision: u64) {
        self.warm.forget(revision);
    }

    /// Deletes of what was compiled what nobody used for long. It holds its thread.
    pub fn tidy(&self) {
        self.compiler.tidy();
    }

    /// The threads for a provider that was granted folders.
    pub fn threads(&self, team: &TeamName, provider: &ProviderName) -> Arc<Threads> {
        self.threads.of(team, provider)
    }
}
