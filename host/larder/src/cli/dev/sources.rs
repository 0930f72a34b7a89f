//! The source files of a project. The files are polled. This works on every file system, and for every way in which
//! editors write files (temporary files, renames, several writes).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::cli::error::CommandError;
use larder_config::Project;
use larder_model::name::Digest;

/// The minimum time between two scans. A file that is the same in both scans is saved completely.
const MIN_SCAN_INTERVAL: Duration = Duration::from_millis(40);
/// The time between two scans is at least this multiple of the duration of a scan.
const SCAN_PAUSE_FACTOR: u32 = 20;
/// If a file is found this long after its modification, it was moved to its path, or the clocks differ.
const MAX_TIME_SINCE_SAVE: Duration = Duration::from_secs(10);
/// Files that do not change for this time are idle.
const IDLE_TIME: Duration = Duration::from_secs(2);
/// The maximum number of files. A project with more files contains a folder that should be ignored.
const MAX_FILES: usize = 10_000;
/// Larger files are compared by modification time and size, other files by content.
const MAX_HASHED_SIZE: u64 = 4 << 20;
/// Folders that tools create.
const TOOL_FOLDERS: [&str; 5] = ["target", "node_modules", "__pycache__", "venv", "dist"];

/// Paths relative to the project, or absolute paths of files outside of it, and digests of the files.
pub(super) type Snapshot = BTreeMap<PathBuf, Digest>;

pub(super) struct Sources {
    root: PathBuf,
    component: PathBuf,
    ignore: Vec<String>,
    /// Files and folders outside of the root.
    outside: Vec<PathBuf>,
    /// Canonical paths of the folders that the provider writes to.
    written: Vec<PathBuf>,
    /// How long the last scan took.
    scan_time: Duration,
    digests: HashMap<PathBuf, (SystemTime, u64, Digest)>,
}

impl Sources {
    pub(super) fn new(project: &Project) -> Self {
        let sources = Self::of_folder(project.folder.clone(), project.ignore.clone());
        Self {
            component: project.component.clone(),
            outside: project.watch.clone(),
            ..sources
        }
    }

    /// The files in any folder, without the files and folders that `ignore` names.
    pub(super) fn of_folder(root: PathBuf, ignore: Vec<String>) -> Self {
        Self {
            root,
            component: PathBuf::new(),
            ignore,
            outside: Vec::new(),
            written: Vec::new(),
            scan_time: Duration::ZERO,
            digests: HashMap::new(),
        }
    }

    /// Sets the folders that the provider writes to. Files in these folders are not sources, unless a folder is the
    /// whole project. Returns whether the folders differ from the previous ones.
    pub(super) fn set_written(&mut self, folders: &[PathBuf]) -> bool {
        let real = folders
            .iter()
            .filter_map(|folder| folder.canonicalize().ok());
        let written: Vec<_> = real
            .filter(|folder| !self.root.starts_with(folder))
            .collect();
        let differs = written != self.written;
        self.written = written;
        differs
    }

    /// Scans the folder.
    pub(super) fn snapshot(&mut self) -> Result<Snapshot, CommandError> {
        let began = Instant::now();
        let snapshot = self.scan();
        self.scan_time = began.elapsed();
        snapshot
    }

    fn scan(&mut self) -> Result<Snapshot, CommandError> {
        let mut snapshot = Snapshot::new();
        let mut folders = vec![self.root.clone()];
        for path in self.outside.clone() {
            if path.is_dir() {
                folders.push(path)
            } else {
                self.add(path, &mut snapshot)
            }
        }
        // Symbolic links can form cycles, and several links can lead to the same folder.
        let mut seen = HashSet::new();
        while let Some(folder) = folders.pop() {
            // Skips folders that were removed in the meantime.
            let Ok(real) = folder.canonicalize() else {
                continue;
            };
            if self.is_written(&real) || !seen.insert(real) {
                continue;
            }
            let Ok(paths) = sorted_paths(&folder) else {
                continue;
            };
            for path in paths {
                match path.is_dir() {
                    _ if self.is_ignored(&path) => {}
                    true => folders.push(path),
                    false => self.add(path, &mut snapshot),
                }
            }
            self.check_count(&snapshot)?;
        }
        Ok(snapshot)
    }

    fn is_written(&self, folder: &Path) -> bool {
        let mut written = self.written.iter();
        written.any(|written| folder.starts_with(written))
    }

    fn check_count(&self, snapshot: &Snapshot) -> Result<(), CommandError> {
        if snapshot.len() > MAX_FILES {
            return Err(CommandError::TooManyFiles {
                folder: self.root.clone(),
                max: MAX_FILES,
            });
        }
        Ok(())
    }

