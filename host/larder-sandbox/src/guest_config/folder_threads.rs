//! Threads for the file system calls of guests that were granted folders. A pipe without a writer, or a mount whose
//! server is gone, can block a thread indefinitely, and such a thread cannot be interrupted. So each provider with
//! folders has a few threads of its own, and a folder that blocks them affects only this provider. While a provider has
//! calls or threads, its threads count in the share of its team, so that a team with many providers leaves threads for
//! other teams.

use std::cell::Cell;
use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;

use larder_model::name::{ProviderName, TeamName};
use larder_runtime::shares::{Resource, SharePermit, TeamShares};

/// Maximum number of file system calls of one provider at the same time: the default of `limits.concurrency`.
const MAX_THREADS: usize = 16;
/// How long a thread waits for more work. Until the thread ends, the threads of its provider count in the share of the
/// team.
const KEEP_ALIVE: Duration = Duration::from_secs(1);

thread_local! {
    /// What a thread takes of the share of its team. The thread takes it until it ends, also if no call waits for the
    /// thread any more.
    static COUNTED: Cell<Option<Arc<SharePermit>>> = const { Cell::new(None) };
}

/// The threads of one provider. All revisions of the provider share the threads, so that a new revision does not get
/// new threads that can be blocked.
#[derive(Debug)]
pub(crate) struct FolderThreads {
    runtime: OnceLock<Runtime>,
    /// Limits the number of guests whose folders are being opened. Guests that wait for a blocked thread count too.
    opening: Arc<Semaphore>,
    reservation: Arc<Reservation>,
}

/// The part of a team's share that the threads of one provider take together.
#[derive(Debug)]
struct Reservation {
    shares: TeamShares,
    /// The part that was taken. It is held as long as there are calls or threads.
    taken: Mutex<Weak<SharePermit>>,
    /// Locked by the call that reserves the threads, so that concurrent calls do not reserve them twice.
    taking: tokio::sync::Mutex<()>,
}

/// The threads of all providers.
#[derive(Debug, Default)]
pub(crate) struct FolderThreadsByProvider(
    Mutex<HashMap<(TeamName, ProviderName), Arc<FolderThreads>>>,
);

impl FolderThreadsByProvider {
    /// Returns the threads of a provider. The threads are started at its first call.
    pub(crate) fn of(
        &self,
        team: &TeamName,
        provider: &ProviderName,
        shares: &TeamShares,
    ) -> Arc<FolderThreads> {
        let mut by_provider = self.0.lock();
        let key = (team.clone(), provider.clone());
        if !by_provider.contains_key(&key) {
            by_provider.retain(|_, threads| Arc::strong_count(threads) > 1);
        }
        by_provider
            .entry(key)
            .or_insert_with(|| Arc::new(FolderThreads::new(shares.clone())))
            .clone()
    }
}

impl Reservation {
    fn current(&self) -> Option<Arc<SharePermit>> {
        self.lock().upgrade()
    }

    /// Takes the part for all threads of the provider, unless the provider already has it.
    async fn take(&self) -> Option<Arc<SharePermit>> {
        if let Some(taken) = self.current() {
            return Some(taken);
        }
        let _taking = self.taking.lock().await;
        if let Some(taken) = self.current() {
            return Some(taken);
        }
        let taken = Arc::new(
            self.shares
                .take(Resource::FolderThreads, MAX_THREADS as u64)
                .await?,
        );
        *self.lock() = Arc::downgrade(&taken);
        Some(taken)
    }

    /// Returns the part that a new thread holds. If the call that started the thread has ended in the meantime, only
    /// this thread is counted.
    fn of_thread(&self) -> Arc<SharePermit> {
        self.current()
            .unwrap_or_else(|| Arc::new(self.shares.count(Resource::FolderThreads, 1)))
    }

    fn lock(&self) -> MutexGuard<'_, Weak<SharePermit>> {
        self.taken.lock()
    }
}

impl FolderThreads {
    fn new(shares: TeamShares) -> Self {
        Self {
            runtime: OnceLock::new(),
            opening: Arc::new(Semaphore::new(MAX_THREADS)),
            reservation: Arc::new(Reservation {
                shares,
                taken: Mutex::default(),
                taking: Default::default(),
            }),
        }
    }

    /// Takes the threads from the share of the team for a call. Waits while the team uses its whole share.
    pub(crate) async fn reserve(&self) -> Option<Arc<SharePermit>> {
        self.reservation.take().await
    }

