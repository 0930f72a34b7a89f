//! A watch over a folder: by the system where it can, by going through them where it cannot, and not
//! at all where that would be without end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use notify::{PollWatcher, RecommendedWatcher, RecursiveMode, Watcher};

use super::bell::Bell;

/// Folders within one folder that the system is asked to watch; each costs it memory, and users have few.
const FOLDERS: usize = 8_192;
/// Names within one folder that are gone through again and again.
const NAMES: usize = 100_000;

/// The watch, with a thread of its own: where one of several folders does not answer, the system's watch over all of
/// them would stand still. Dropping it ends it.
pub(super) struct Watching {
    pub(super) place: Place,
    _watcher: Option<Box<dyn Watcher + Send>>,
}

/// A folder as it is now. Another one in its place differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    identity: Option<(u64, u64)>,
    /// A folder that is made again may get the inode of the one before.
    born: Option<SystemTime>,
}

/// How much there is in a folder.
#[derive(Debug, PartialEq, Eq)]
enum Size {
    Watchable,
    Pollable,
    Endless,
}

impl Place {
    /// None where there is no folder.
    pub(super) fn at(path: &Path) -> Option<Self> {
        let path = path.canonicalize().ok()?;
        let metadata = path.metadata().ok().filter(std::fs::Metadata::is_dir)?;
        Some(Self { identity: identity(&metadata), born: metadata.created().ok(), path })
    }
}

#[cfg(unix)]
fn identity(metadata: &std::fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_: &std::fs::Metadata) -> Option<(u64, u64)> {
    None
}

impl Watching {
    /// Begins to watch. Holds its thread for as long as it takes to go through the folder.
    pub(super) fn begin(place: Place, poll: Duration, bell: &Arc<Bell>) -> Self {
        let path = place.path.as_path();
        let watcher = match size(path, FOLDERS, NAMES) {
            Size::Watchable => by_system(path, bell).or_else(|| by_going_through(path, poll, bell)),
            Size::Pollable => by_going_through(path, poll, bell),
            Size::Endless => {
                tracing::warn!(folder = %path.display(), "a granted folder holds too much to be watched");
                None
            }
        };
        Self { place, _watcher: watcher }
    }
}

/// None where the system does not do it, or has no more to give.
fn by_system(path: &Path, bell: &Arc<Bell>) -> Option<Box<dyn Watcher + Send>> {
    let watcher = watcher::<RecommendedWatcher>(path, notify::Config::default(), bell);
    let warn = |error: &notify::Error| {
        tracing::warn!(folder = %path.display(), %error, "the system does not watch a granted folder; it is gone through instead");
    };
    watcher.inspect_err(warn).ok()
}

fn by_going_through(path: &Path, poll: Duration, bell: &Arc<Bell>) -> Option<Box<dyn Watcher + Send>> {
    let config = notify::Config::default().with_poll_interval(poll);
    let warn = |error: &notify::Error| {
        tracing::warn!(folder = %path.display(), %error, "a granted folder cannot be watched");
    };
    watcher::<PollWatcher>(path, config, bell).inspect_err(warn).ok()
}

fn watcher<W: Watcher + Send + 'static>(
    path: &Path,
    config: notify::Config,
    bell: &Arc<Bell>,
) -> notify::Result<Box<dyn Watcher + Send>> {
    let bell = bell.clone();
    let mut watcher = W::new(move |event| bell.heard(event), config.with_follow_symlinks(false))?;
    watcher.watch(path, RecursiveMode::Recursive)?;
    Ok(Box::new(watcher))
}

/// Goes through a folder no further than it takes to know.
fn size(path: &Path, most_folders: usize, most_names: usize) -> Size {
    let (mut folders, mut names) = (1, 0);
    let mut ahead = vec![path.to_owned()];
    while let Some(folder) = ahead.pop() {
        for item in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            names += 1;
            if names > most_names {
                return Size::Endless;
            }
            if item.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders += 1;
                ahead.push(item.path());
            }
        }
    }
    if folders > most_folders { Size::Pollable } else { Size::Watchable }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_measured_no_further_than_needed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a/b", "c"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        std::fs::write(folder.path().join("a/file"), "").unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("a/b/round")).unwrap();
        let check = |folders, names, expected| assert_eq!(size(folder.path(), folders, names), expected);
        check(4, 5, Size::Watchable);
        check(3, 5, Size::Pollable);
        check(4, 4, Size::Endless);
    }

    #[test]
    fn going_through_a_folder_finds_what_changed() {
        let folder = tempfile::tempdir().unwrap();
        let bell = Arc::new(Bell::default());
        let _watcher = by_going_through(folder.path(), Duration::from_millis(10), &bell).unwrap();
        std::fs::write(folder.path().join("new"), "").unwrap();
        let until = std::time::Instant::now() + Duration::from_secs(30);
        while !bell.take().touch(folder.path()) {
            assert!(std::time::Instant::now() < until, "a new file was not seen");
            std::thread::yield_now();
        }
    }
}
