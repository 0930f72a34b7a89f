//! Threads for guests that were granted folders. A pipe that nobody writes to, or a mount whose other end is gone,
//! holds the thread that asks for as long as it likes, and nothing can end it. So each such provider has a few of its
//! own: what they are lost to is its own folder, and everybody else goes on.

use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;

use crate::name::{ProviderName, TeamName};

/// Calls into the file system at the same time, of one provider: as many as it has calls, if nothing else is said.
const MOST: usize = 16;

/// The threads of one provider, over all its revisions: a newer one does not get new threads to lose.
#[derive(Debug)]
pub struct Threads {
    runtime: OnceLock<Runtime>,
    /// Guests whose folders are being opened. Where no thread comes back, no more of them wait in line than this.
    opening: Arc<Semaphore>,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct AllThreads(Mutex<HashMap<(TeamName, ProviderName), Arc<Threads>>>);

impl AllThreads {
    /// Those of this provider; none are started before the first call.
    pub(super) fn of(&self, team: &TeamName, provider: &ProviderName) -> Arc<Threads> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (team.clone(), provider.clone());
        if !all.contains_key(&key) {
            all.retain(|_, threads| Arc::strong_count(threads) > 1);
        }
        all.entry(key).or_default().clone()
    }
}

impl Default for Threads {
    fn default() -> Self {
        Self { runtime: OnceLock::new(), opening: Arc::new(Semaphore::new(MOST)) }
    }
}

impl Threads {
    fn handle(&self) -> io::Result<&Handle> {
        self.started(|| {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(1).max_blocking_threads(MOST).thread_name("larder-folder");
            builder.enable_all().build()
        })
    }

    /// A start that failed is no reason for the next call not to try.
    fn started(&self, start: impl FnOnce() -> io::Result<Runtime>) -> io::Result<&Handle> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime.handle());
        }
        if let Err(spare) = self.runtime.set(start()?) {
            // Another call was faster, and a runtime must not be dropped in another one.
            spare.shutdown_background();
        }
        self.runtime.get().map(Runtime::handle).ok_or_else(|| io::Error::other("no threads were started"))
    }

    /// Opens what a guest was granted. Waits where threads of this provider were lost, until whoever asks gives up.
    pub(super) async fn open<T: Send + 'static>(
        &self,
        open: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        let handle = self.handle()?;
        let turn = self.opening.clone().acquire_owned().await.map_err(io::Error::other)?;
        let opened = handle.spawn_blocking(move || {
            let _turn = turn;
            open()
        });
        opened.await.map_err(io::Error::other)
    }

    /// Does its work so that whatever the engine hands to another thread goes to these.
    pub(super) async fn within<F: Future>(&self, work: F) -> io::Result<F::Output> {
        let handle = self.handle()?;
        let mut work = pin!(work);
        let work = poll_fn(|waker| {
            let _entered = handle.enter();
            work.as_mut().poll(waker)
        });
        Ok(work.await)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Without waiting: what is lost to a file system does not come back.
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_that_failed_is_tried_again() {
        let threads = Threads::default();
        let fail = || Err(io::Error::other("no descriptor is left"));
        assert_eq!(threads.started(fail).unwrap_err().to_string(), "no descriptor is left");
        assert!(threads.handle().is_ok());
        // And what was started once stays.
        assert!(threads.started(fail).is_ok());
    }
}
