//! A watch over some folders: by the system where it can, by going through them where it cannot, and not
//! at all where that would be without end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use notify::{PollWatcher, RecommendedWatcher, RecursiveMode, Watcher};

use super::bell::Bell;

/// Folders within one folder that the system is asked to watch; each costs it memory, and users have few.
const FOLDERS: usize = 8_192;
/// Names within one folder that are gone through again and again.
const NAMES: usize = 100_000;

/// The watch. Dropping it ends it.
#[derive(Default)]
pub(super) struct Watching {
    /// What is watched, by the path under which it was granted.
    pub(super) places: BTreeMap<PathBuf, Place>,
    by_system: Option<RecommendedWatcher>,
    by_poll: Option<PollWatcher>,
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
    /// Begins to watch. Holds its thread for as long as it takes to go through the folders.
    pub(super) fn begin(places: BTreeMap<PathBuf, Place>, poll: Duration, bell: &Arc<Bell>) -> Self {
        let mut watching = Self::default();
        for path in outermost(&places) {
            match size(path, FOLDERS, NAMES) {
                Size::Watchable if watching.ask_system(path, bell) => {}
                Size::Watchable | Size::Pollable => watching.go_through(path, poll, bell),
                Size::Endless => {
                    tracing::warn!(folder = %path.display(), "a granted folder holds too much to be watched");
                }
            }
        }
        Self { places, ..watching }
    }

    /// False where the system does not do it, or has no more to give.
    fn ask_system(&mut self, path: &Path, bell: &Arc<Bell>) -> bool {
        let config = notify::Config::default().with_follow_symlinks(false);
        if self.by_system.is_none() {
            let bell = bell.clone();
            self.by_system = RecommendedWatcher::new(move |event| bell.heard(event), config).ok();
        }
        let Some(watcher) = &mut self.by_system else {
            return false;
        };
        let Err(error) = watcher.watch(path, RecursiveMode::Recursive) else {
            return true;
        };
        tracing::warn!(folder = %path.display(), %error, "the system does not watch a granted folder; it is gone through instead");
        // A part of it may be watched already.
        let _ = watcher.unwatch(path);
        false
    }

    fn go_through(&mut self, path: &Path, poll: Duration, bell: &Arc<Bell>) {
        let config = notify::Config::default().with_follow_symlinks(false).with_poll_interval(poll);
        if self.by_poll.is_none() {
            let bell = bell.clone();
            self.by_poll = PollWatcher::new(move |event| bell.heard(event), config).ok();
        }
        let watched = self.by_poll.as_mut().map(|watcher| watcher.watch(path, RecursiveMode::Recursive));
        if !matches!(watched, Some(Ok(()))) {
            tracing::warn!(folder = %path.display(), "a granted folder cannot be watched");
        }
    }
}

/// Folders that are in none of the others: a watch over those has them all.
fn outermost(places: &BTreeMap<PathBuf, Place>) -> Vec<&Path> {
    let mut paths: Vec<&Path> = places.values().map(|place| place.path.as_path()).collect();
    // A folder comes before what is in it.
    paths.sort();
    paths.dedup_by(|inner, outer| inner.starts_with(outer));
    paths
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
    fn what_is_inside_another_is_watched_with_it() {
        let place = |path: &str| (path.into(), Place { path: path.into(), identity: None, born: None });
        let places = BTreeMap::from(["/a/b", "/a", "/ab", "/a/c/d", "/c/d"].map(place));
        assert_eq!(outermost(&places), ["/a", "/ab", "/c/d"].map(Path::new));
    }

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
        let mut watching = Watching::default();
        watching.go_through(folder.path(), Duration::from_millis(10), &bell);
        std::fs::write(folder.path().join("new"), "").unwrap();
        let until = std::time::Instant::now() + Duration::from_secs(30);
        while !bell.take().touch(folder.path()) {
            assert!(std::time::Instant::now() < until, "a new file was not seen");
            std::thread::yield_now();
        }
    }
}
