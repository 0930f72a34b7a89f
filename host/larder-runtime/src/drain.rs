//! Graceful shutdown. Every task of the server is spawned here, and no task runs after [`Drain::finish`]. The exception
//! is a blocking thread that waits for a disk, which cannot be cancelled: it is abandoned, so that a dead mount does
//! not keep the process from exiting.

mod supervision;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

pub use self::supervision::{SupervisedTask, TaskPanics};

/// How long to wait for aborted tasks. Async tasks end at once. Only blocking threads that wait for a disk take longer.
const ABORT_TIMEOUT: Duration = Duration::from_secs(3);

/// Spawns tasks, makes them stop, and waits for them. Clones share the same tasks.
#[derive(Clone, Debug, Default)]
pub struct Drain {
    tasks: TaskTracker,
    /// The tasks of the parent drain; none if this drain has no parent.
    outer: Option<TaskTracker>,
    stopping: StopSignal,
    abort: StopSignal,
    panics: TaskPanics,
}

/// A cancellation token with a cheap check: a task that is woken for another reason reads one atomic instead
/// of polling the token.
#[derive(Clone, Debug, Default)]
struct StopSignal {
    token: CancellationToken,
    is_set: Arc<AtomicBool>,
    /// The flag of the parent, which also sets this signal.
    is_parent_set: Option<Arc<AtomicBool>>,
}

impl StopSignal {
    /// Returns a signal that is set when this signal is set, and that can also be set alone.
    fn child(&self) -> Self {
        Self {
            token: self.token.child_token(),
            is_set: Arc::default(),
            is_parent_set: Some(self.is_set.clone()),
        }
    }

    fn is_set(&self) -> bool {
        let is_parent_set = |flag: &Arc<AtomicBool>| flag.load(Ordering::Acquire);
        self.is_set.load(Ordering::Acquire)
            || self.is_parent_set.as_ref().is_some_and(is_parent_set)
    }

    fn set(&self) {
        self.is_set.store(true, Ordering::Release);
        self.token.cancel();
    }

    /// Returns the output of `work`, or `None` once the signal is set. Must be awaited by one task only,
    /// because the waker is registered on the first poll.
    async fn run_until_set<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut cancelled = pin!(self.token.cancelled());
        let mut work = pin!(work);
        let mut is_registered = false;
        poll_fn(|context| {
            let can_skip = is_registered && !self.is_set();
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

    /// Creates a drain for a part of the server, such as a team, that can be stopped alone. The tasks of the new drain
    /// are also tasks of this drain. This drain must not be a child itself.
    pub fn child(&self) -> Self {
        Self {
            tasks: TaskTracker::new(),
            outer: Some(self.tasks.clone()),
            stopping: self.stopping.child(),
            abort: self.abort.child(),
            panics: self.panics.clone(),
        }
    }

    /// Spawns a task. [`Drain::stopping`] requests it to stop. After the grace period, the task is dropped.
    pub fn spawn<F>(&self, task: F) -> JoinHandle<Option<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let abort = self.abort.clone();
        // Boxed, because the nested futures here would contain the task four times, and would move it four times on the
        // stack.
        let task = Box::pin(task);
        let outer = self.outer.as_ref().map(TaskTracker::token);
        let panic_counter = self.panics.counter();
        self.tasks.spawn(async move {
            let _outer = outer;
            let _panic_counter = panic_counter;
            abort.run_until_set(task).await
        })
    }

    /// Runs work that blocks its thread.
    pub fn spawn_blocking<F, T>(&self, work: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let outer = self.outer.as_ref().map(TaskTracker::token);
        self.tasks.spawn_blocking(move || {
            let _outer = outer;
            work()
        })
    }

    /// Returns a value that counts as a task until it is dropped, for work on threads that do not belong to the
    /// runtime. The work has to end soon after the task that waits for it was dropped.
    pub fn outside_task(&self) -> OutsideTask {
        OutsideTask {
            _task: self.tasks.token(),
            _outer: self.outer.as_ref().map(TaskTracker::token),
        }
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
        self.stopping.is_set()
    }

    /// Completes once the server is stopping.
    pub async fn stopping(&self) {
        self.stopping.token.cancelled().await;
    }

    /// Returns the output of `work`, or `None` once the server is stopping. Must be awaited by one task only.
    pub async fn run_until_stopping<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.stopping.run_until_set(work).await
    }

