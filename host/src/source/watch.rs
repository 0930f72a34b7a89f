//! Wakes whoever looks, as soon as the file system says that something may have changed.
//! Nothing depends on it: who looks does so now and then in any case.

use std::path::PathBuf;
use std::sync::Arc;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

/// A watch over some folders.
#[derive(Debug)]
pub struct Watch {
    watcher: Option<RecommendedWatcher>,
    folders: Vec<PathBuf>,
}

impl Watch {
    /// Watches these folders, and not what is below them. Those that do not exist are watched when they do.
    pub fn new(folders: impl IntoIterator<Item = PathBuf>, wake: Arc<Notify>) -> Self {
        let folders: Vec<PathBuf> = folders.into_iter().collect();
        let own = folders.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // What went wrong, or got lost, is a reason to look as well.
            if !event.is_ok_and(|event| is_idle(&event, &own)) {
                wake.notify_one();
            }
        });
        let watcher = watcher.map_err(|error| {
            tracing::warn!(%error, "the system does not tell when files change; they are looked at now and then");
        });
        let mut watch = Self { watcher: watcher.ok(), folders };
        watch.arm();
        watch
    }

    /// Watches anew. Whatever happened to the folders since the last time, the watch is on what is there now;
    /// what is told in between is seen by the look that follows. (A folder that was made again may even have
    /// the old one's inode, so there is no telling whether the watch still holds.)
    pub fn arm(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        for folder in &self.folders {
            let _ = watcher.unwatch(folder);
            if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive) {
                tracing::debug!(folder = %folder.display(), %error, "cannot be watched; it is looked at now and then");
            }
        }
    }
}

/// Looking at a file makes events too; only those that follow a change count. And a log beside the configuration
/// is nothing to look at.
fn is_idle(event: &Event, folders: &[PathBuf]) -> bool {
    let looked =
        matches!(event.kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write));
    let concerns = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let ending = [".wasm", ".toml", ".json"].iter().any(|ending| name.ends_with(ending));
        // `..data` is how Kubernetes swaps everything at once.
        ending || name.starts_with("..") || folders.contains(path) || path.is_dir()
    };
    looked || (!event.need_rescan() && !event.paths.is_empty() && !event.paths.iter().any(concerns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_folder_wakes_also_after_it_was_replaced() {
        let root = tempfile::tempdir().unwrap();
        let (folder, wake) = (root.path().join("plugins"), Arc::new(Notify::new()));
        let mut watch = Watch::new([folder.clone()], wake.clone());
        for round in ["first", "second"] {
            std::fs::create_dir(&folder).unwrap();
            watch.arm();
            // What was told of the folder before is not what is waited for.
            while tokio::time::timeout(std::time::Duration::from_millis(100), wake.notified()).await.is_ok() {
            }
            std::fs::write(folder.join(format!("{round}.wasm")), round).unwrap();
            let woken = tokio::time::timeout(std::time::Duration::from_secs(30), wake.notified());
            woken.await.expect("nobody was woken");
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }
}
