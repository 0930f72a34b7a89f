//! Signals of the operating system: shutdown and hangup.

use std::future::pending;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

use larder_runtime::drain::Drain;

/// Shutdown signals. They are received from the moment of creation: a signal is not lost if no task waits for it. If
/// the handlers cannot be installed, signals end the process, which is the default.
#[cfg(unix)]
pub(crate) struct ShutdownSignals(Option<(Signal, Signal, Option<Signal>)>);

#[cfg(unix)]
impl ShutdownSignals {
    pub(crate) fn new() -> Self {
        let signals = signal(SignalKind::terminate())
            .ok()
            .zip(signal(SignalKind::interrupt()).ok());
        Self(signals.map(|(terminate, interrupt)| (terminate, interrupt, None)))
    }

    /// Also treats the end of the terminal (SIGHUP) as a shutdown signal.
    pub(crate) fn for_terminal() -> Self {
        let hangup = signal(SignalKind::hangup()).ok();
        Self(
            Self::new()
                .0
                .map(|(terminate, interrupt, _)| (terminate, interrupt, hangup)),
        )
    }

    /// Completes at the next shutdown signal.
    pub(crate) async fn next(&mut self) {
        let Some((terminate, interrupt, hangup)) = &mut self.0 else {
            return pending().await;
        };
        let on_hangup = async {
            match hangup {
                Some(signal) => signal.recv().await,
                None => pending().await,
            }
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = on_hangup => {}
        }
    }
}

/// SIGHUP, with which an operator requests a scan and a reload. The signal is received from the moment of creation.
#[cfg(unix)]
pub(super) struct HangupSignals(Option<Signal>);

#[cfg(unix)]
impl HangupSignals {
    pub(super) fn new() -> Self {
        Self(signal(SignalKind::hangup()).ok())
    }

    /// Calls `action` at each SIGHUP, until the server stops.
    pub(super) async fn handle(self, action: impl Fn(), drain: Drain) {
        let Some(mut hangup) = self.0 else { return };
        loop {
            tokio::select! {
                () = drain.stopping() => return,
                Some(()) = hangup.recv() => action(),
            }
        }
    }
}

/// This system has no SIGHUP.
#[cfg(not(unix))]
pub(super) struct HangupSignals;

#[cfg(not(unix))]
impl HangupSignals {
    pub(super) fn new() -> Self {
        Self
    }

    pub(super) async fn handle(self, _: impl Fn(), _: Drain) {}
}

/// Ctrl-C.
#[cfg(not(unix))]
pub(crate) struct ShutdownSignals;

#[cfg(not(unix))]
impl ShutdownSignals {
    pub(crate) fn new() -> Self {
        Self
    }

    /// Same as `new`, because this system does not signal the end of a terminal.
    pub(crate) fn for_terminal() -> Self {
        Self
    }

    /// Completes at the next shutdown signal.
    pub(crate) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            pending::<()>().await;
        }
    }
}
