//! A thread that increments the engine's epoch while guests run. The epoch is used to measure and limit the time of
//! guests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use larder_runtime::short_slice::request_short_slice;
use wasmtime::Engine;

/// Interval between ticks if a guest recently ran without yielding for longer than this interval.
pub(crate) const TICK: Duration = Duration::from_millis(1);
/// Interval between ticks otherwise. It is longer because each tick interrupts the task that runs on the processor.
const SLOW_TICK: Duration = Duration::from_millis(5);
/// How long the short interval is used after a guest ran for long.
const FAST_PERIOD: Duration = Duration::from_millis(100);
/// After this time without a guest, the thread is parked. Waking the thread for each call would take longer than many
/// calls take.
const PARK_DELAY: Duration = Duration::from_millis(50);

/// Increments the engine's epoch while guests run. Its thread is parked when no guest has run for a while.
pub(crate) struct Ticker {
    shared: Arc<TickerState>,
    thread: std::thread::Thread,
}

/// State that the ticker's thread shares with the guests' threads.
#[derive(Default)]
struct TickerState {
    running: AtomicUsize,
    /// Whether a guest has run for longer than [`TICK`] since the last tick.
    ran_long: AtomicBool,
}

impl Ticker {
    pub(crate) fn start(engine: &Engine) -> std::io::Result<Self> {
        let shared = Arc::<TickerState>::default();
        let engine = engine.weak();
        let thread_shared = shared.clone();
        let handle = std::thread::Builder::new()
            .name("larder-ticker".into())
            .spawn(move || {
                request_short_slice();
                let mut schedule = TickSchedule::default();
                while let Some(engine) = engine.upgrade() {
                    engine.increment_epoch();
                    drop(engine);
                    let ran_long = thread_shared.ran_long.swap(false, Ordering::Relaxed);
                    match schedule.next(thread_shared.running.load(Ordering::SeqCst) > 0, ran_long)
                    {
                        Some(pause) => std::thread::sleep(pause),
                        None => std::thread::park(),
                    }
                }
            })?;
        Ok(Self {
            shared,
            thread: handle.thread().clone(),
        })
    }

    /// Keeps the ticker running until the guard is dropped.
    pub(crate) fn run(&self) -> TickGuard {
        if self.shared.running.fetch_add(1, Ordering::SeqCst) == 0 {
            self.thread.unpark();
        }
        TickGuard(self.shared.clone())
    }

    /// Returns a value that accepts reports of long runs.
    pub(crate) fn long_runs(&self) -> LongRunReports {
        LongRunReports(self.shared.clone())
    }
}

/// Accepts reports that a guest ran for longer than a tick without yielding. For a while after a report, the ticks are
/// more frequent, so that other tasks run sooner.
#[derive(Default)]
pub(crate) struct LongRunReports(Arc<TickerState>);

impl LongRunReports {
    pub(super) fn report(&self) {
        self.0.ran_long.store(true, Ordering::Relaxed);
    }
}

/// Computes the time until the next tick.
#[derive(Default)]
struct TickSchedule {
    /// Time since a guest last ran.
    idle: Duration,
    /// Remaining time in which the short interval is used.
    fast_left: Duration,
}

impl TickSchedule {
    /// The pause before the next tick; none if the thread should be parked until a guest runs again.
    fn next(&mut self, is_running: bool, ran_long: bool) -> Option<Duration> {
        if ran_long {
            self.fast_left = FAST_PERIOD;
        }
        let pause = if self.fast_left.is_zero() {
            SLOW_TICK
        } else {
            TICK
        };
        self.fast_left = self.fast_left.saturating_sub(pause);
        self.idle = if is_running {
            Duration::ZERO
        } else {
            self.idle + pause
        };
        if self.idle > PARK_DELAY {
            self.idle = Duration::ZERO;
            return None;
        }
        Some(pause)
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        // A parked thread would never find out that the engine was dropped.
        self.thread.unpark();
    }
}

/// The ticker runs while this value exists.
pub(crate) struct TickGuard(Arc<TickerState>);

impl Drop for TickGuard {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_faster_for_a_while_after_a_long_run() {
        let mut schedule = TickSchedule::default();
        assert_eq!(schedule.next(true, false), Some(SLOW_TICK));
        assert_eq!(schedule.next(true, true), Some(TICK));
        let mut fast = TICK;
        while schedule.next(true, false) == Some(TICK) {
            fast += TICK;
        }
        assert_eq!(fast, FAST_PERIOD);
        assert_eq!(schedule.next(true, false), Some(SLOW_TICK));
        // Each long run restarts the period.
        assert_eq!(
            [true, true, false].map(|ran_long| schedule.next(true, ran_long)),
            [Some(TICK); 3]
        );
    }

    #[test]
    fn parks_when_no_guest_has_run_for_a_while() {
        let mut schedule = TickSchedule::default();
        let mut idle = Duration::ZERO;
        while let Some(pause) = schedule.next(false, false) {
            idle += pause;
        }
        assert_eq!(idle, PARK_DELAY);
        // A guest in between restarts the delay.
        assert_eq!(schedule.next(true, false), Some(SLOW_TICK));
        assert!(
            (0..PARK_DELAY.as_millis() / SLOW_TICK.as_millis())
                .all(|_| schedule.next(false, false).is_some())
        );
        assert_eq!(schedule.next(false, false), None);
    }
}
