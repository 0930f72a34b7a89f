//! Scans the sources on a blocking thread, one scan at a time. A scan takes as long as the file system needs, and an
//! unreachable mount never answers, so the reconcile loop must not wait for it.

use std::future::pending;
use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::desired_state::{DesiredComponents, DesiredState};
use crate::source::{FolderWatcher, ScanTriggers};
use larder_runtime::drain::Drain;

/// Runs scans in the background.
pub(super) struct SourceScanner {
    /// `None` while a scan is running.
    worker: Option<ScanWorker>,
    running_scan: Option<JoinHandle<(ScanWorker, DesiredComponents)>>,
    /// Set until the next scan, which registers the triggers. The triggers notify it.
    wake: Option<Arc<Notify>>,
    drain: Drain,
}

struct ScanWorker {
    desired_state: DesiredState,
    watcher: Option<FolderWatcher>,
}

impl SourceScanner {
    pub(super) fn new(desired_state: DesiredState, drain: Drain) -> Self {
        let worker = ScanWorker {
            desired_state,
            watcher: None,
        };
        Self {
            worker: Some(worker),
            running_scan: None,
            wake: None,
            drain,
        }
    }

    /// Lets the next scan register what triggers a scan. The triggers notify `wake`.
    pub(super) fn enable_triggers(&mut self, wake: &Arc<Notify>) {
        self.wake = Some(wake.clone());
    }

    pub(super) fn is_scanning(&self) -> bool {
        self.running_scan.is_some()
    }

    /// Starts a scan, unless one is running.
    pub(super) fn start_scan(&mut self) {
        if let Some(mut worker) = self.worker.take() {
            let wake = self.wake.take();
            self.running_scan = Some(self.drain.spawn_blocking(move || {
                let desired = worker.scan(wake);
                (worker, desired)
            }));
        }
    }

    /// Waits for the running scan. Cancel safe.
    pub(super) async fn finished(&mut self) -> DesiredComponents {
        let Some(running) = &mut self.running_scan else {
            return pending().await;
        };
        let ended = running.await;
        self.running_scan = None;
        match ended.map_err(tokio::task::JoinError::try_into_panic) {
            Ok((worker, desired)) => {
                self.worker = Some(worker);
                desired
            }
            // The panic lost the worker, so no further scan is possible: the reconcile loop panics too.
            Err(Ok(panic)) => resume_unwind(panic),
            // A scan is cancelled only when the runtime shuts down.
            Err(Err(_)) => pending().await,
        }
    }
}

impl ScanWorker {
    /// Registers the triggers, or renews the watch of folders, and then scans. A change in between is found by the
    /// scan, or reported as an event.
    fn scan(&mut self, wake: Option<Arc<Notify>>) -> DesiredComponents {
        if let Some(wake) = wake {
            let mut triggers = ScanTriggers::new(wake);
            self.desired_state.register_triggers(&mut triggers);
            self.watcher = Some(triggers.start());
        } else if let Some(watcher) = &mut self.watcher {
            watcher.rewatch();
        }
        self.desired_state.scan()
    }
}
