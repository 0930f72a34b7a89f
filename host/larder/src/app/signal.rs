//! Signals of the operating system: shutdown and hangup.

use std::future::pending;

use tokio::signal::unix::{Signal, SignalKind, signal};

use larder_runtime::drain::Drain;

/// Shutdown signals. They are received from the moment of creation: a signal is not lost if no task waits for it. If
/// the handlers cannot be installed, signals end the process, which is the default.
pub(crate) struct ShutdownSignals(Option<(Signal, Signal, Option<Signal>)>);

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
pub(super) struct HangupSignals(Option<Signal>);

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
