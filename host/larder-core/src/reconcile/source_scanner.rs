//! Scans the folder on a blocking thread, one scan at a time. A scan takes as long as the file system needs,
//! and an unreachable mount never answers, so the reconcile loop must not wait for it.

use std::future::pending;
use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::desired_state::{DesiredComponents, DesiredState};
use crate::source::FolderWatcher;
use larder_runtime::drain::Drain;

/// Runs scans in the background.
pub(super) struct FolderScanner {
    /// `None` while a scan is running.
    worker: Option<ScanWorker>,
    running_scan: Option<JoinHandle<(ScanWorker, ScanOutcome)>>,
    drain: Drain,
}

struct ScanWorker {
    desired_state: DesiredState,
    /// Set until the first scan that starts the file watcher. Events notify it.
    wake: Option<Arc<Notify>>,
    watch: Option<FolderWatcher>,
}

/// The result of a scan.
pub(super) struct ScanOutcome {
    /// `None` if the folder could not be read; then everything stays as it is.
    pub(super) desired: Option<DesiredComponents>,
    pub(super) problems: Vec<String>,
    /// Why the folder cannot be read, while it cannot.
    pub(super) folder_error: Option<String>,
    /// The problem with single files, while there is one.
    pub(super) file_errors: Option<String>,
}

impl FolderScanner {
    pub(super) fn new(desired_state: DesiredState, drain: Drain) -> Self {
        Self {
            worker: Some(ScanWorker { desired_state, wake: None, watch: None }),
            running_scan: None,
            drain,
        }
    }

    /// Starts the file watcher with the next scan. File events notify `wake`.
    pub(super) fn enable_watch(&mut self, wake: &Arc<Notify>) {
        self.worker.iter_mut().for_each(|worker| worker.wake = Some(wake.clone()));
    }

    pub(super) fn is_scanning(&self) -> bool {
        self.running_scan.is_some()
    }

    /// Starts a scan, unless one is running.
    pub(super) fn start_scan(&mut self) {
        if let Some(mut worker) = self.worker.take() {
            self.running_scan = Some(self.drain.spawn_blocking(move || {
                let outcome = worker.scan();
                (worker, outcome)
            }));
        }
    }

    /// Waits for the running scan. Cancel safe.
    pub(super) async fn finished(&mut self) -> ScanOutcome {
        let Some(running) = &mut self.running_scan else { return pending().await };
        let ended = running.await;
        self.running_scan = None;
        match ended.map_err(tokio::task::JoinError::try_into_panic) {
            Ok((worker, outcome)) => {
                self.worker = Some(worker);
                outcome
            }
            // A panic lost the worker, so no further scan is possible: the reconcile loop ends with it.
            Err(Ok(panic)) => resume_unwind(panic),
            // A scan is cancelled only when the runtime shuts down.
            Err(Err(_)) => pending().await,
        }
    }
}

impl ScanWorker {
    /// Renews the watch before it scans. A change in between is found by the scan or reported as an event.
    fn scan(&mut self) -> ScanOutcome {
        match (self.wake.take(), &mut self.watch) {
            (Some(wake), _) => self.watch = Some(FolderWatcher::new(self.desired_state.folders(), wake)),
            (None, Some(watch)) => watch.rewatch(),
            (None, None) => {}
        }
        let mut problems = Vec::new();
        let desired = self.desired_state.scan(&mut problems);
        let folder_error = self.desired_state.folder_error().map(ToOwned::to_owned);
        let file_errors = self.desired_state.file_errors().map(ToOwned::to_owned);
        ScanOutcome { desired, problems, folder_error, file_errors }
    }
}
