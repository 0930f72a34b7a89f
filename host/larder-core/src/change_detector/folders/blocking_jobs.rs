//! Blocking jobs on folders, which may never end if a mount does not respond. Each folder has at most one
//! job, so that it holds at most one thread and does not delay other folders.

use std::collections::BTreeMap;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;

use larder_runtime::drain::Drain;

/// A job that runs for longer is logged.
const SLOW_JOB: Duration = Duration::from_secs(20);

pub(super) struct BlockingJobs<T> {
    drain: Drain,
    running_jobs: BTreeMap<PathBuf, RunningJob>,
    futures: FuturesUnordered<BoxFuture<'static, (PathBuf, Option<T>)>>,
}

/// A job that is running.
struct RunningJob {
    since: Instant,
    /// Whether the job was requested again while it was running.
    requested_again: bool,
    warned: bool,
}

impl<T: Send + 'static> BlockingJobs<T> {
    pub(super) fn new(drain: Drain) -> Self {
        Self {
            drain,
            running_jobs: BTreeMap::new(),
            futures: FuturesUnordered::new(),
        }
    }

    /// Runs a job for a folder on a blocking thread. If a job for the folder is already running, records the request
    /// instead.
    pub(super) fn start(&mut self, folder: &Path, work: impl FnOnce() -> T + Send + 'static) {
        if let Some(job) = self.running_jobs.get_mut(folder) {
            job.requested_again = true;
            if !job.warned && job.since.elapsed() > SLOW_JOB {
                job.warned = true;
                tracing::warn!(
                    folder = %folder.display(),
                    "a granted folder does not respond; changes in it are not detected"
                );
            }
            return;
        }
        self.running_jobs.insert(
            folder.to_owned(),
            RunningJob {
                since: Instant::now(),
                requested_again: false,
                warned: false,
            },
        );
        let folder = folder.to_owned();
        let work = self.drain.spawn_blocking(work);
        self.futures
            .push(Box::pin(async move { (folder, work.await.ok()) }));
    }

    /// Waits for the next job to end. Returns its folder, its result (`None` after a panic) and whether it was
    /// requested again in the meantime. Cancel safe.
    pub(super) async fn next_finished(&mut self) -> (PathBuf, Option<T>, bool) {
        match self.futures.next().await {
            Some((folder, result)) => {
                let requested_again = self
                    .running_jobs
                    .remove(&folder)
                    .is_some_and(|job| job.requested_again);
                (folder, result, requested_again)
            }
            None => pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stuck_job_does_not_block_other_folders() {
        let mut jobs = BlockingJobs::new(Drain::new());
        let (release, blocked) = std::sync::mpsc::channel::<()>();
        let stuck = Path::new("stuck");
        let healthy = Path::new("healthy");
        jobs.start(stuck, move || blocked.recv().is_ok());
        for _ in 0..2 {
            jobs.start(healthy, || true);
            assert_eq!(
                jobs.next_finished().await,
                (healthy.into(), Some(true), false)
            );
            jobs.start(stuck, || panic!("a second job for the same folder"));
        }
        release.send(()).unwrap();
        assert_eq!(jobs.next_finished().await, (stuck.into(), Some(true), true));
        jobs.start(stuck, || false);
        assert_eq!(
            jobs.next_finished().await,
            (stuck.into(), Some(false), false)
        );
    }
}
