//! Notifies the service manager (systemd, through `NOTIFY_SOCKET`) when the server is ready and when it stops. With
//! `WatchdogSec`, also sends regular notifications that the server works. Without a service manager, nothing is sent.

use std::time::Duration;

use sd_notify::NotifyState;

use larder_runtime::drain::Drain;

/// The server accepts requests.
pub(super) fn ready(status: &str) {
    send(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// The server has begun to shut down.
pub(super) fn stopping() {
    send(&[NotifyState::Stopping, NotifyState::Status("shutting down")]);
}

/// Reports that the server works, until it stops. The interval of the reports is half of the interval after which the
/// server would be restarted.
pub(super) async fn watch(drain: Drain) {
    let Some(timeout) = sd_notify::watchdog_enabled().filter(|timeout| !timeout.is_zero()) else {
        return;
    };
    let mut interval = tokio::time::interval((timeout / 2).max(Duration::from_millis(1)));
    while drain.run_until_stopping(interval.tick()).await.is_some() {
        send(&[NotifyState::Watchdog]);
    }
}

fn send(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "cannot notify the service manager (NOTIFY_SOCKET)");
    }
}
