//! Watches a file, and the files that it names, and runs an action whenever one has changed and settled. The checks run
//! on a blocking thread, because the disk may be slow. A failed action is retried, and its error is logged and reported
//! as unhealthy until it succeeds.

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinError;

use larder_core::source::{FolderWatcher, SETTLE_TIME};
use larder_runtime::drain::Drain;
use larder_runtime::file_fingerprint::FileFingerprint;
use larder_runtime::health::{Health, Impact};

use larder_config::SecretFiles;

/// The delay before the first retry. It doubles with each retry, up to `MAX_RETRY_DELAY`.
const FIRST_RETRY_DELAY: Duration = Duration::from_secs(1);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);
/// The delay between an event and the check. Without it, a burst of file system events would cause many checks.
const EVENT_DELAY: Duration = Duration::from_millis(20);

/// A file to watch.
pub(super) struct WatchedFile {
    /// The part of the file that `action` reloads, such as `credentials`. It identifies the watcher in logs.
    pub(super) section: &'static str,
    pub(super) path: PathBuf,
    /// The fingerprint of the version of the file that was applied last.
    pub(super) applied: Option<FileFingerprint>,
    /// Returns the files that the current version names, with their fingerprints.
    pub(super) named_files: Box<dyn Fn() -> SecretFiles + Send>,
    /// The interval of checks without a file system event.
    pub(super) scan_interval: Duration,
    pub(super) health: Health,
    pub(super) wake: Arc<Notify>,
}

/// A request for a reload, which is answered with its result.
pub(super) type ReloadRequest = oneshot::Sender<Result<(), String>>;

/// Why a check is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// The interval is over.
    Interval,
    /// A file in the folder may have changed, or the operator sent SIGHUP.
    Wake,
    /// Somebody waits for the result of a reload.
    Request,
}

/// The result of a check.
struct CheckOutcome {
    next_check: Duration,
    /// The result of a reload; none if there was no reload, or if the file is still changing.
    result: Option<Result<(), String>>,
}

impl CheckOutcome {
    fn without_reload(next_check: Duration) -> Self {
        Self {
            next_check,
            result: None,
        }
    }
}

/// The fingerprint of the file, and the fingerprints of the files that it names.
type Fingerprints = (Option<FileFingerprint>, SecretFiles);

struct FileWatcher {
    file: WatchedFile,
    /// Created by the first check.
    watch: Option<FolderWatcher>,
    /// The latest fingerprints, and when they were first seen.
    latest: (Fingerprints, Instant),
    failure: Option<String>,
    retry_delay: Duration,
    next_try: Instant,
}

impl WatchedFile {
    /// Runs `action` whenever the file has changed, and for each request, until the server stops.
    pub(super) async fn run(
        self,
        drain: Drain,
        mut requests: mpsc::UnboundedReceiver<ReloadRequest>,
        action: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) {
        let wake = self.wake.clone();
        let action = Arc::new(action);
        let mut watcher = FileWatcher::new(self);
        let mut cause = Cause::Wake;
        let mut waiting: Vec<ReloadRequest> = Vec::new();
        loop {
            let action = action.clone();
            let check = drain.spawn_blocking(move || {
                let checked = watcher.check(cause, &*action);
                (watcher, checked)
            });
            let checked = tokio::select! {
                () = drain.stopping() => return,
                checked = check => checked,
            };
            let Some((returned, outcome)) = check_result(checked) else {
                return;
            };
            watcher = returned;
            if let Some(result) = outcome.result {
                answer(&mut waiting, &result);
            }
            let next_cause = tokio::select! {
                () = drain.stopping() => return,
                () = tokio::time::sleep(outcome.next_check) => Cause::Interval,
                Some(request) = requests.recv() => {
                    waiting.push(request);
                    Cause::Request
                }
                () = wake.notified() => {
                    tokio::time::sleep(EVENT_DELAY).await;
                    Cause::Wake
                }
            };
            cause = if waiting.is_empty() {
                next_cause
            } else {
                Cause::Request
            };
        }
    }
}

/// Returns the result of a check. `None` if the runtime is shutting down.
fn check_result<T>(check: Result<T, JoinError>) -> Option<T> {
    match check.map_err(JoinError::try_into_panic) {
        Ok(result) => Some(result),
        // The watcher was moved into the check that panicked, so this task panics too, and is started again.
        Err(Ok(panic)) => resume_unwind(panic),
        Err(Err(_)) => None,
    }
}

fn answer(requests: &mut Vec<ReloadRequest>, result: &Result<(), String>) {
    for request in requests.drain(..) {
        // A request whose client is gone needs no answer.
        _ = request.send(result.clone());
    }
}