    /// Returns the output of `work`, or `None` if the tasks of this drain are dropped first. Costs nothing if `work` is
    /// ready at once. Another task may continue to await the result, because a call can be moved to another thread.
    pub async fn run_unless_dropped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        let mut dropped = pin!(None);
        let mut registered: Option<Waker> = None;
        poll_fn(|context| {
            if let Poll::Ready(output) = work.as_mut().poll(context) {
                return Poll::Ready(Some(output));
            }
            let is_registered = registered
                .as_ref()
                .is_some_and(|waker| waker.will_wake(context.waker()));
            if is_registered && !self.abort.is_set() {
                return Poll::Pending;
            }
            if dropped.is_none() {
                dropped.set(Some(self.abort.token.cancelled()));
            }
            registered = Some(context.waker().clone());
            dropped
                .as_mut()
                .as_pin_mut()
                .map_or(Poll::Pending, |dropped| {
                    dropped.poll(context).map(|()| None)
                })
        })
        .await
    }

    /// Requests all tasks to stop and waits for them. After the grace period, drops the remaining tasks and abandons
    /// blocked threads. Returns whether all tasks ended by themselves.
    pub async fn finish(&self, grace: Duration) -> bool {
        self.stop();
        self.tasks.close();
        let in_time = tokio::time::timeout(grace, self.tasks.wait()).await.is_ok();
        self.abort.set();
        if tokio::time::timeout(ABORT_TIMEOUT, self.tasks.wait())
            .await
            .is_err()
        {
            let tasks = self.tasks.len();
            tracing::error!(
                tasks,
                "blocking tasks did not end, shutdown does not wait for them"
            );
        }
        in_time
    }
}

/// Counts as a task of a drain until it is dropped.
#[derive(Debug)]
pub struct OutsideTask {
    _task: TaskTrackerToken,
    _outer: Option<TaskTrackerToken>,
}

/// Stops and aborts all tasks of the drain when this guard is dropped, for example because the future that contains it
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
    use std::task::{Context, Wake};

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
    async fn work_ends_when_the_tasks_are_dropped() {
        let drain = Drain::new();
        assert_eq!(drain.run_unless_dropped(async { 1 }).await, Some(1));
        let waiting = async { drain.run_unless_dropped(std::future::pending::<()>()).await };
        let (ended, _) = tokio::join!(waiting, drain.finish(Duration::from_millis(10)));
        assert_eq!(ended, None);
    }

    #[tokio::test]
    async fn work_ends_in_the_task_that_awaits_it_now() {
        struct WakeFlag(AtomicBool);
        impl Wake for WakeFlag {
            fn wake(self: Arc<Self>) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let drain = Drain::new();
        let mut work = pin!(drain.run_unless_dropped(std::future::pending::<()>()));
        let tasks = [(); 2].map(|()| Arc::new(WakeFlag(AtomicBool::new(false))));
        for task in &tasks {
            let waker = Waker::from(task.clone());
            assert!(
                work.as_mut()
                    .poll(&mut Context::from_waker(&waker))
                    .is_pending()
            );
        }
        drain.finish(Duration::ZERO).await;
        assert!(
            tasks[1].0.load(Ordering::SeqCst),
            "the work was moved to this task"
        );
        let waker = Waker::from(tasks[1].clone());
        assert_eq!(
            work.as_mut().poll(&mut Context::from_waker(&waker)),
            Poll::Ready(None)
        );
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
    async fn a_child_stops_alone_and_with_its_parent() {
        let parent = Drain::new();
        let one = parent.child();
        let two = parent.child();
        let pending = || std::future::pending::<()>();
        let tasks = (
            one.spawn(pending()),
            two.spawn(pending()),
            parent.spawn(pending()),
        );
        assert!(!one.finish(Duration::from_millis(10)).await);
        assert_eq!(tasks.0.await.ok(), Some(None));
        assert!(one.is_stopping() && !two.is_stopping() && !parent.is_stopping());
        let stopped = two.clone();
        let waiting = two.spawn(async move { stopped.stopping().await });
        assert!(
            !parent.finish(Duration::from_millis(10)).await,
            "a task of the child still runs"
        );
        assert!(two.is_stopping());
        assert_eq!(
            (tasks.1.await.ok(), tasks.2.await.ok()),
            (Some(None), Some(None))
        );
        assert_eq!(waiting.await.ok(), Some(Some(())));
    }

    #[tokio::test]
    async fn finish_waits_for_work_on_other_threads() {
        let drain = Drain::new();
        let work = drain.child().outside_task();
        let waiting = drain.clone();
        let mut finish = std::pin::pin!(waiting.finish(Duration::from_secs(60)));
        assert!(
            tokio::time::timeout(Duration::from_millis(10), finish.as_mut())
                .await
                .is_err()
        );
        drop(work);
        assert!(finish.await);
    }

    #[tokio::test]
    async fn a_blocked_thread_is_abandoned() {
        let drain = Drain::new();
        let (release, held) = std::sync::mpsc::channel::<()>();
        let work = drain.spawn_blocking(move || held.recv());
        let ended = tokio::time::timeout(
            Duration::from_secs(60),
            drain.finish(Duration::from_millis(10)),
        );
        let ended = ended.await;
        drop(release);
        assert_eq!(ended.ok(), Some(false));
        assert!(work.await.is_ok());
    }
}
