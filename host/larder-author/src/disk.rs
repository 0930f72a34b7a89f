//! Writes files atomically.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Relative paths with `/`, and the content of the files.
pub type Files = BTreeMap<String, Vec<u8>>;

/// A file or folder that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {error}", path.display())]
pub struct DiskError {
    /// The file or folder.
    pub path: PathBuf,
    /// The error of the operating system.
    pub error: io::Error,
}

impl DiskError {
    /// The error for a file or folder that cannot be written.
    pub fn at(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self {
            path: path.to_owned(),
            error,
        }
    }
}

/// Replaces a file atomically, so that a server that watches the folder never reads a partial file.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
    Replacement::write(path, bytes)?.apply()
}

/// A file that is completely written, under another name in the same folder. Several replacements can be applied at
/// almost the same time. Dropping a replacement removes the file.
#[derive(Debug)]
pub struct Replacement {
    path: PathBuf,
    new: PathBuf,
}

impl Replacement {
    /// Writes the new file.
    pub fn write(path: &Path, bytes: &[u8]) -> Result<Self, DiskError> {
        let failed = DiskError::at(path);
        let Some(name) = path.file_name() else {
            return Err(failed(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the path has no file name",
            )));
        };
        let new = path.with_file_name(format!(
            ".{}.{}.new",
            name.to_string_lossy(),
            std::process::id()
        ));
        let replacement = Self {
            path: path.to_owned(),
            new,
        };
        fs::write(&replacement.new, bytes).map_err(failed)?;
        Ok(replacement)
    }

    /// Renames the new file to the name of the old file.
    pub fn apply(self) -> Result<(), DiskError> {
        fs::rename(&self.new, &self.path).map_err(DiskError::at(&self.path))
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        // After a rename, the temporary file does not exist any more. Another error would hide the first error.
        let _ = fs::remove_file(&self.new);
    }
}

/// Writes files into a folder. If the folder does not exist, creates it. Other files in it remain.
pub fn write_into(folder: &Path, files: &Files) -> Result<(), DiskError> {
    for (name, bytes) in files {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(DiskError::at(parent))?;
        replace(&path, bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_files_and_keeps_others() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        fs::write(at("sub/a"), "old").unwrap();
        fs::write(at("mine"), "mine").unwrap();
        let files = Files::from([
            ("sub/a".into(), b"new".to_vec()),
            ("deep/er/b".into(), b"b".to_vec()),
        ]);
        write_into(folder.path(), &files).unwrap();
        let text = |name: &str| fs::read_to_string(at(name)).unwrap();
        assert_eq!(
            (text("sub/a"), text("deep/er/b"), text("mine")),
            ("new".into(), "b".into(), "mine".into())
        );
        assert_eq!(fs::read_dir(at("sub")).unwrap().count(), 1);
    }

    #[test]
    fn removes_the_temporary_file_after_an_error() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("taken")).unwrap();
        let error = replace(&folder.path().join("taken"), b"x").unwrap_err();
        assert!(error.to_string().starts_with("cannot write "), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
