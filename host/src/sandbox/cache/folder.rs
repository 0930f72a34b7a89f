//! The cache's folder: made by us, for us alone.

use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{CacheError, Place};

/// The folder, and what deletes it in the end if it is a temporary one.
pub(super) fn open(place: &Place) -> Result<(PathBuf, Option<TempDir>), CacheError> {
    match place {
        Place::Named(path) => {
            make(path).and_then(|()| check(path)).map_err(|what| error(path, what))?;
            Ok((path.clone(), None))
        }
        Place::Usual(path) => match make(path) {
            // A folder that somebody else can write is no accident to step around.
            Ok(()) => check(path).map(|()| (path.clone(), None)).map_err(|what| error(path, what)),
            Err(what) => {
                tracing::warn!(path = %path.display(), what, "no cache there; components are compiled at each start");
                temporary()
            }
        },
        Place::Temporary => {
            tracing::warn!(
                "no home, hence no cache: components are compiled at each start; `cache_dir` in [compiler] names a folder for them"
            );
            temporary()
        }
    }
}

fn temporary() -> Result<(PathBuf, Option<TempDir>), CacheError> {
    // With 0700 on Unix, by the crate's word.
    let folder = tempfile::Builder::new().prefix("larder-").tempdir();
    let folder =
        folder.map_err(|failed| error(&std::env::temp_dir(), format!("takes no folder: {failed}")))?;
    Ok((folder.path().to_owned(), Some(folder)))
}

fn make(path: &Path) -> Result<(), String> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| format!("cannot be made: {error}"))
}

fn check(path: &Path) -> Result<(), String> {
    let found = std::fs::metadata(path).map_err(|error| format!("cannot be looked at: {error}"))?;
    let us = rustix::process::geteuid().as_raw();
    if found.uid() != us {
        return Err(format!("belongs to another user ({}, while this process is {us})", found.uid()));
    }
    if found.mode() & 0o022 != 0 {
        return Err(format!(
            "can be written by others (its mode is {:o}; `chmod 700` it)",
            found.mode() & 0o7777
        ));
    }
    Ok(())
}

fn error(path: &Path, what: String) -> CacheError {
    CacheError { path: path.to_owned(), what }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn with_mode(mode: u32) -> Result<(PathBuf, Option<TempDir>), CacheError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        open(&Place::Named(folder.path().to_owned()))
    }

    #[test]
    fn it_is_made_for_us_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        open(&Place::Usual(path.clone())).unwrap();
        assert_eq!(std::fs::metadata(path).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn what_others_can_write_is_refused() {
        assert!(with_mode(0o700).is_ok() && with_mode(0o755).is_ok());
        for mode in [0o770, 0o777, 0o1777, 0o702] {
            let error = with_mode(mode).unwrap_err().to_string();
            assert!(error.contains("can be written by others") && error.contains("cache_dir"), "{error}");
        }
    }

    #[test]
    fn where_none_can_be_made_only_the_usual_place_steps_aside() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let below = file.path().join("larder");
        let named = open(&Place::Named(below.clone())).unwrap_err();
        assert!(named.to_string().contains("cannot be made"), "{named}");
        let (path, temporary) = open(&Place::Usual(below)).unwrap();
        assert_eq!(temporary.unwrap().path(), path);
    }

    #[test]
    fn what_is_no_folder_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = open(&Place::Named(file.path().to_owned())).unwrap_err();
        assert!(error.to_string().contains("cannot be made"), "{error}");
    }
}
