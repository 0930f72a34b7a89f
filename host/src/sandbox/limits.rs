//! Memory, tables and instances of one guest, and its time on the processor.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use wasmtime::{ResourceLimiter, Store, UpdateDeadline};

use super::state::{State, Terms};
use super::ticker::{TICK, Ticker};
use crate::metrics::Tally;
use crate::metrics::process::thread_time;
use crate::policy::{Memory, Ration};
use crate::round;

/// Up to here a guest only yields at each tick: an innocent call may lose its processor and cross a few.
const FREE_TICKS: u64 = 20;
/// Up to here it gets about half of a processor, and from here on a tenth. Yielding alone is not enough:
/// each time it would get a whole tick again, and everybody else waits for it.
const HALF_TICKS: u64 = 200;

/// Refuses growth beyond the limits, and remembers that it did.
pub(super) struct Meter {
    memory: u64,
    memory_limit: u64,
    table_elements: usize,
    instances: usize,
    pub(super) refused: bool,
    /// It was not the guest that needs too much, but its team that has no more.
    pub(super) crowded: bool,
    /// It was made to wait, since its team has used up its time on processors.
    pub(super) stood_still: bool,
    terms: Arc<Terms>,
    share: Option<Memory>,
}

impl Meter {
    pub(super) fn new(terms: &Arc<Terms>) -> Self {
        terms.tally.guests.up(1);
        let limits = &terms.grant.limits;
        Self {
            terms: terms.clone(),
            memory: 0,
            memory_limit: limits.memory,
            table_elements: usize::try_from(limits.table_elements).unwrap_or(usize::MAX),
            instances: limits.instances as usize,
            refused: false,
            crowded: false,
            stood_still: false,
            share: terms.ration.clone().map(Memory::none),
        }
    }
}

impl Meter {
    /// Another call begins.
    pub(super) fn begin(&mut self) {
        (self.refused, self.crowded, self.stood_still) = (false, false, false);
    }

    /// Bytes of memory that the guest has.
    pub(super) fn memory(&self) -> u64 {
        self.memory
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.memory.saturating_add(desired.saturating_sub(current) as u64);
        if total > self.memory_limit {
            self.refused = true;
            return Ok(false);
        }
        if self.share.as_mut().is_some_and(|share| !share.grow(total - self.memory)) {
            self.crowded = true;
            return Ok(false);
        }
        self.terms.tally.grew(total - self.memory, total);
        self.memory = total;
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let fits = desired <= self.table_elements;
        self.refused |= !fits;
        Ok(fits)
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn tables(&self) -> usize {
        // One a core instance, and what adapters add.
        self.instances * 2
    }

    fn memories(&self) -> usize {
        self.instances
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.terms.tally.guests.down(1);
        self.terms.tally.freed(self.memory);
    }
}

/// Up to here the clock on the wall tells the time on a processor well enough: little else runs meanwhile. The clock of a
/// thread takes a call of the system each time that it is looked at.
const SHORT: Duration = Duration::from_micros(300);

/// Counts the time that this takes on a processor, waiting left out.
pub(super) async fn counted<T>(
    tally: &Tally,
    ration: Option<&Ration>,
    ticker: &Ticker,
    work: impl Future<Output = T>,
) -> T {
    let mut work = pin!(work);
    poll_fn(|waker| {
        let exact = tally.runs_long().then(thread_time);
        let began = Instant::now();
        let polled = work.as_mut().poll(waker);
        let elapsed = began.elapsed();
        // What takes long once is measured exactly from then on.
        tally.takes(elapsed > SHORT);
        round::ran(elapsed > SHORT);
        if elapsed > TICK {
            ticker.hurry();
        }
        let took = exact.map_or(elapsed, |began| thread_time().saturating_sub(began));
        tally.ran(took);
        if let Some(ration) = ration {
            ration.computed(took);
        }
        polled
    })
    .await
}

/// How long a guest stands still at least where its team has no time on processors left: else until it is paid off,
/// as otherwise many guests would take turns at using what is not there.
const OVER: Duration = Duration::from_millis(50);

/// Arms a store: after `cpu` on the processor the guest is interrupted, and long before it is slowed down.
/// The more so where its team has used up what it has of processors.
/// Says through the flag that it was this deadline.
pub(super) fn arm(store: &mut Store<State>, cpu: Duration) -> Arc<AtomicBool> {
    let spent = Arc::new(AtomicBool::new(false));
    let flag = spent.clone();
    let budget = u64::try_from(cpu.as_millis()).unwrap_or(u64::MAX).max(1);
    let ration = store.data().lease.ration.clone();
    let mut ticks = 0;
    store.set_epoch_deadline(2);
    store.epoch_deadline_callback(move |mut store| {
        ticks += 1;
        if ticks > budget {
            flag.store(true, Ordering::Relaxed);
            return Ok(UpdateDeadline::Interrupt);
        }
        if let Some(owed) = ration.as_ref().and_then(|ration| ration.over_cpu()) {
            store.data_mut().meter.stood_still = true;
            return Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::time::sleep(owed.max(OVER)))));
        }
        if ticks <= FREE_TICKS {
            return Ok(UpdateDeadline::Yield(1));
        }
        let pause = if ticks <= HALF_TICKS { TICK } else { TICK * 9 };
        Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::time::sleep(pause))))
    });
    spent
}
