//! The ways in which a system asks a process to stop.

use std::future::pending;
use std::sync::Arc;

use tokio::sync::Notify;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::drain::Drain;

/// Listens from the moment it is made: what comes while nobody waits is not lost.
/// Where signals cannot be had, the system's own way of ending a process is left.
#[cfg(unix)]
pub(crate) struct Stops(Option<(Signal, Signal, Option<Signal>)>);

#[cfg(unix)]
impl Stops {
    pub(crate) fn new() -> Self {
        let both = signal(SignalKind::terminate()).ok().zip(signal(SignalKind::interrupt()).ok());
        Self(both.map(|(terminate, interrupt)| (terminate, interrupt, None)))
    }

    /// The same, and the end of the terminal is one as well: for what nobody else would end.
    pub(crate) fn of_terminal() -> Self {
        let hang_up = signal(SignalKind::hangup()).ok();
        Self(Self::new().0.map(|(terminate, interrupt, _)| (terminate, interrupt, hang_up)))
    }

    /// Completes when the next such signal comes.
    pub(crate) async fn next(&mut self) {
        let Some((terminate, interrupt, hang_up)) = &mut self.0 else { return pending().await };
        let hung_up = async {
            match hang_up {
                Some(signal) => signal.recv().await,
                None => pending().await,
            }
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hung_up => {}
        }
    }
}

/// "Look again", as an operator says it: SIGHUP. It, too, is heard from the moment this is made.
#[cfg(unix)]
pub(super) struct HangUps(Option<Signal>);

#[cfg(unix)]
impl HangUps {
    pub(super) fn new() -> Self {
        Self(signal(SignalKind::hangup()).ok())
    }

    /// Wakes these whenever it comes, until the house stops.
    pub(super) async fn wake(self, wakes: Vec<Arc<Notify>>, drain: Drain) {
        let Some(mut hang_up) = self.0 else { return };
        loop {
            tokio::select! {
                () = drain.stopping() => return,
                Some(()) = hang_up.recv() => wakes.iter().for_each(|wake| wake.notify_one()),
            }
        }
    }
}

/// There is no such signal here.
#[cfg(not(unix))]
pub(super) struct HangUps;

#[cfg(not(unix))]
impl HangUps {
    pub(super) fn new() -> Self {
        Self
    }

    pub(super) async fn wake(self, _: Vec<Arc<Notify>>, _: Drain) {}
}

/// Listens for Ctrl-C.
#[cfg(not(unix))]
pub(crate) struct Stops;

#[cfg(not(unix))]
impl Stops {
    pub(crate) fn new() -> Self {
        Self
    }

    /// The same: a terminal's end is not told.
    pub(crate) fn of_terminal() -> Self {
        Self
    }

    /// Completes when the next such signal comes.
    pub(crate) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            pending::<()>().await;
        }
    }
}
