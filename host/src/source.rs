//! Where components come from: a folder. It is looked at; what is read from it is only ever a component.

use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;

/// A folder with components.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
}

/// A component's file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct File {
    /// Its name with the ending.
    pub name: String,
    path: PathBuf,
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
        Self { path }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The components in it, by name. Hidden files and what editors leave behind are not.
    pub fn look(&self) -> io::Result<Vec<File>> {
        let mut files = Vec::new();
        for item in std::fs::read_dir(&self.path)? {
            let path = item?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // Through symbolic links, as Kubernetes mounts them.
            if name.ends_with(".wasm") && !name.starts_with('.') && !path.is_dir() {
                files.push(File { name, path });
            }
        }
        files.sort();
        Ok(files)
    }
}

impl File {
    /// One component's file, wherever it is.
    pub fn at(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self { name, path: path.to_owned() }
    }

    /// The name without the ending.
    pub fn stem(&self) -> &str {
        self.name.strip_suffix(".wasm").unwrap_or(&self.name)
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
        for name in ["b.wasm", "a.wasm", ".c.wasm", "d.wasm~", "e.cwasm", "f.txt", "g.wasm.tmp"] {
            std::fs::write(dir.path().join(name), name).unwrap();
        }
        std::fs::create_dir(dir.path().join("h.wasm")).unwrap();
        let files = Folder::new(dir.path().into()).look().unwrap();
        assert_eq!(files.iter().map(File::stem).collect::<Vec<_>>(), ["a", "b"]);
        assert!(matches!(files[0].fetch(6), Ok(Fetched::Bytes(bytes)) if bytes == "a.wasm"));
        assert!(matches!(files[0].fetch(5), Ok(Fetched::TooLarge(6))));
    }

    #[test]
    fn a_missing_folder_is_an_error_that_the_caller_tells() {
        assert!(Folder::new("does/not/exist".into()).look().is_err());
    }
}
