//! The timer for connections without a complete request head. There is one timer for each connection, which is
//! not reset for each request.

use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use super::state::ConnectionState;

/// How long a connection may have no complete request head.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeadTimeouts {
    /// Before the first valid request.
    pub(super) unproven: Duration,
    /// The time after the client has sent a valid request. Includes the idle time before a request head.
    pub(super) proven: Duration,
}

/// Measures in ticks how long a connection has had no complete request head. The clock is not read for each request,
/// because that would cost more than the precision is worth. So the timer may expire one tick late.
pub(super) struct IdleTimer {
    timeouts: HeadTimeouts,
    connection: ConnectionState,
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
    pub(super) fn new(connection: ConnectionState, timeouts: HeadTimeouts) -> Self {
        Self {
            timeouts,
            connection,
            last_started: 0,
            ticks: 0,
            timer: None,
        }
    }

    /// Whether a request is in flight.
    pub(super) fn has_requests(&self) -> bool {
        self.connection.has_requests()
    }

    fn tick(&self) -> Duration {
        let timeout = if self.connection.is_proven() {
            self.timeouts.proven
        } else {
            self.timeouts.unproven
        };
        timeout / TICKS
    }

    /// Restarts the count if a request was started since the last check.
    fn update(&mut self) {
        let started = self.connection.started();
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
        let tick = self.tick();
        let (timer, registered) = self
            .timer
            .get_or_insert_with(|| (Box::pin(tokio::time::sleep(tick)), waker.clone()));
        registered.clone_from(waker);
        loop {
            ready!(timer.as_mut().poll(context));
            self.ticks += 1;
            // The first tick does not count, because the connection was idle only for a part of it.
            if self.ticks > TICKS {
                return Poll::Ready(());
            }
            timer.as_mut().reset(Instant::now() + tick);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::tests::new_connection;
    use super::*;

    #[test]
    fn each_request_restarts_the_timer() {
        let connection = new_connection();
        let timeout = Duration::from_secs(30);
        let timeouts = HeadTimeouts {
            unproven: timeout / 10,
            proven: timeout,
        };
        let mut idle_timer = IdleTimer::new(connection.clone(), timeouts);
        idle_timer.ticks = TICKS;
        idle_timer.update();
        assert_eq!(idle_timer.ticks, TICKS, "no request was started");
        drop(connection.begin());
        idle_timer.update();
        assert_eq!(idle_timer.ticks, 0);
        let guard = connection.begin();
        assert!(idle_timer.has_requests());
        drop(guard);
        assert!(!idle_timer.has_requests());
        assert_eq!(idle_timer.tick(), timeout / 10 / TICKS);
        connection.prove();
        assert_eq!(idle_timer.tick(), timeout / TICKS);
    }
}
