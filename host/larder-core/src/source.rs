//! Sources of components. A source reports which artifacts it has now. The reconciler compares them with what is
//! served, and loads what differs. File events and other triggers are only hints to scan sooner.

mod artifact;
mod blob;
mod folder;
mod folder_watcher;
#[cfg(any(test, feature = "test-util"))]
mod memory;
mod renamed_files;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

pub use self::artifact::{Artifact, PendingArtifact, Signatures, SignedSubject};
pub use self::blob::{Blob, BlobRevision, Content, Detection, FetchOutcome};
pub use self::folder::{Folder, SETTLE_TIME};
pub use self::folder_watcher::FolderWatcher;
#[cfg(any(test, feature = "test-util"))]
pub use self::memory::{MemoryContent, MemorySource};
use self::renamed_files::RenamedFiles;

/// A source of artifacts: a folder, or a registry.
pub trait Source: Send + Sync {
    /// Returns the location of the source, for people: the path of a folder, or the address of a registry.
    fn location(&self) -> String;

    /// Returns the artifacts that the source has now. After an error the artifacts are unknown, so everything that is
    /// served from this source stays as it is. If the source is missing, its artifacts stay for a limited time.
    ///
    /// Blocks the calling thread. Only one scan runs at a time. A source that needs long to find changes searches for
    /// them in a task of its own, and this method returns what the task has found.
    fn scan(&mut self) -> io::Result<Scan>;

    /// Registers what triggers a scan. The reconciler calls this once, before the first scan of its loop, and then also
    /// scans periodically, so that a lost event only delays a change.
    fn register_triggers(&mut self, triggers: &mut ScanTriggers);

    /// Tells the source that it was missing for so long that its artifacts were withdrawn. What exists at its location
    /// now is the source from now on, also if it is empty.
    fn accept_replacement(&mut self) {}

    /// Tells the source that the operator accepted a pending artifact. The artifact is served from now on, also if
    /// another artifact becomes pending after it.
    fn accept(&mut self, artifact: &Artifact) {
        _ = artifact;
    }
}

/// The result of a scan.
#[derive(Debug, Default)]
pub struct Scan {
    /// The artifacts to serve. While a newer revision of an artifact is pending or cannot be read, this list has the
    /// previous revision.
    pub artifacts: Vec<Artifact>,
    /// New artifacts that must not be loaded yet.
    pub pending: Vec<PendingArtifact>,
    /// Names that belong to this source, also while the source has no artifact of that name.
    pub reserved: BTreeSet<String>,
    /// The artifacts that cannot be read: the origin of each, with the error.
    pub unreadable: BTreeMap<String, io::Error>,
    /// When to scan again without a trigger, because a pending artifact will be complete by then.
    pub rescan_after: Option<Duration>,
    /// Why the whole source is missing, although an earlier scan found it. All other fields are empty then.
    pub missing: Option<String>,
}

/// What triggers a scan before the next periodic one.
#[derive(Debug)]
pub struct ScanTriggers {
    wake: Arc<Notify>,
    folders: Vec<PathBuf>,
    renamed: RenamedFiles,
}

impl ScanTriggers {
    /// Triggers a scan when `wake` is notified.
    pub fn new(wake: Arc<Notify>) -> Self {
        Self {
            wake,
            folders: Vec::new(),
            renamed: RenamedFiles::default(),
        }
    }

    /// Returns the notification that triggers a scan.
    pub fn wake(&self) -> Arc<Notify> {
        self.wake.clone()
    }

    /// Triggers a scan after each change of a file in this folder, which need not exist yet. Returns the files that
    /// are renamed into the watched folders.
    pub(crate) fn watch_folder(&mut self, folder: PathBuf) -> RenamedFiles {
        self.folders.push(folder);
        self.renamed.clone()
    }

    /// Starts to watch the folders.
    pub fn start(self) -> FolderWatcher {
        FolderWatcher::recording(self.folders, self.wake, self.renamed)
    }
}
