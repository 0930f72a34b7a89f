//! Runs the server until it is told to stop, and shuts it down.

use std::io;
use std::time::Duration;

use tokio::task::JoinError;

use super::signal::ShutdownSignals;
use super::{App, RunError, service_manager};
use larder_mcp::Listener;

/// How long the audit log and traces may take to write their last entries at shutdown.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);
/// How long clients of the admin address may take to read their last response at shutdown.
const ADMIN_TIMEOUT: Duration = Duration::from_millis(500);

impl App {
    /// Serves HTTP until shutdown.
    pub async fn serve_http(self, listener: Listener) -> Result<(), RunError> {
        let endpoint = self.endpoint.clone();
        self.run(async move { endpoint.serve_http(listener).await })
            .await
    }

    /// Serves standard input and output until they close, or until shutdown.
    pub async fn serve_stdio(self) -> Result<(), RunError> {
        let endpoint = self.endpoint.clone();
        self.run(async move {
            endpoint
                .serve_stdio(tokio::io::stdin(), tokio::io::stdout())
                .await
        })
        .await
    }

    /// Stops all tasks within `shutdown_grace`. Returns whether they ended in time.
    pub async fn finish(self) -> bool {
        let in_time = self.drain.finish(self.reloader.shutdown_grace()).await;
        let in_time = self.log_drain.finish(FLUSH_TIMEOUT).await && in_time;
        // A client may keep its admin connection open, so the result is ignored.
        self.admin_drain.finish(ADMIN_TIMEOUT).await;
        in_time
    }

    async fn run(
        mut self,
        serving: impl Future<Output = io::Result<()>> + Send + 'static,
    ) -> Result<(), RunError> {
        self.start_server_tasks();
        let shutdown_signals = self.shutdown_signals.take();
        let mut shutdown_signals = shutdown_signals.unwrap_or_else(ShutdownSignals::new);
        let mut serving = self.drain.spawn(serving);
        let mut panicked = false;
        let ended = tokio::select! {
            ended = &mut serving => Some(ended),
            () = shutdown_signals.next() => None,
            () = self.drain.stopping() => None,
            () = self.critical_tasks.panicked() => { panicked = true; None }
        };
        service_manager::stopping();
        if ended.is_none() {
            tracing::info!(grace = ?self.reloader.shutdown_grace(), "shutting down; a second signal stops immediately");
        }
        tokio::select! {
            in_time = self.drain.finish(self.reloader.shutdown_grace()) => if !in_time {
                tracing::warn!("requests were still in flight after the shutdown grace period");
            },
            () = shutdown_signals.next() => {
                tracing::warn!("stopped immediately");
                // All requests end before the audit log closes.
                self.drain.finish(Duration::ZERO).await;
            }
        }
        self.flush_logs().await;
        self.admin_drain.finish(ADMIN_TIMEOUT).await;
        match ended {
            Some(ended) => serving_result(ended),
            None if panicked => Err(RunError::CriticalTaskPanicked),
            None => Ok(()),
        }
    }

    async fn flush_logs(&self) {
        if !self.log_drain.finish(FLUSH_TIMEOUT).await {
            tracing::error!("could not write the last audit log entries or traces in time");
        }
    }
}

fn serving_result(ended: Result<Option<io::Result<()>>, JoinError>) -> Result<(), RunError> {
    match ended {
        Ok(Some(Ok(()))) => Ok(()),
        // A client that disconnects in the middle of a line has only disconnected.
        Ok(Some(Err(error))) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Ok(Some(Err(error))) => Err(error.into()),
        // The drain has already logged a task that panicked or was dropped.
        Ok(None) | Err(_) => Err(io::Error::other("its task ended").into()),
    }
}
