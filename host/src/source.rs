//! Where components come from: a folder. It is looked at, and what wakes a look is only ever a hint.
//! What is read from it is components and what they ask for, nothing else.

mod settle;
mod stamp;
mod watch;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bytes::Bytes;

use self::settle::Settling;
pub use self::settle::{REST, Seen};
pub use self::stamp::Stamp;
pub use self::watch::Watch;

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
    /// it may come later. In any other trouble nothing is known, and what was known stays.
    pub fn look(&mut self) -> io::Result<Seen> {
        let files = match self.files() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            files => files?,
        };
        Ok(self.settling.take(files, Instant::now()))
    }

    /// Components and their companions. Hidden files and what editors leave behind are neither.
    fn files(&self) -> io::Result<Vec<File>> {
        let mut files = Vec::new();
        for item in std::fs::read_dir(&self.path)? {
            let path = item?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let fits = name.ends_with(".wasm") || name.ends_with(".toml");
            if name.starts_with('.') || !fits {
                continue;
            }
            // A file that vanished since, or a link to nothing, is not there.
            if let Ok(stamp) = Stamp::of_file(&path) {
                files.push(File { name, path, stamp });
            }
        }
        Ok(files)
    }
}

impl File {
    /// The name without the ending.
    pub fn stem(&self) -> &str {
        self.name.rsplit_once('.').map_or(&self.name, |(stem, _)| stem)
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