    /// Waits until a file of this snapshot is edited or removed. Ignores new files, because the build may
    /// create some.
    pub(super) async fn wait_for_edit(&mut self, base: &Snapshot) -> Result<(), CommandError> {
        loop {
            let now = self.stable_snapshot().await?;
            if changed(base, &now).next().is_some() {
                return Ok(());
            }
        }
    }

    /// Waits until the files differ from this snapshot.
    pub(super) async fn wait_for_change(
        &mut self,
        base: &Snapshot,
    ) -> Result<Snapshot, CommandError> {
        loop {
            let now = self.stable_snapshot().await?;
            if now != *base {
                return Ok(now);
            }
        }
    }

    /// Waits until the files do not change for a while.
    pub(super) async fn wait_until_idle(&mut self) -> Result<Snapshot, CommandError> {
        let mut before = self.snapshot()?;
        let mut since = Instant::now();
        while since.elapsed() < IDLE_TIME {
            tokio::time::sleep(self.scan_interval()).await;
            let now = self.snapshot()?;
            if now != before {
                before = now;
                since = Instant::now();
            }
        }
        Ok(before)
    }

    /// Scans until two scans in a row are equal.
    async fn stable_snapshot(&mut self) -> Result<Snapshot, CommandError> {
        let mut before = self.snapshot()?;
        loop {
            tokio::time::sleep(self.scan_interval()).await;
            let now = self.snapshot()?;
            if now == before {
                return Ok(now);
            }
            before = now;
        }
    }

    /// Returns the pause until the next scan. A project that takes long to scan is scanned less often.
    fn scan_interval(&self) -> Duration {
        MIN_SCAN_INTERVAL.max(self.scan_time * SCAN_PAUSE_FACTOR)
    }

    /// Returns the time since the last save of a file that is new or changed since the base. None if no such file was
    /// saved recently.
    pub(super) fn time_since_save(&self, now: &Snapshot, base: &Snapshot) -> Option<Duration> {
        let times =
            changed(now, base).filter_map(|path| Some(self.digests.get(&self.root.join(path))?.0));
        let since = times.max()?.elapsed().ok()?;
        (since < MAX_TIME_SINCE_SAVE).then_some(since)
    }

    fn is_ignored(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let below = path.strip_prefix(&self.root).unwrap_or(path);
        name.starts_with('.')
            || name.ends_with(".wasm")
            || name.ends_with('~')
            || TOOL_FOLDERS.contains(&&*name)
            || path == self.component
            || is_named(&self.ignore, below)
    }

    fn add(&mut self, path: PathBuf, snapshot: &mut Snapshot) {
        // Skips files that were removed in the meantime or cannot be read.
        if let Ok(digest) = self.digest(&path) {
            snapshot.insert(self.below_root(path), digest);
        }
    }

    fn below_root(&self, path: PathBuf) -> PathBuf {
        let below = path.strip_prefix(&self.root).map(Path::to_owned);
        below.unwrap_or(path)
    }

    fn digest(&mut self, path: &Path) -> io::Result<Digest> {
        let metadata = std::fs::metadata(path)?;
        let modified = metadata.modified()?;
        let size = metadata.len();
        match self.digests.get(path) {
            Some((known_modified, known_size, digest))
                if (*known_modified, *known_size) == (modified, size) =>
            {
                Ok(*digest)
            }
            _ => {
                let digest = if metadata.is_file() && size <= MAX_HASHED_SIZE {
                    Digest::of(&std::fs::read(path)?)
                } else {
                    Digest::of(format!("{modified:?} {size}").as_bytes())
                };
                self.digests
                    .insert(path.to_owned(), (modified, size, digest));
                Ok(digest)
            }
        }
    }
}

/// Returns whether one of the names is the name of a file, or of a folder that contains the file. Paths are relative to
/// the project.
pub(super) fn names(names: &[String], path: &Path) -> bool {
    path.ancestors().any(|path| is_named(names, path))
}

/// Returns whether one of these is the name or the path of a file or folder.
fn is_named(names: &[String], path: &Path) -> bool {
    names.iter().any(|name| {
        path.file_name().is_some_and(|own| own == name.as_str()) || Path::new(name) == path
    })
}

/// Returns a file in which two snapshots differ.
pub(super) fn difference(one: &Snapshot, other: &Snapshot) -> String {
    let mut paths = changed(one, other).chain(changed(other, one));
    paths
        .next()
        .map(|path| path.display().to_string())
        .unwrap_or_default()
}

/// Returns the files that differ from the same files in the base, or that the base does not have.
fn changed<'a>(now: &'a Snapshot, base: &'a Snapshot) -> impl Iterator<Item = &'a PathBuf> {
    now.iter()
        .filter(move |(path, digest)| base.get(*path) != Some(digest))
        .map(|(path, _)| path)
}

