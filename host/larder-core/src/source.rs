//! A source of components: a folder. It is scanned; file events are only hints to scan sooner. Only
//! components and their grant request files are read from it.

mod folder_watcher;
mod settle;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bytes::Bytes;

pub use self::folder_watcher::FolderWatcher;
use self::settle::SettleTracker;
pub use self::settle::{FolderScan, SETTLE_TIME};
use larder_model::name::Digest;
use larder_runtime::file_fingerprint::FileFingerprint;

/// A folder with components.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    tracker: SettleTracker,
}

/// A file of a folder, as it was when the folder was scanned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// The file name with its extension.
    pub name: String,
    path: PathBuf,
    fingerprint: FileFingerprint,
}

/// The content of a file.
#[derive(Debug)]
pub enum Fetched {
    /// All of its bytes.
    Bytes(Bytes),
    /// The file exceeds the limit; its size, or the number of bytes that were read.
    TooLarge(u64),
}

impl Folder {
    /// Creates a source for a folder, which need not exist yet.
    pub fn new(path: PathBuf) -> Self {
        Self { path, tracker: SettleTracker::default() }
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the settled components, each with its `.toml`. A missing folder counts as empty, because it
    /// may be created later. After any other error nothing is known and the last state stays; the same holds
    /// for each file.
    pub fn scan(&mut self) -> io::Result<FolderScan> {
        let (files, unreadable) = match self.files() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Default::default(),
            files => files?,
        };
        let mut scan = self.tracker.update(files, &unreadable, Instant::now());
        scan.unreadable = unreadable;
        Ok(scan)
    }

    /// Returns the components and their `.toml` files. Hidden files and editors' temporary files are skipped.
    fn files(&self) -> io::Result<(Vec<File>, BTreeMap<String, io::Error>)> {
        let (mut files, mut unreadable) = (Vec::new(), BTreeMap::new());
        for item in std::fs::read_dir(&self.path)? {
            let path = item?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let fits = name.ends_with(".wasm") || name.ends_with(".toml");
            if name.starts_with('.') || !fits {
                continue;
            }
            match FileFingerprint::of_file(&path) {
                Ok(Some(fingerprint)) => files.push(File { name, path, fingerprint }),
                Ok(None) => {}
                Err(error) => _ = unreadable.insert(name, error),
            }
        }
        Ok((files, unreadable))
    }
}

impl File {
    /// Returns the file name without its extension.
    pub fn stem(&self) -> &str {
        self.name.rsplit_once('.').map_or(&self.name, |(stem, _)| stem)
    }

    /// Returns the fingerprint of the file when it was scanned.
    pub fn fingerprint(&self) -> FileFingerprint {
        self.fingerprint
    }

    /// Returns whether the file still has the same fingerprint.
    pub fn is_unchanged(&self) -> bool {
        FileFingerprint::of(&self.path).is_ok_and(|now| now == self.fingerprint)
    }

    /// Computes the digest of the content, without loading all of it into memory.
    pub fn digest(&self) -> io::Result<Digest> {
        Digest::of_reader(std::fs::File::open(&self.path)?)
    }

    /// Reads the content, up to the limit.
    pub fn fetch(&self, limit: u64) -> io::Result<Fetched> {
        use std::io::Read as _;
        let file = std::fs::File::open(&self.path)?;
        let size = file.metadata()?.len();
        if size > limit {
            return Ok(Fetched::TooLarge(size));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        // The file may have grown since its size was read.
        let read = file.take(limit + 1).read_to_end(&mut bytes)? as u64;
        Ok(if read > limit { Fetched::TooLarge(read) } else { Fetched::Bytes(bytes.into()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_only_components() {
        let dir = tempfile::tempdir().unwrap();
        for name in
            ["b.wasm", "a.wasm", "a.toml", ".c.wasm", "d.wasm~", "e.cwasm", "f.txt", "g.wasm.tmp", "x.toml"]
        {
            std::fs::write(dir.path().join(name), name).unwrap();
        }
        std::fs::create_dir(dir.path().join("h.wasm")).unwrap();
        std::os::unix::fs::symlink("nowhere", dir.path().join("i.wasm")).unwrap();
        let scan = Folder::new(dir.path().into()).scan().unwrap();
        let names = |file: &File| file.name.clone();
        let scan: Vec<_> = scan.components.iter().map(|(a, b)| (names(a), b.as_ref().map(names))).collect();
        assert_eq!(scan, [("a.wasm".into(), Some("a.toml".into())), ("b.wasm".into(), None)]);
    }

    #[test]
    fn an_unreadable_file_keeps_its_last_state() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("a.wasm"), "a").unwrap();
        let mut folder = Folder::new(dir.path().into());
        folder.scan().unwrap();
        std::fs::write(path("b.wasm"), "b").unwrap();
        std::fs::remove_file(path("a.wasm")).unwrap();
        // A symbolic link to itself.
        std::os::unix::fs::symlink("a.wasm", path("a.wasm")).unwrap();
        let mut scan_until = |expected: &[&str], unreadable: usize| {
            let until = Instant::now() + std::time::Duration::from_secs(30);
            loop {
                let scan = folder.scan().unwrap();
                assert_eq!(scan.unreadable.len(), unreadable);
                let names: Vec<_> = scan.components.iter().map(|(file, _)| file.name.clone()).collect();
                if names == expected {
                    return;
                }
                assert!(Instant::now() < until, "{names:?}");
                std::thread::yield_now();
            }
        };
        // The other files are still handled. Once the new file has settled, a removal would have settled as
        // well.
        scan_until(&["a.wasm", "b.wasm"], 1);
        std::fs::remove_file(path("a.wasm")).unwrap();
        scan_until(&["b.wasm"], 0);
    }

    #[test]
    fn fetch_respects_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.wasm"), "a.wasm").unwrap();
        let scan = Folder::new(dir.path().into()).scan().unwrap();
        let (file, _) = &scan.components[0];
        assert!(matches!(file.fetch(6), Ok(Fetched::Bytes(bytes)) if bytes == "a.wasm"));
        assert!(matches!(file.fetch(5), Ok(Fetched::TooLarge(6))));
    }

    #[test]
    fn a_missing_folder_is_empty() {
        let mut folder = Folder::new("does/not/exist".into());
        assert!(folder.scan().is_ok_and(|scan| scan.components.is_empty()));
    }
}
