//! A share of the runtime's threads for work that can block forever, such as reading a file on a mount whose server is
//! gone. Such a thread cannot be interrupted. So each part of the server with such work has a share of the threads, and
//! can block only its own work.

use std::io;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::low_priority_threads::begin_thread;

/// Maximum number of threads that the runtime starts for blocking work. Threads are started when they are needed. The
/// number is far higher than the sum of all shares, so that the work of the host itself always gets a thread.
pub const MAX_RUNTIME_THREADS: usize = 16_384;

/// A share of the threads for blocking work.
#[derive(Debug)]
pub struct BlockingThreads(Arc<Semaphore>);

impl BlockingThreads {
    /// Creates a share of at most `max` threads.
    pub fn new(max: usize) -> Self {
        Self(Arc::new(Semaphore::new(max)))
    }

    /// Runs work on one of the threads, and waits if no thread is free. If the future is dropped, work that has begun
    /// counts until it returns, and work that has not begun is dropped.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        let permit = self.permit().await?;
        // This is not spawned through the drain, because shutdown must not wait for a mount.
        let job = Handle::current().spawn_blocking(move || {
            let _permit = permit;
            work()
        });
        job.await.map_err(io::Error::other)
    }

    async fn permit(&self) -> io::Result<OwnedSemaphorePermit> {
        let permit = self.0.clone().acquire_owned().await;
        permit.map_err(io::Error::other)
    }

    /// Like [`Self::run`], for work that computes for a long time. The work runs on a thread of its own with a lower
    /// priority than the threads that serve requests. A thread cannot raise its priority again, so the thread is used
    /// only once.
    pub async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        let permit = self.permit().await?;
        let (sender, receiver) = oneshot::channel();
        let run = move || {
            let _permit = permit;
            begin_thread();
            // If sending fails, the result is not awaited any more.
            _ = sender.send(work());
        };
        std::thread::Builder::new()
            .name("larder-compute".into())
            .spawn(run)?;
        receiver.await.map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_blocked_thread_is_in_use_until_it_returns() {
        let threads = BlockingThreads::new(2);
        let (release, held) = mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        for _ in 0..2 {
            let held = held.clone();
            // Blocks until the sender is dropped.
            let blocked = threads.run(move || _ = held.lock().recv());
            assert!(
                tokio::time::timeout(Duration::from_millis(10), blocked)
                    .await
                    .is_err()
            );
        }
        let waiting = threads.run(|| "done");
        assert!(
            tokio::time::timeout(Duration::from_millis(10), waiting)
                .await
                .is_err()
        );
        // Threads of another share are free.
        assert_eq!(
            BlockingThreads::new(1).run(|| "done").await.unwrap(),
            "done"
        );
        drop(release);
        let done = tokio::time::timeout(Duration::from_secs(60), threads.run(|| "done"));
        assert_eq!(done.await.unwrap().unwrap(), "done");
    }

    #[tokio::test]
    async fn a_panic_is_an_error_and_frees_its_thread() {
        let threads = BlockingThreads::new(1);
        assert!(threads.run(|| panic!("on purpose")).await.is_err());
        assert!(threads.compute(|| panic!("on purpose")).await.is_err());
        assert_eq!(threads.run(|| 7).await.unwrap(), 7);
        assert_eq!(threads.compute(|| 7).await.unwrap(), 7);
    }
}