/// Returns the paths in a folder. If several links lead to a folder, each scan must use the same link.
fn sorted_paths(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let items = std::fs::read_dir(folder)?;
    let mut paths: Vec<_> = items.flatten().map(|item| item.path()).collect();
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use larder_model::name::ProviderName;

    fn sources(folder: &Path) -> Sources {
        Sources::new(&Project {
            folder: folder.to_owned(),
            name: ProviderName::parse("x").unwrap(),
            build: Vec::new(),
            component: folder.join("out/made"),
            ignore: vec!["logs".into(), "sub/own".into()],
            watch: Vec::new(),
            development: None,
        })
    }

    #[test]
    fn ignores_build_output_and_hidden_files() {
        let folder = tempfile::tempdir().unwrap();
        for path in [
            "a",
            "sub/b",
            "sub/own/c",
            "logs/d",
            "target/e",
            ".git/f",
            "x.wasm",
            "out/made",
            "g~",
            "own",
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "text").unwrap();
        }
        let snapshot = sources(folder.path()).snapshot().unwrap();
        let seen: Vec<_> = snapshot
            .keys()
            .map(|path| path.display().to_string())
            .collect();
        assert_eq!(seen, ["a", "own", "sub/b"]);
    }

    #[test]
    fn ignores_folders_that_the_provider_writes_to() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in ["src/a", "data/b", "data/deep/c"] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "text").unwrap();
        }
        let mut sources = sources(&root);
        let data = [root.join("data")];
        assert!(sources.set_written(&data) && !sources.set_written(&data));
        assert_eq!(
            sources.snapshot().unwrap().into_keys().collect::<Vec<_>>(),
            [Path::new("src/a")]
        );
        // Otherwise the project would have no sources.
        sources.set_written(std::slice::from_ref(&root));
        assert_eq!(sources.snapshot().unwrap().len(), 3);
    }

    #[test]
    fn finds_the_files_of_named_folders() {
        let given = ["sdk".to_owned(), "a/b".to_owned(), "lock".to_owned()];
        let found = [
            "sdk/x/y",
            "sub/sdk/x",
            "a/b/c",
            "lock",
            "sub/lock",
            "b/c",
            "a/c",
            "sdk.py",
        ];
        let found: Vec<_> = found
            .iter()
            .filter(|path| names(&given, Path::new(path)))
            .collect();
        assert_eq!(
            found,
            [&"sdk/x/y", &"sub/sdk/x", &"a/b/c", &"lock", &"sub/lock"]
        );
    }

    #[test]
    fn watches_files_and_folders_outside() {
        let folder = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        let [library, file] = ["library", "file"].map(|name| other.path().join(name));
        fs::create_dir_all(library.join("target")).unwrap();
        for path in [
            &library.join("a"),
            &library.join("target/b"),
            &file,
            &other.path().join("c"),
        ] {
            fs::write(path, "one").unwrap();
        }
        let mut sources = Sources {
            outside: vec![library.clone(), file.clone()],
            ..sources(folder.path())
        };
        let base = sources.snapshot().unwrap();
        assert_eq!(base.keys().collect::<Vec<_>>(), [&file, &library.join("a")]);
        fs::write(library.join("a"), "two").unwrap();
        let now = sources.snapshot().unwrap();
        assert_eq!(
            difference(&now, &base),
            library.join("a").display().to_string()
        );
    }

    #[test]
    fn follows_links_without_endless_cycles() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let shared = tempfile::tempdir().unwrap();
        fs::write(shared.path().join("a"), "one").unwrap();
        symlink(shared.path(), folder.path().join("shared")).unwrap();
        symlink(".", folder.path().join("again")).unwrap();
        symlink("gone", folder.path().join("nowhere")).unwrap();
        let mut sources = sources(folder.path());
        let base = sources.snapshot().unwrap();
        assert_eq!(base.keys().collect::<Vec<_>>(), [Path::new("shared/a")]);
        fs::write(shared.path().join("a"), "two").unwrap();
        assert_ne!(sources.snapshot().unwrap(), base);
    }

    #[tokio::test]
    async fn detects_changes_of_content() {
        let folder = tempfile::tempdir().unwrap();
        let a = folder.path().join("a");
        let b = folder.path().join("b");
        fs::write(&a, "one").unwrap();
        let mut sources = sources(folder.path());
        let base = sources.snapshot().unwrap();
        // Rewritten with the same content.
        fs::write(&a, "one").unwrap();
        assert_eq!(sources.snapshot().unwrap(), base);
        fs::write(&b, "new").unwrap();
        let now = sources.wait_for_change(&base).await.unwrap();
        assert_eq!(difference(&now, &base), "b");
        assert!(sources.time_since_save(&now, &base).is_some());
        assert_eq!(sources.time_since_save(&now, &now), None);
        fs::write(&a, "two").unwrap();
        sources.wait_for_edit(&base).await.unwrap();
        fs::remove_file(&b).unwrap();
        sources.wait_for_edit(&now).await.unwrap();
    }
}
