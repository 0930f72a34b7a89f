//! Triggers a scan as soon as the file system reports that something may have changed. Correctness does not depend on
//! these events, because folders are also scanned periodically.

use std::path::PathBuf;
use std::sync::Arc;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

use super::renamed_files::RenamedFiles;

/// A watch over some folders.
#[derive(Debug)]
pub struct FolderWatcher {
    watcher: Option<RecommendedWatcher>,
    folders: Vec<PathBuf>,
}

impl FolderWatcher {
    /// Watches these folders, without their subfolders. A missing folder is watched once it exists.
    pub fn new(folders: impl IntoIterator<Item = PathBuf>, wake: Arc<Notify>) -> Self {
        Self::recording(folders, wake, RenamedFiles::default())
    }

    /// Like [`Self::new`]; also records which files are renamed into the folders.
    pub(super) fn recording(
        folders: impl IntoIterator<Item = PathBuf>,
        wake: Arc<Notify>,
        renamed: RenamedFiles,
    ) -> Self {
        let folders: Vec<PathBuf> = folders.into_iter().collect();
        let watched = folders.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            match &event {
                Ok(event) => renamed.record(event),
                Err(_) => renamed.clear(),
            }
            // An error or a lost event is also a reason to scan.
            if !event.is_ok_and(|event| is_irrelevant(&event, &watched)) {
                wake.notify_one();
            }
        });
        let watcher = watcher.map_err(|error| {
            tracing::warn!(%error, "file events are not available; changes are found by periodic scans only");
        });
        let mut watch = Self {
            watcher: watcher.ok(),
            folders,
        };
        watch.rewatch();
        watch
    }

    /// Renews the watch, so that it covers the folders that exist now. The scan that follows finds changes in between.
    /// A recreated folder may have the inode of the old folder, so it is unknown whether the old watch is still valid.
    pub fn rewatch(&mut self) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        for folder in &self.folders {
            let _ = watcher.unwatch(folder);
            if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive) {
                tracing::debug!(
                    folder = %folder.display(),
                    %error,
                    "cannot watch the folder; changes are found by periodic scans only"
                );
            }
        }
    }
}

/// Whether an event does not require a scan. Reading files also causes events; only writes count. Other files in the
/// folder, such as a log beside the configuration, do not count.
fn is_irrelevant(event: &Event, folders: &[PathBuf]) -> bool {
    let is_read = matches!(event.kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write));
    let is_relevant = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Kubernetes replaces all files of a volume at once through `..data`.
        has_extension(&name) || name.starts_with("..") || folders.contains(path) || path.is_dir()
    };
    is_read
        || (!event.need_rescan() && !event.paths.is_empty() && !event.paths.iter().any(is_relevant))
}

fn has_extension(name: &str) -> bool {
    [".wasm", ".toml", ".json"]
        .iter()
        .any(|extension| name.ends_with(extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn events_arrive_after_the_folder_was_replaced() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("plugins");
        let wake = Arc::new(Notify::new());
        let mut watch = FolderWatcher::new([folder.clone()], wake.clone());
        for name in ["first", "second"] {
            std::fs::create_dir(&folder).unwrap();
            watch.rewatch();
            // Discards the events of the previous folder.
            while tokio::time::timeout(std::time::Duration::from_millis(100), wake.notified())
                .await
                .is_ok()
            {}
            std::fs::write(folder.join(format!("{name}.wasm")), name).unwrap();
            let woken = tokio::time::timeout(std::time::Duration::from_secs(30), wake.notified());
            woken.await.expect("no event arrived");
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }
}
