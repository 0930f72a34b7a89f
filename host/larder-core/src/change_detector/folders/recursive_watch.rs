//! Watches a folder and everything below it: by file events where the system provides them, by polling
//! otherwise, and not at all if the folder is too large.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use notify::{PollWatcher, RecommendedWatcher, RecursiveMode, Watcher};

use super::change_set::ChangeSet;

/// Limit of subfolders for a watch by file events. Each watched folder uses kernel memory, and the number of watched
/// folders per user is limited.
const MAX_WATCHED_FOLDERS: usize = 8_192;
/// Limit of entries for a folder that is polled.
const MAX_POLLED_ENTRIES: usize = 100_000;

/// A watch of one folder. It has a thread of its own, because an unresponsive folder would block a watch of several
/// folders. Dropping it ends the watch.
pub(super) struct RecursiveWatch {
    pub(super) identity: FolderIdentity,
    watcher: Option<Box<dyn Watcher + Send>>,
}

/// Identifies a folder, so that a replacement at the same path is detected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FolderIdentity {
    pub(super) path: PathBuf,
    /// Device and inode.
    inode: (u64, u64),
    /// A recreated folder may get the inode of the old one.
    created: Option<SystemTime>,
}

/// How a folder can be watched, given its size.
#[derive(Debug, PartialEq, Eq)]
enum FolderSize {
    Watchable,
    Pollable,
    TooLarge,
}

impl FolderIdentity {
    /// Returns `None` if the folder does not exist.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let path = path.canonicalize().ok()?;
        let metadata = path.metadata().ok().filter(std::fs::Metadata::is_dir)?;
        Some(Self {
            inode: (metadata.dev(), metadata.ino()),
            created: metadata.created().ok(),
            path,
        })
    }
}

impl RecursiveWatch {
    /// Starts a watch. Blocks while it walks the folder.
    pub(super) fn start(
        identity: FolderIdentity,
        poll_interval: Duration,
        changes: &Arc<ChangeSet>,
    ) -> Self {
        let path = identity.path.as_path();
        let watcher = match size(path, MAX_WATCHED_FOLDERS, MAX_POLLED_ENTRIES) {
            FolderSize::Watchable => system_watcher(path, changes)
                .or_else(|| polling_watcher(path, poll_interval, changes)),
            FolderSize::Pollable => polling_watcher(path, poll_interval, changes),
            FolderSize::TooLarge => {
                tracing::warn!(
                    folder = %path.display(),
                    "a granted folder is too large to watch; changes in it are not detected"
                );
                None
            }
        };
        Self { identity, watcher }
    }

    /// Whether changes are detected.
    pub(super) fn is_active(&self) -> bool {
        self.watcher.is_some()
    }
}

/// Returns `None` if file events are not available or their limit is reached.
fn system_watcher(path: &Path, changes: &Arc<ChangeSet>) -> Option<Box<dyn Watcher + Send>> {
    let watcher = start_watcher::<RecommendedWatcher>(path, notify::Config::default(), changes);
    let warn = |error: &notify::Error| {
        tracing::warn!(
            folder = %path.display(),
            %error,
            "cannot watch a granted folder by file events; polling it instead"
        );
    };
    watcher.inspect_err(warn).ok()
}

fn polling_watcher(
    path: &Path,
    poll_interval: Duration,
    changes: &Arc<ChangeSet>,
) -> Option<Box<dyn Watcher + Send>> {
    let config = notify::Config::default().with_poll_interval(poll_interval);
    let warn = |error: &notify::Error| {
        tracing::warn!(
            folder = %path.display(),
            %error,
            "cannot poll a granted folder; changes in it are not detected"
        );
    };
    start_watcher::<PollWatcher>(path, config, changes)
        .inspect_err(warn)
        .ok()
}

fn start_watcher<W: Watcher + Send + 'static>(
    path: &Path,
    config: notify::Config,
    changes: &Arc<ChangeSet>,
) -> notify::Result<Box<dyn Watcher + Send>> {
    let changes = changes.clone();
    let mut watcher = W::new(
        move |event| changes.handle_event(event),
        config.with_follow_symlinks(false),
    )?;
    watcher.watch(path, RecursiveMode::Recursive)?;
    Ok(Box::new(watcher))
}

/// Walks a folder until the size is decided.
fn size(path: &Path, max_folders: usize, max_entries: usize) -> FolderSize {
    let mut folders = 1;
    let mut entries = 0;
    let mut pending = vec![path.to_owned()];
    while let Some(folder) = pending.pop() {
        for item in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            entries += 1;
            if entries > max_entries {
                return FolderSize::TooLarge;
            }
            if item.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders += 1;
                pending.push(item.path());
            }
        }
    }
    if folders > max_folders {
        FolderSize::Pollable
    } else {
        FolderSize::Watchable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measuring_stops_at_the_limits() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a/b", "c"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        std::fs::write(folder.path().join("a/file"), "").unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("a/b/link")).unwrap();
        let check = |folders, entries, expected| {
            assert_eq!(size(folder.path(), folders, entries), expected)
        };
        check(4, 5, FolderSize::Watchable);
        check(3, 5, FolderSize::Pollable);
        check(4, 4, FolderSize::TooLarge);
    }

    #[test]
    fn folders_beyond_the_longest_path_are_not_entered() {
        use rustix::fs::{Mode, OFlags, mkdirat, open, openat};

        // A provider with write access can create folders this deep, each relative to its parent.
        let folder = tempfile::tempdir().unwrap();
        let flags = OFlags::DIRECTORY | OFlags::RDONLY;
        let mut above = open(folder.path(), flags, Mode::empty()).unwrap();
        let name = "x".repeat(250);
        for _ in 0..40 {
            mkdirat(&above, name.as_str(), Mode::RWXU).unwrap();
            above = openat(&above, name.as_str(), flags, Mode::empty()).unwrap();
        }
        assert_eq!(
            size(folder.path(), 40, 40),
            FolderSize::Watchable,
            "less than 40 are counted"
        );
        let identity = FolderIdentity::of(folder.path()).unwrap();
        let changes = Arc::new(ChangeSet::default());
        let watch = RecursiveWatch::start(identity, Duration::from_secs(60), &changes);
        assert!(watch.is_active());
    }

    #[test]
    fn polling_finds_changes() {
        let folder = tempfile::tempdir().unwrap();
        let changes = Arc::new(ChangeSet::default());
        let _watcher = polling_watcher(folder.path(), Duration::from_millis(10), &changes).unwrap();
        std::fs::write(folder.path().join("new"), "").unwrap();
        let until = std::time::Instant::now() + Duration::from_secs(30);
        while !changes.take().affects(folder.path()) {
            assert!(
                std::time::Instant::now() < until,
                "the new file was not detected"
            );
            std::thread::yield_now();
        }
    }
}
