//! Threads for the file system calls of guests that were granted folders. A pipe without a writer, or a mount
//! whose server is gone, can block a thread indefinitely, and nothing can interrupt it. So each such provider
//! has a few threads of its own, and a folder that blocks them affects only its own provider.

use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;

use larder_model::name::{ProviderName, TeamName};

/// Maximum number of file system calls of one provider at the same time: the default of `limits.concurrency`.
const MAX_THREADS: usize = 16;

/// The threads of one provider. All of its revisions share them, so a new revision does not get new threads
/// that can be blocked.
#[derive(Debug)]
pub(super) struct FolderThreads {
    runtime: OnceLock<Runtime>,
    /// Limits the number of guests whose folders are being opened, including those that wait for a blocked
    /// thread.
    opening: Arc<Semaphore>,
}

/// The threads of all providers.
#[derive(Debug, Default)]
pub(super) struct FolderThreadsByProvider(Mutex<HashMap<(TeamName, ProviderName), Arc<FolderThreads>>>);

impl FolderThreadsByProvider {
    /// Returns the threads of a provider. They are started at its first call.
    pub(super) fn of(&self, team: &TeamName, provider: &ProviderName) -> Arc<FolderThreads> {
        let mut by_provider = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (team.clone(), provider.clone());
        if !by_provider.contains_key(&key) {
            by_provider.retain(|_, threads| Arc::strong_count(threads) > 1);
        }
        by_provider.entry(key).or_default().clone()
    }
}

impl Default for FolderThreads {
    fn default() -> Self {
        Self { runtime: OnceLock::new(), opening: Arc::new(Semaphore::new(MAX_THREADS)) }
    }
}

impl FolderThreads {
    fn handle(&self) -> io::Result<&Handle> {
        self.get_or_start(|| {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(1).max_blocking_threads(MAX_THREADS).thread_name("larder-folder");
            builder.enable_all().build()
        })
    }

    /// Starts the runtime if it is not running. If that fails, the next call tries again.
    fn get_or_start(&self, start: impl FnOnce() -> io::Result<Runtime>) -> io::Result<&Handle> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime.handle());
        }
        if let Err(spare) = self.runtime.set(start()?) {
            // Another call has started it meanwhile. A runtime must not be dropped inside of another one.
            spare.shutdown_background();
        }
        self.runtime.get().map(Runtime::handle).ok_or_else(|| io::Error::other("no threads were started"))
    }

    /// Runs `open`, which opens the granted folders of a guest, on one of the threads. Waits as long as they
    /// are all blocked.
    pub(super) async fn open<T: Send + 'static>(
        &self,
        open: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        let handle = self.handle()?;
        let permit = self.opening.clone().acquire_owned().await.map_err(io::Error::other)?;
        let opened = handle.spawn_blocking(move || {
            let _permit = permit;
            open()
        });
        opened.await.map_err(io::Error::other)
    }

    /// Polls a future so that blocking work that it spawns, such as the engine's file system calls, runs on
    /// these threads.
    pub(super) async fn run_with<F: Future>(&self, work: F) -> io::Result<F::Output> {
        let handle = self.handle()?;
        let mut work = pin!(work);
        let work = poll_fn(|waker| {
            let _entered = handle.enter();
            work.as_mut().poll(waker)
        });
        Ok(work.await)
    }
}

impl Drop for FolderThreads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Does not wait for threads that are blocked in a file system.
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_a_failed_start() {
        let threads = FolderThreads::default();
        let fail = || Err(io::Error::other("no descriptor is left"));
        assert_eq!(threads.get_or_start(fail).unwrap_err().to_string(), "no descriptor is left");
        assert!(threads.handle().is_ok());
        // A runtime that was started is kept.
        assert!(threads.get_or_start(fail).is_ok());
    }
}
