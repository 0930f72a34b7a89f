//! Orderly stop: every task of the house is spawned here, and after [`Drain::finish`] none runs. Only a thread that
//! waits for a disk cannot be taken back: it is given up, so that a dead mount does not keep the process from ending.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long what was dropped may take to be gone. Tasks are gone at once; what is not is held by a disk.
const LETTING_GO: Duration = Duration::from_secs(3);

/// Spawns tasks, tells them to stop, and waits for them. Clones are the same drain.
#[derive(Clone, Debug, Default)]
pub struct Drain {
    tasks: TaskTracker,
    stopping: Bell,
    giving_up: Bell,
}

/// It rings once. Whoever hears it is woken; whoever is woken by something else sees by a glance that it did not ring.
#[derive(Clone, Debug, Default)]
struct Bell {
    token: CancellationToken,
    rang: Arc<AtomicBool>,
}

impl Bell {
    fn ring(&self) {
        self.rang.store(true, Ordering::Release);
        self.token.cancel();
    }

    /// What comes of this, or none once it rings. For a task of its own, whose waker stays the same.
    async fn unless<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let (mut ring, mut work) = (pin!(self.token.cancelled()), pin!(work));
        let mut listens = false;
        poll_fn(|waker| {
            let is_silent = listens && !self.rang.load(Ordering::Acquire);
            listens = true;
            if !is_silent && ring.as_mut().poll(waker).is_ready() {
                return Poll::Ready(None);
            }
            work.as_mut().poll(waker).map(Some)
        })
        .await
    }
}

impl Drain {
    /// A drain that nothing runs in yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs a task. It is told to stop by [`Drain::stopping`], and dropped when the grace time is over.
    pub fn spawn<F>(&self, task: F) -> JoinHandle<Option<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let giving_up = self.giving_up.clone();
        // Boxed, as what waits for it here would hold it four times over, and move it as often over the stack.
        let task = Box::pin(task);
        self.tasks.spawn(async move { giving_up.unless(task).await })
    }

    /// Runs work that holds a thread for a while.
    pub fn spawn_blocking<F, T>(&self, work: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.tasks.spawn_blocking(work)
    }

    /// Asks every task to come to its end.
    pub fn stop(&self) {
        self.stopping.ring();
    }

    /// Binds all tasks to whoever has this.
    pub fn leash(&self) -> Leash {
        Leash(self.clone())
    }

    /// Whether it is.
    pub fn is_stopping(&self) -> bool {
        self.stopping.rang.load(Ordering::Acquire)
    }

    /// Completes once the house is stopping.
    pub async fn stopping(&self) {
        self.stopping.token.cancelled().await;
    }

    /// What comes of this, or none once the house is stopping. Only for what a task of its own waits for.
    pub async fn unless_stopping<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.stopping.unless(work).await
    }

    /// Stops, waits for all tasks, and after the grace time drops those that are left, and gives up threads that
    /// do not come back. Says whether all of them ended by themselves.
    pub async fn finish(&self, grace: Duration) -> bool {
        self.stop();
        self.tasks.close();
        let in_time = tokio::time::timeout(grace, self.tasks.wait()).await.is_ok();
        self.giving_up.ring();
        if tokio::time::timeout(LETTING_GO, self.tasks.wait()).await.is_err() {
            let left = self.tasks.len();
            tracing::error!(left, "work on a disk does not come back; the end does not wait for it");
        }
        in_time
    }
}

/// While this is there, what was spawned goes on. With it goes everything, as nobody waits for it any more.
#[derive(Debug)]
pub struct Leash(Drain);

impl Drop for Leash {
    fn drop(&mut self) {
        self.0.stop();
        self.0.giving_up.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_hears_the_stop_ends_in_time() {
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
    async fn a_task_that_does_not_is_dropped_after_the_grace_time() {
        let drain = Drain::new();
        let task = drain.spawn(std::future::pending::<()>());
        assert!(!drain.finish(Duration::from_millis(10)).await);
        assert_eq!(task.await.ok(), Some(None));
    }

    #[tokio::test]
    async fn a_task_on_a_leash_goes_with_whoever_held_it() {
        let drain = Drain::new();
        let leash = drain.leash();
        let task = drain.spawn(std::future::pending::<()>());
        drop(leash);
        assert_eq!(task.await.ok(), Some(None));
    }

    #[tokio::test]
    async fn a_thread_that_does_not_come_back_is_given_up() {
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
