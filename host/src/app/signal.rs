//! The ways in which a system asks a process to stop.

/// Completes when the next such signal comes.
#[cfg(unix)]
pub(super) async fn asked_to_stop() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! {
            _ = terminate.recv() => {}
            () = interrupted() => {}
        },
        Err(_) => interrupted().await,
    }
}

/// Completes when the next such signal comes.
#[cfg(not(unix))]
pub(super) async fn asked_to_stop() {
    interrupted().await;
}

// Where signals cannot be had, the system's own way of ending a process is left.
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
