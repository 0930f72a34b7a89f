//! Where components come from: a folder. It is looked at, and what wakes a look is only ever a hint.
//! What is read from it is components and what they ask for, nothing else.

mod settle;
mod watch;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bytes::Bytes;

use self::settle::Settling;
pub use self::settle::{REST, Seen};
pub use self::watch::Watch;
use crate::name::Digest;
use crate::stamp::Stamp;

/// A folder with components.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    settling: Settling,
}

/// A file of a folder, as it was at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its name with the ending.
    pub name: String,
    path: PathBuf,
    stamp: Stamp,
}

/// What a file held.
#[derive(Debug)]
pub enum Fetched {
    /// All of its bytes.
    Bytes(Bytes),
    /// More than was wanted.
    TooLarge(u64),
}

impl Folder {
    /// A folder; it need not exist yet.
    pub fn new(path: PathBuf) -> Self {
        Self { path, settling: Settling::default() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The components in it that are at rest, each with its `.toml`. A folder that is not there is empty:
    /// it may come later. In any other trouble nothing is known, and what was known stays; the same for each file.
    pub fn look(&mut self) -> io::Result<Seen> {
        let (files, unclear) = match self.files() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Default::default(),
            files => files?,
        };
        let mut seen = self.settling.take(files, &unclear, Instant::now());
        seen.unclear = unclear;
        Ok(seen)
    }

    /// Components and their companions. Hidden files and what editors leave behind are neither.
    fn files(&self) -> io::Result<(Vec<File>, BTreeMap<String, io::Error>)> {
        let (mut files, mut unclear) = (Vec::new(), BTreeMap::new());
        for item in std::fs::read_dir(&self.path)? {
            let path = item?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let fits = name.ends_with(".wasm") || name.ends_with(".toml");
            if name.starts_with('.') || !fits {
                continue;
            }
            match Stamp::of_file(&path) {
                Ok(Some(stamp)) => files.push(File { name, path, stamp }),
                Ok(None) => {}
                Err(error) => _ = unclear.insert(name, error),
            }
        }
        Ok((files, unclear))
    }
}

impl File {
    /// The name without the ending.
    pub fn stem(&self) -> &str {
        self.name.rsplit_once('.').map_or(&self.name, |(stem, _)| stem)
    }

    /// By what it is known.
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Whether it is still what it was.
    pub fn is_same(&self) -> bool {
        Stamp::of(&self.path).is_ok_and(|now| now == self.stamp)
    }

    /// The digest of what is in it, piece by piece.
    pub fn digest(&self) -> io::Result<Digest> {
        Digest::of_all(std::fs::File::open(&self.path)?)
    }

    /// Reads it, but never more than the limit.
    pub fn fetch(&self, limit: u64) -> io::Result<Fetched> {
        use std::io::Read as _;
        let file = std::fs::File::open(&self.path)?;
        let size = file.metadata()?.len();
        if size > limit {
            return Ok(Fetched::TooLarge(size));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        // It may have grown since.
        let read = file.take(limit + 1).read_to_end(&mut bytes)? as u64;
        Ok(if read > limit { Fetched::TooLarge(read) } else { Fetched::Bytes(bytes.into()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_components_are_seen() {
        let dir = tempfile::tempdir().unwrap();
        for name in
            ["b.wasm", "a.wasm", "a.toml", ".c.wasm", "d.wasm~", "e.cwasm", "f.txt", "g.wasm.tmp", "x.toml"]
        {
            std::fs::write(dir.path().join(name), name).unwrap();
        }
        std::fs::create_dir(dir.path().join("h.wasm")).unwrap();
        std::os::unix::fs::symlink("nowhere", dir.path().join("i.wasm")).unwrap();
        let seen = Folder::new(dir.path().into()).look().unwrap();
        let names = |file: &File| file.name.clone();
        let seen: Vec<_> = seen.components.iter().map(|(a, b)| (names(a), b.as_ref().map(names))).collect();
        assert_eq!(seen, [("a.wasm".into(), Some("a.toml".into())), ("b.wasm".into(), None)]);
    }

    #[test]
    fn a_file_that_cannot_be_looked_at_stays_what_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("a.wasm"), "a").unwrap();
        let mut folder = Folder::new(dir.path().into());
        folder.look().unwrap();
        std::fs::write(path("b.wasm"), "b").unwrap();
        std::fs::remove_file(path("a.wasm")).unwrap();
        // A link that leads to itself.
        std::os::unix::fs::symlink("a.wasm", path("a.wasm")).unwrap();
        let mut look_until = |expected: &[&str], unclear: usize| {
            let until = Instant::now() + std::time::Duration::from_secs(30);
            loop {
                let seen = folder.look().unwrap();
                assert_eq!(seen.unclear.len(), unclear);
                let names: Vec<_> = seen.components.iter().map(|(file, _)| file.name.clone()).collect();
                if names == expected {
                    return;
                }
                assert!(Instant::now() < until, "{names:?}");
                std::thread::yield_now();
            }
        };
        // What else is there goes on, and when the new one counts, the other has been so for as long.
        look_until(&["a.wasm", "b.wasm"], 1);
        std::fs::remove_file(path("a.wasm")).unwrap();
        look_until(&["b.wasm"], 0);
    }

    #[test]
    fn no_more_than_the_limit_is_read() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.wasm"), "a.wasm").unwrap();
        let seen = Folder::new(dir.path().into()).look().unwrap();
        let (file, _) = &seen.components[0];
        assert!(matches!(file.fetch(6), Ok(Fetched::Bytes(bytes)) if bytes == "a.wasm"));
        assert!(matches!(file.fetch(5), Ok(Fetched::TooLarge(6))));
    }

    #[test]
    fn a_folder_that_is_not_there_is_empty() {
        let mut folder = Folder::new("does/not/exist".into());
        assert!(folder.look().is_ok_and(|seen| seen.components.is_empty()));
    }
}
