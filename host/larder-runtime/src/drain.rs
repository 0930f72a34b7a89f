//! Graceful shutdown. Every task of the server is spawned here, and none runs after [`Drain::finish`]. The
//! exception is a blocking thread that waits for a disk, which cannot be cancelled: it is abandoned, so that
//! a dead mount does not keep the process from exiting.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long to wait for aborted tasks. Async tasks end at once; only blocking threads that wait for a disk
/// take longer.
const ABORT_TIMEOUT: Duration = Duration::from_secs(3);

/// Spawns tasks, tells them to stop, and waits for them. Clones share the same tasks.
#[derive(Clone, Debug, Default)]
pub struct Drain {
    tasks: TaskTracker,
    stopping: StopSignal,
    abort: StopSignal,
}

/// A cancellation token with a cheap check: a task that is woken for another reason reads one atomic instead
/// of polling the token.
#[derive(Clone, Debug, Default)]
struct StopSignal {
    token: CancellationToken,
    is_set: Arc<AtomicBool>,
}

impl StopSignal {
    fn set(&self) {
        self.is_set.store(true, Ordering::Release);
        self.token.cancel();
    }

    /// Returns the output of `work`, or `None` once the signal is set. Must be awaited by one task only,
    /// because the waker is registered on the first poll.
    async fn run_until_set<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let (mut cancelled, mut work) = (pin!(self.token.cancelled()), pin!(work));
        let mut is_registered = false;
        poll_fn(|context| {
            let can_skip = is_registered && !self.is_set.load(Ordering::Acquire);
            is_registered = true;
            if !can_skip && cancelled.as_mut().poll(context).is_ready() {
                return Poll::Ready(None);
            }
            work.as_mut().poll(context).map(Some)
        })
        .await
    }
}

impl Drain {
    /// Creates a drain without tasks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Spawns a task. [`Drain::stopping`] tells it to stop; it is dropped when the grace period is over.
    pub fn spawn<F>(&self, task: F) -> JoinHandle<Option<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let abort = self.abort.clone();
        // Boxed, because the nested futures here would contain the task four times, and move it as often on
        // the stack.
        let task = Box::pin(task);
        self.tasks.spawn(async move { abort.run_until_set(task).await })
    }

    /// Runs work that blocks its thread.
    pub fn spawn_blocking<F, T>(&self, work: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.tasks.spawn_blocking(work)
    }

    /// Tells every task to stop.
    pub fn stop(&self) {
        self.stopping.set();
    }

    /// Returns a guard that aborts all tasks when it is dropped.
    pub fn guard(&self) -> DrainGuard {
        DrainGuard(self.clone())
    }

    /// Whether the server is stopping.
    pub fn is_stopping(&self) -> bool {
        self.stopping.is_set.load(Ordering::Acquire)
    }

    /// Completes once the server is stopping.
    pub async fn stopping(&self) {
        self.stopping.token.cancelled().await;
    }

    /// Returns the output of `work`, or `None` once the server is stopping. Must be awaited by one task only.
    pub async fn run_until_stopping<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.stopping.run_until_set(work).await
    }

    /// Tells all tasks to stop and waits for them. After the grace period, drops the remaining tasks and
    /// abandons blocked threads. Returns whether all tasks ended by themselves.
    pub async fn finish(&self, grace: Duration) -> bool {
        self.stop();
        self.tasks.close();
        let in_time = tokio::time::timeout(grace, self.tasks.wait()).await.is_ok();
        self.abort.set();
        if tokio::time::timeout(ABORT_TIMEOUT, self.tasks.wait()).await.is_err() {
            let tasks = self.tasks.len();
            tracing::error!(tasks, "blocking tasks did not end, shutdown does not wait for them");
        }
        in_time
    }
}

/// Stops and aborts all tasks of the drain when it is dropped, for instance because the future that owns it
/// was dropped.
#[derive(Debug)]
pub struct DrainGuard(Drain);

impl Drop for DrainGuard {
    fn drop(&mut self) {
        self.0.stop();
        self.0.abort.set();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_stops_ends_within_the_grace_period() {
        let drain = Drain::new();
        let inner = drain.clone();
        let task = drain.spawn(async move {
            inner.stopping().await;
            "closed"
        });
        assert!(drain.finish(Duration::from_secs(60)).await);
        assert_eq!(task.await.ok(), Some(Some("closed")));
    }

    #[tokio::test]
    async fn a_task_that_does_not_stop_is_dropped_after_the_grace_period() {
        let drain = Drain::new();
        let task = drain.spawn(std::future::pending::<()>());
        assert!(!drain.finish(Duration::from_millis(10)).await);
        assert_eq!(task.await.ok(), Some(None));
    }

    #[tokio::test]
    async fn dropping_the_guard_aborts_tasks() {
        let drain = Drain::new();
        let guard = drain.guard();
        let task = drain.spawn(std::future::pending::<()>());
        drop(guard);
        assert_eq!(task.await.ok(), Some(None));
    }

    #[tokio::test]
    async fn a_blocked_thread_is_abandoned() {
        let drain = Drain::new();
        let (release, held) = std::sync::mpsc::channel::<()>();
        let work = drain.spawn_blocking(move || held.recv());
        let ended = tokio::time::timeout(Duration::from_secs(60), drain.finish(Duration::from_millis(10)));
        let ended = ended.await;
        drop(release);
        assert_eq!(ended.ok(), Some(false));
        assert!(work.await.is_ok());
    }
}
