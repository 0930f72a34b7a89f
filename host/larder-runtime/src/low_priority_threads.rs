//! Threads for work of the host that takes long, such as writing a response of many megabytes. They have a lower
//! priority than the threads that serve requests, so that other requests do not wait for such work.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;

use rayon_core::{ThreadPool, ThreadPoolBuilder};
use tokio::sync::oneshot;

use larder_platform::threads;

/// Lowers the priority of this thread, if the system can do that without lowering the priority of the process.
pub fn lower_priority() {
    if let Err(error) = threads::lower_priority() {
        tracing::debug!(%error, "cannot lower the priority of a thread");
    }
}

thread_local! {
    static IS_LOW: Cell<bool> = const { Cell::new(false) };
}

/// Lets threads of higher priority run, if this thread has a lower priority. Work that takes longer than a millisecond
/// has to call this repeatedly: on Linux before 6.12, a thread continues for some milliseconds after a thread of higher
/// priority was woken.
pub fn pause() {
    if IS_LOW.get() {
        std::thread::yield_now();
    }
}

/// The low-priority threads, one for each processor. They are started when they are first needed.
#[derive(Debug, Default)]
pub struct LowPriorityThreads(OnceLock<Option<ThreadPool>>);

impl LowPriorityThreads {
    /// Runs work on one of the threads, or on this thread if they cannot be started. Work that has begun is finished
    /// even if the future is dropped, so the work has to be short.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let Some(threads) = self.0.get_or_init(start) else {
            return work();
        };
        let (sender, receiver) = oneshot::channel();
        threads.spawn_fifo(move || {
            if !sender.is_closed() {
                // If sending fails, the result is not awaited any more.
                _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
            }
        });
        match receiver.await {
            Ok(Ok(output)) => output,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => resume_unwind(Box::new("a thread of lower priority ended")),
        }
    }

    /// Drops a value on one of the threads, because freeing its memory takes long.
    pub fn drop_there<T: Send + 'static>(&self, value: T) {
        if let Some(threads) = self.0.get_or_init(start) {
            threads.spawn_fifo(move || drop(value));
        }
    }
}

/// Makes this thread one of lower priority, until it ends.
pub(crate) fn begin_thread() {
    lower_priority();
    IS_LOW.set(true);
}

fn start() -> Option<ThreadPool> {
    let builder = ThreadPoolBuilder::new().thread_name(|_| "larder-low".into());
    let threads = builder.start_handler(|_| begin_thread()).build();
    threads
        .inspect_err(|error| tracing::warn!(%error, "cannot start threads of lower priority"))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn runs_work_on_other_threads() {
        let threads = LowPriorityThreads::default();
        let here = std::thread::current().id();
        assert_ne!(threads.run(|| std::thread::current().id()).await, here);
        assert!(threads.run(|| IS_LOW.get()).await);
    }

    #[tokio::test]
    async fn a_panic_is_passed_on_and_the_threads_continue() {
        let threads = LowPriorityThreads::default();
        for _ in 0..3 {
            let work = AssertUnwindSafe(threads.run(|| panic!("on purpose")));
            assert!(futures_util::FutureExt::catch_unwind(work).await.is_err());
        }
        assert_eq!(threads.run(|| 7).await, 7);
    }
}