impl FileWatcher {
    fn new(file: WatchedFile) -> Self {
        let now = Instant::now();
        Self {
            latest: ((file.applied, (file.named_files)()), now),
            watch: None,
            failure: None,
            retry_delay: FIRST_RETRY_DELAY,
            next_try: now,
            file,
        }
    }

    /// Starts or renews the watch of the folder.
    fn arm_watch(&mut self) {
        if let Some(watch) = &mut self.watch {
            return watch.rewatch();
        }
        let folder = folder_of(&self.file.path);
        self.watch = Some(FolderWatcher::new([folder], self.file.wake.clone()));
    }

    /// Checks the file and returns the delay until the next check. A file that is still being written may already be
    /// valid, so the action waits until the file has not changed for `SETTLE_TIME`.
    fn check(&mut self, cause: Cause, action: &dyn Fn() -> Result<(), String>) -> CheckOutcome {
        // The watch is started before the check, so that a change in between is not missed.
        self.arm_watch();
        let applied = (self.file.applied, (self.file.named_files)());
        let latest = latest(&self.file.path, &applied.1);
        let fingerprint = latest.0;
        let now = Instant::now();
        if latest == applied && cause != Cause::Request {
            self.succeed();
            return CheckOutcome::without_reload(self.file.scan_interval);
        }
        self.set_latest(latest, now);
        if let Some(delay) = self.delay(cause, now) {
            return CheckOutcome::without_reload(delay);
        }
        let result = self.apply(fingerprint, action);
        CheckOutcome {
            next_check: self.file.scan_interval,
            result: Some(result),
        }
    }

    fn set_latest(&mut self, latest: Fingerprints, now: Instant) {
        if latest != self.latest.0 {
            self.latest = (latest, now);
            self.next_try = now;
            self.retry_delay = FIRST_RETRY_DELAY;
        }
    }

    /// Returns how long the reload has to wait. `None` if it need not wait.
    fn delay(&self, cause: Cause, now: Instant) -> Option<Duration> {
        let unchanged_for = self.latest.1.elapsed();
        if unchanged_for < SETTLE_TIME {
            return Some(SETTLE_TIME - unchanged_for);
        }
        let is_too_early = cause == Cause::Interval && self.next_try > now;
        is_too_early.then_some(self.file.scan_interval)
    }

    /// Runs the action for the file with this fingerprint.
    fn apply(
        &mut self,
        fingerprint: Option<FileFingerprint>,
        action: &dyn Fn() -> Result<(), String>,
    ) -> Result<(), String> {
        let result = match fingerprint {
            Some(_) => action(),
            // No file is needed, because the defaults are in effect.
            None if self.file.applied.is_none() => return Ok(()),
            None => Err(format!(
                "{} does not exist; the previous version stays in effect",
                self.path()
            )),
        };
        match &result {
            Ok(()) => {
                tracing::info!(section = self.file.section, file = %self.path(), "reloaded");
                self.file.applied = fingerprint;
                self.succeed();
            }
            Err(failure) => self.fail(failure.clone()),
        }
        result
    }

    fn path(&self) -> String {
        self.file.path.display().to_string()
    }

    fn succeed(&mut self) {
        if self.failure.take().is_some() {
            self.file.health.resolve(self.file.section);
        }
    }

    /// Schedules a retry, and reports the error unless it is the same as before.
    fn fail(&mut self, failure: String) {
        self.next_try = Instant::now() + self.retry_delay;
        self.retry_delay = (self.retry_delay * 2).min(MAX_RETRY_DELAY);
        if self.failure.as_ref() != Some(&failure) {
            tracing::warn!(section = self.file.section, error = %failure, "reload failed");
            let message = format!("reloading the {} failed: {failure}", self.file.section);
            self.file
                .health
                .report(self.file.section, message, Impact::OperatorOnly);
            self.failure = Some(failure);
        }
    }
}

fn folder_of(file: &Path) -> PathBuf {
    // The parent of a bare file name is empty and means the working directory.
    let folder = file.parent().filter(|path| !path.as_os_str().is_empty());
    folder.unwrap_or(Path::new(".")).to_owned()
}

/// Returns the current fingerprints of a file and of the files that it names.
fn latest(file: &Path, named: &SecretFiles) -> Fingerprints {
    let current = |path: &PathBuf| (path.clone(), FileFingerprint::of_file(path).ok().flatten());
    (
        FileFingerprint::of(file).ok(),
        named.keys().map(current).collect(),
    )
}
