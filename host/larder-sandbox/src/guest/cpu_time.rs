//! The CPU time of guests is limited. A guest that computes for a long time is slowed down in favour of other tasks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::{Store, StoreContextMut, UpdateDeadline, WasmBacktrace};

use super::state::GuestState;
use crate::threads::call_meter::CallMeter;
use crate::threads::call_thread::request_move_after;
use crate::threads::ticker::TICK;

/// Up to this number of ticks, a guest only yields at each tick. A short call may take some ticks only because its
/// thread was preempted.
const FREE_TICKS: u64 = 20;
/// Up to this number of ticks, a guest gets about half of a processor, and after that a tenth. Yielding alone is not
/// sufficient: each time, the guest would run for a whole tick again while all other tasks wait.
const HALF_TICKS: u64 = 200;
/// Minimum pause of a guest whose team has used up its CPU quota. The guest is paused until the excess is compensated,
/// because otherwise many guests in turn would exceed the quota.
const MIN_QUOTA_PAUSE: Duration = Duration::from_millis(50);
/// How long before the end of its time a call is asked for its backtrace. A guest that is slowed down runs every ten
/// ticks.
const BACKTRACE_WINDOW: Duration = TICK.saturating_mul(20);

/// Sets the CPU deadline of a call: the guest is interrupted after `cpu_time`, and the meter records it. After the CPU
/// time of a tick, the call is moved to a thread for long calls. Long before the deadline, the guest is slowed down. It
/// is slowed down more if its team has used up its CPU quota.
pub(crate) fn set_cpu_deadline(
    store: &mut Store<GuestState>,
    cpu_time: Duration,
    meter: Arc<CallMeter>,
) {
    meter.restart();
    let mut ticks = 0;
    store.set_epoch_deadline(2);
    store.epoch_deadline_callback(move |mut store| {
        ticks += 1;
        // The number of ticks is not used, because the thread does not run at each tick.
        if meter.used() > cpu_time {
            meter.set_out_of_cpu();
            return Ok(UpdateDeadline::Interrupt);
        }
        request_move_after(TICK);
        keep_backtrace_before_deadline(&mut store);
        if let Some(excess) = meter.config.cpu_wait() {
            store.data_mut().limiter.throttled_by_quota = true;
            return Ok(pause(excess.max(MIN_QUOTA_PAUSE)));
        }
        if ticks <= FREE_TICKS {
            return Ok(UpdateDeadline::Yield(1));
        }
        let time = if ticks <= HALF_TICKS { TICK } else { TICK * 9 };
        Ok(pause(time))
    });
}

fn pause(time: Duration) -> UpdateDeadline {
    UpdateDeadline::YieldCustom(1, Box::pin(tokio::time::sleep(time)))
}

/// Stores where a guest computes whose time ends soon, because its call is dropped at the deadline without an error.
fn keep_backtrace_before_deadline(store: &mut StoreContextMut<'_, GuestState>) {
    let time_left = store
        .data()
        .deadline
        .saturating_duration_since(Instant::now());
    if time_left < BACKTRACE_WINDOW {
        let backtrace = WasmBacktrace::capture(&*store);
        store.data_mut().last_backtrace = Some(backtrace);
    }
}
