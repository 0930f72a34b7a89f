//! The CPU time of guests: it is measured, charged to the team and limited. A guest that computes for long is
//! slowed down in favour of other tasks.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use wasmtime::{Store, UpdateDeadline};

use super::state::GuestState;
use super::ticker::{TICK, Ticker};
use larder_model::policy::QuotaUsage;
use larder_runtime::metrics::ProviderMetrics;
use larder_runtime::metrics::process::thread_cpu_time;
use larder_runtime::yield_batch;

/// Up to this number of ticks a guest only yields at each tick. A short call may cross some ticks just
/// because its thread was preempted.
const FREE_TICKS: u64 = 20;
/// Up to this number of ticks a guest gets about half of a processor, and beyond it a tenth. Yielding alone
/// is not enough: each time the guest would run for a whole tick again while all other tasks wait.
const HALF_TICKS: u64 = 200;
/// A poll up to this long is measured with the monotonic clock, because little else runs on the thread in
/// that time. Reading the thread's CPU clock takes a system call each time.
const SHORT_POLL: Duration = Duration::from_micros(300);
/// Minimum pause of a guest whose team has used up its CPU quota. It is paused until the excess is paid off,
/// since otherwise many guests would take turns at exceeding the quota.
const MIN_QUOTA_PAUSE: Duration = Duration::from_millis(50);

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
