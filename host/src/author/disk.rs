//! Writing what authors get: a file is there as a whole or not at all.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Paths with `/`, relative to a folder, and what they hold.
pub type Files = BTreeMap<String, Vec<u8>>;

/// What could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {error}", path.display())]
pub struct DiskError {
    /// The file or the folder.
    pub path: PathBuf,
    /// What the system said.
    pub error: io::Error,
}

/// Puts a file in its place in one step: who follows the folder never sees half of it.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
    let failed = |error| DiskError { path: path.to_owned(), error };
    let Some(name) = path.file_name() else {
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "it names no file")));
    };
    let new = path.with_file_name(format!(".{}.{}.new", name.to_string_lossy(), std::process::id()));
    let written = fs::write(&new, bytes).and_then(|()| fs::rename(&new, path));
    written.map_err(|error| {
        // Its own trouble would only hide the first one.
        _ = fs::remove_file(&new);
        failed(error)
    })
}

/// Writes files into a folder, which is made if it is not there. What else is in it stays.
pub fn write_into(folder: &Path, files: &Files) -> Result<(), DiskError> {
    for (name, bytes) in files {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(|error| DiskError { path: parent.to_owned(), error })?;
        replace(&path, bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_replaced_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        fs::write(at("sub/a"), "old").unwrap();
        fs::write(at("mine"), "mine").unwrap();
        let files = Files::from([("sub/a".into(), b"new".to_vec()), ("deep/er/b".into(), b"b".to_vec())]);
        write_into(folder.path(), &files).unwrap();
        let text = |name: &str| fs::read_to_string(at(name)).unwrap();
        assert_eq!(
            (text("sub/a"), text("deep/er/b"), text("mine")),
            ("new".into(), "b".into(), "mine".into())
        );
        assert_eq!(fs::read_dir(at("sub")).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("taken")).unwrap();
        let error = replace(&folder.path().join("taken"), b"x").unwrap_err();
        assert!(error.to_string().starts_with("cannot write "), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
