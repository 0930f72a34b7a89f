//! The in-flight requests of one connection, and the timer for idle connections. There is one timer for each
//! connection, which is not reset for each request.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// Counts the requests of one connection. Clones share the counters.
#[derive(Clone, Default)]
pub(super) struct InFlight(Arc<Counts>);

#[derive(Default)]
struct Counts {
    started: AtomicU64,
    active: AtomicU64,
}

impl InFlight {
    /// Counts one more request.
    pub(super) fn begin(&self) -> InFlightGuard {
        self.0.started.fetch_add(1, Ordering::Relaxed);
        self.0.active.fetch_add(1, Ordering::Relaxed);
        InFlightGuard(self.clone())
    }
}

/// A request in flight. It is dropped when the last frame of the response was handed to hyper.
pub(super) struct InFlightGuard(InFlight);

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        self.0.0.active.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Measures in ticks how long a connection has had no complete request head. Reading a clock for each request
/// would cost more than the precision is worth, so the timer may expire one tick late.
pub(super) struct IdleTimer {
    tick: Duration,
    in_flight: InFlight,
    /// The number of started requests at the last check.
    last_started: u64,
    ticks: u32,
    /// The timer of the current tick, which is reset only when it has elapsed, and the waker registered with
    /// it.
    timer: Option<(Pin<Box<Sleep>>, Waker)>,
}

/// Number of ticks in the timeout.
const TICKS: u32 = 4;

impl IdleTimer {
    pub(super) fn new(in_flight: InFlight, timeout: Duration) -> Self {
        Self { tick: timeout / TICKS, in_flight, last_started: 0, ticks: 0, timer: None }
    }

    /// Whether a request is in flight.
    pub(super) fn has_requests(&self) -> bool {
        self.in_flight.0.active.load(Ordering::Relaxed) > 0
    }

    /// Restarts the count if a request was started since the last check.
    fn update(&mut self) {
        let started = self.in_flight.0.started.load(Ordering::Relaxed);
        if std::mem::replace(&mut self.last_started, started) != started {
            self.ticks = 0;
        }
    }

    /// Ready when the connection was idle for the timeout.
    pub(super) fn poll_expired(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.update();
        let waker = context.waker();
        if self
            .timer
            .as_ref()
            .is_some_and(|(timer, registered)| !timer.is_elapsed() && registered.will_wake(waker))
        {
            return Poll::Pending;
        }
        let tick = self.tick;
        let (timer, registered) =
            self.timer.get_or_insert_with(|| (Box::pin(tokio::time::sleep(tick)), waker.clone()));
        registered.clone_from(waker);
        loop {
            ready!(timer.as_mut().poll(context));
            self.ticks += 1;
            // The first tick does not count, because the connection was not idle for all of it.
            if self.ticks > TICKS {
                return Poll::Ready(());
            }
            timer.as_mut().reset(Instant::now() + tick);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_restarts_the_timer() {
        let in_flight = InFlight::default();
        let mut idle_timer = IdleTimer::new(in_flight.clone(), Duration::from_secs(30));
        idle_timer.ticks = TICKS;
        idle_timer.update();
        assert_eq!(idle_timer.ticks, TICKS, "no request was started");
        drop(in_flight.begin());
        idle_timer.update();
        assert_eq!(idle_timer.ticks, 0);
        let guard = in_flight.begin();
        assert!(idle_timer.has_requests());
        drop(guard);
        assert!(!idle_timer.has_requests());
    }
}