    fn handle(&self) -> io::Result<&Handle> {
        self.get_or_start(|| {
            let reservation = self.reservation.clone();
            let mut builder = Builder::new_multi_thread();
            builder
                .worker_threads(1)
                .max_blocking_threads(MAX_THREADS)
                .thread_name("larder-folder");
            builder.thread_keep_alive(KEEP_ALIVE);
            builder.on_thread_start(move || COUNTED.set(Some(reservation.of_thread())));
            // Only the worker parks. The worker does not block, and does not end.
            builder.on_thread_park(|| COUNTED.set(None));
            builder.enable_all().build()
        })
    }

    /// Starts the runtime if it is not running. If this fails, the next call tries again.
    fn get_or_start(&self, start: impl FnOnce() -> io::Result<Runtime>) -> io::Result<&Handle> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime.handle());
        }
        if let Err(spare) = self.runtime.set(start()?) {
            // Another call has started the runtime in the meantime. A runtime must not be dropped inside of another
            // runtime.
            spare.shutdown_background();
        }
        self.runtime
            .get()
            .map(Runtime::handle)
            .ok_or_else(|| io::Error::other("no threads were started"))
    }

    /// Runs `open`, which opens the granted folders of a guest, on one of the threads. Waits while all threads are
    /// blocked.
    pub(crate) async fn open<T: Send + 'static>(
        &self,
        open: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        let handle = self.handle()?;
        let permit = self
            .opening
            .clone()
            .acquire_owned()
            .await
            .map_err(io::Error::other)?;
        let opened = handle.spawn_blocking(move || {
            let _permit = permit;
            open()
        });
        opened.await.map_err(io::Error::other)
    }

    /// Polls a future so that blocking work that it spawns, such as the engine's file system calls, runs on
    /// these threads.
    pub(crate) async fn run_with<F: Future>(&self, work: F) -> io::Result<F::Output> {
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
            // This does not wait for threads that are blocked in a file system.
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use larder_runtime::ledger::SeveralTeams;
    use larder_runtime::shares::{ShareLimits, Shares};

    fn shares_of<const N: usize>(teams: [&str; N]) -> [TeamShares; N] {
        let several_teams = SeveralTeams::default();
        several_teams.set_team_count(N);
        let shares = Shares::new(ShareLimits::default(), &several_teams);
        teams.map(|team| shares.team(&TeamName::parse(team).unwrap()))
    }

    #[test]
    fn retries_a_failed_start() {
        let [team] = shares_of(["a"]);
        let threads = FolderThreads::new(team);
        let fail = || Err(io::Error::other("no descriptor is left"));
        assert_eq!(
            threads.get_or_start(fail).unwrap_err().to_string(),
            "no descriptor is left"
        );
        assert!(threads.handle().is_ok());
        // A started runtime is kept.
        assert!(threads.get_or_start(fail).is_ok());
    }

    #[tokio::test]
    async fn the_providers_of_a_team_leave_threads_to_other_teams() {
        let [busy, quiet] = shares_of(["busy", "quiet"]);
        let all: Vec<_> = (0..300).map(|_| FolderThreads::new(busy.clone())).collect();
        let mut held = Vec::new();
        for threads in &all {
            // Two calls of a provider share one part.
            let calls = async { (threads.reserve().await, threads.reserve().await) };
            held.extend(tokio::time::timeout(Duration::from_millis(1), calls).await);
        }
        let used = busy.used(Resource::FolderThreads);
        assert_eq!((used, held.len()), (2_048, 128), "half of all");
        let found =
            tokio::time::timeout(Duration::from_secs(60), FolderThreads::new(quiet).reserve())
                .await;
        assert!(found.expect("it waits for the other team").is_some());
        drop(held);
        assert_eq!(busy.used(Resource::FolderThreads), 0);
    }

    #[tokio::test]
    async fn a_blocked_thread_counts_until_it_ends() {
        let [team] = shares_of(["a"]);
        let used = || team.used(Resource::FolderThreads);
        let threads = FolderThreads::new(team.clone());
        let (release, held) = mpsc::channel::<()>();
        let call = async {
            let _reserved = threads.reserve().await;
            // Blocks until the sender is dropped.
            threads.open(move || _ = held.recv()).await
        };
        assert!(
            tokio::time::timeout(Duration::from_millis(100), call)
                .await
                .is_err()
        );
        assert_eq!(used(), 16, "the call ended, and its thread is blocked");
        // Blocked threads still count after their provider was removed.
        drop(threads);
        assert_eq!(used(), 16);
        drop(release);
        let deadline = std::time::Instant::now() + Duration::from_secs(60);
        while used() > 0 {
            assert!(
                std::time::Instant::now() < deadline,
                "{} threads are counted",
                used()
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
