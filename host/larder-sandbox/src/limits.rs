//! Limits of a guest: memory, tables, instances, and CPU time.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use wasmtime::{ResourceLimiter, Store, UpdateDeadline};

use super::state::{GuestConfig, GuestState};
use super::ticker::{TICK, Ticker};
use larder_model::policy::{MemoryReservation, QuotaUsage};
use larder_runtime::metrics::ProviderMetrics;
use larder_runtime::metrics::process::thread_cpu_time;
use larder_runtime::yield_batch;

/// Up to this number of ticks a guest only yields at each tick. A short call may cross some ticks just
/// because its thread was preempted.
const FREE_TICKS: u64 = 20;
/// Up to this number of ticks a guest gets about half of a processor, and beyond it a tenth. Yielding alone
/// is not enough: each time the guest would run for a whole tick again while all other tasks wait.
const HALF_TICKS: u64 = 200;

/// Denies growth beyond the limits, and records that it did.
pub(super) struct GuestLimiter {
    memory: u64,
    memory_limit: u64,
    table_elements: usize,
    instances: usize,
    /// Whether growth beyond the limits of the guest was denied.
    pub(super) growth_refused: bool,
    /// Whether growth was denied because the team has used up its memory quota.
    pub(super) team_memory_exhausted: bool,
    /// Whether the guest was paused because the team has used up its CPU quota.
    pub(super) throttled_by_quota: bool,
    config: Arc<GuestConfig>,
    team_memory: Option<MemoryReservation>,
}

impl GuestLimiter {
    pub(super) fn new(config: &Arc<GuestConfig>) -> Self {
        config.metrics.guests.add(1);
        let limits = &config.grant.limits;
        Self {
            config: config.clone(),
            memory: 0,
            memory_limit: limits.memory,
            table_elements: usize::try_from(limits.table_elements).unwrap_or(usize::MAX),
            instances: limits.instances as usize,
            growth_refused: false,
            team_memory_exhausted: false,
            throttled_by_quota: false,
            team_memory: config.quota_usage.clone().map(MemoryReservation::new),
        }
    }
}

impl GuestLimiter {
    /// Resets the flags for another call.
    pub(super) fn begin_call(&mut self) {
        (self.growth_refused, self.team_memory_exhausted, self.throttled_by_quota) = (false, false, false);
    }

    /// Bytes of memory that the guest uses.
    pub(super) fn memory(&self) -> u64 {
        self.memory
    }
}

impl ResourceLimiter for GuestLimiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.memory.saturating_add(desired.saturating_sub(current) as u64);
        if total > self.memory_limit {
            self.growth_refused = true;
            return Ok(false);
        }
        if self.team_memory.as_mut().is_some_and(|team_memory| !team_memory.grow(total - self.memory)) {
            self.team_memory_exhausted = true;
            return Ok(false);
        }
        self.config.metrics.memory_grew(total - self.memory, total);
        self.memory = total;
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let fits = desired <= self.table_elements;
        self.growth_refused |= !fits;
        Ok(fits)
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn tables(&self) -> usize {
        // One per core instance, and those that adapters add.
        self.instances * 2
    }

    fn memories(&self) -> usize {
        self.instances
    }
}

impl Drop for GuestLimiter {
    fn drop(&mut self) {
        self.config.metrics.guests.sub(1);
        self.config.metrics.memory_freed(self.memory);
    }
}

/// A poll up to this long is measured with the monotonic clock, because little else runs on the thread in
/// that time. Reading the thread's CPU clock takes a system call each time.
const SHORT_POLL: Duration = Duration::from_micros(300);

/// Measures the CPU time of a future, which excludes the time that it waits, and charges it to the team.
pub(super) async fn measure_cpu<T>(
    metrics: &ProviderMetrics,
    quota_usage: Option<&QuotaUsage>,
    ticker: &Ticker,
    future: impl Future<Output = T>,
) -> T {
    let mut future = pin!(future);
    poll_fn(|waker| {
        let cpu_start = metrics.has_long_polls().then(thread_cpu_time);
        let start = Instant::now();
        let polled = future.as_mut().poll(waker);
        let elapsed = start.elapsed();
        // A provider with a long poll is measured with the CPU clock from then on.
        metrics.set_long_polls(elapsed > SHORT_POLL);
        yield_batch::guest_ran(elapsed > SHORT_POLL);
        if elapsed > TICK {
            ticker.report_long_run();
        }
        let cpu_time = cpu_start.map_or(elapsed, |start| thread_cpu_time().saturating_sub(start));
        metrics.record_cpu_time(cpu_time);
        if let Some(quota_usage) = quota_usage {
            quota_usage.charge_cpu(cpu_time);
        }
        polled
    })
    .await
}

/// Minimum pause of a guest whose team has used up its CPU quota. It is paused until the excess is paid off,
/// since otherwise many guests would take turns at exceeding the quota.
const MIN_QUOTA_PAUSE: Duration = Duration::from_millis(50);

/// Sets the CPU deadline of a call: the guest is interrupted after `cpu_time`, and the returned flag is set
/// then. Long before that it is slowed down, and more so if its team has used up its CPU quota.
pub(super) fn set_cpu_deadline(store: &mut Store<GuestState>, cpu_time: Duration) -> Arc<AtomicBool> {
    let exceeded = Arc::new(AtomicBool::new(false));
    let flag = exceeded.clone();
    let budget = u64::try_from(cpu_time.as_millis()).unwrap_or(u64::MAX).max(1);
    let quota_usage = store.data().lease.quota_usage.clone();
    let mut ticks = 0;
    store.set_epoch_deadline(2);
    store.epoch_deadline_callback(move |mut store| {
        ticks += 1;
        if ticks > budget {
            flag.store(true, Ordering::Relaxed);
            return Ok(UpdateDeadline::Interrupt);
        }
        if let Some(excess) = quota_usage.as_ref().and_then(|quota_usage| quota_usage.cpu_wait()) {
            store.data_mut().limiter.throttled_by_quota = true;
            return Ok(UpdateDeadline::YieldCustom(
                1,
                Box::pin(tokio::time::sleep(excess.max(MIN_QUOTA_PAUSE))),
            ));
        }
        if ticks <= FREE_TICKS {
            return Ok(UpdateDeadline::Yield(1));
        }
        let pause = if ticks <= HALF_TICKS { TICK } else { TICK * 9 };
        Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::time::sleep(pause))))
    });
    exceeded
}
