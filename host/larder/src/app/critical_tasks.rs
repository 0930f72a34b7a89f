//! Tasks that keep the catalog up to date. If one of them panicked and the server continued, it would serve outdated
//! content, and no error would show that. Therefore the server stops, and its supervisor restarts it.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;

use larder_runtime::drain::Drain;

/// Runs tasks without which the server must not continue.
#[derive(Debug, Clone)]
pub(super) struct CriticalTasks {
    drain: Drain,
    panic: CancellationToken,
}

impl CriticalTasks {
    pub(super) fn new(drain: Drain) -> Self {
        Self {
            drain,
            panic: CancellationToken::new(),
        }
    }

    /// Spawns a critical task. `name` identifies it in the log.
    pub(super) fn spawn(
        &self,
        name: &'static str,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        self.spawn_in(&self.drain, name, task);
    }

    /// Spawns a critical task of a part of the server, in the drain of that part.
    pub(super) fn spawn_in(
        &self,
        drain: &Drain,
        name: &'static str,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        let panic = self.panic.clone();
        drain.spawn(async move {
            if AssertUnwindSafe(task).catch_unwind().await.is_err() {
                tracing::error!(task = name, "critical task panicked");
                panic.cancel();
            }
        });
    }

    /// Completes when a critical task has panicked.
    pub(super) async fn panicked(&self) {
        self.panic.cancelled().await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn reports_a_task_that_panics_but_not_one_that_ends() {
        let critical_tasks = CriticalTasks::new(Drain::new());
        critical_tasks.spawn("sound", async {});
        critical_tasks.drain.finish(Duration::from_secs(60)).await;
        assert!(!critical_tasks.panic.is_cancelled());
        let critical_tasks = CriticalTasks::new(Drain::new());
        critical_tasks.spawn("unsound", async { panic!("on purpose") });
        tokio::time::timeout(Duration::from_secs(60), critical_tasks.panicked())
            .await
            .expect("the panic was not reported");
    }
}
