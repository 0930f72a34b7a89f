//! Opens the folder of the cache. It must belong to the user of this process, and no other user may write to
//! it.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{CacheError, CacheLocation};
use larder_runtime::private_files::{WRITABLE_BY_OTHERS, check_folder};

/// Returns the folder, and the guard that deletes it if it is a temporary one.
pub(super) fn open(location: &CacheLocation) -> Result<(PathBuf, Option<TempDir>), CacheError> {
    match location {
        CacheLocation::Configured(path) => {
            create(path).and_then(|()| check(path)).map_err(|problem| error(path, problem))?;
            Ok((path.clone(), None))
        }
        CacheLocation::Default(path) => match create(path) {
            // A folder that others can write to is an error even here: it may be an attack, so there is no
            // fallback.
            Ok(()) => check(path).map(|()| (path.clone(), None)).map_err(|problem| error(path, problem)),
            Err(problem) => {
                tracing::warn!(path = %path.display(), problem, "cannot create the component cache, so components are compiled at each start");
                temporary()
            }
        },
        CacheLocation::Temporary => {
            tracing::warn!(
                "no home directory for the component cache, so components are compiled at each start; set a folder with `cache_dir` in [compiler]"
            );
            temporary()
        }
    }
}

fn temporary() -> Result<(PathBuf, Option<TempDir>), CacheError> {
    // The crate documents mode 0700 on Unix.
    let folder = tempfile::Builder::new().prefix("larder-").tempdir();
    let folder = folder
        .map_err(|failed| error(&std::env::temp_dir(), format!("does not allow a new folder: {failed}")))?;
    Ok((folder.path().to_owned(), Some(folder)))
}

fn create(path: &Path) -> Result<(), String> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| format!("cannot be created: {error}"))
}

fn check(path: &Path) -> Result<(), String> {
    check_folder(path, WRITABLE_BY_OTHERS).map_err(|untrusted| untrusted.to_string())
}

fn error(path: &Path, problem: String) -> CacheError {
    CacheError { path: path.to_owned(), problem }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::*;

    fn with_mode(mode: u32) -> Result<(PathBuf, Option<TempDir>), CacheError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        open(&CacheLocation::Configured(folder.path().to_owned()))
    }

    #[test]
    fn creates_the_folder_for_its_user_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        open(&CacheLocation::Default(path.clone())).unwrap();
        assert_eq!(std::fs::metadata(path).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn rejects_a_folder_that_others_can_write() {
        assert!(with_mode(0o700).is_ok() && with_mode(0o755).is_ok());
        for mode in [0o770, 0o777, 0o1777, 0o702] {
            let error = with_mode(mode).unwrap_err().to_string();
            assert!(error.contains("can be written by others") && error.contains("cache_dir"), "{error}");
        }
    }

    #[test]
    fn only_the_default_folder_has_a_fallback() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let below = file.path().join("larder");
        let configured = open(&CacheLocation::Configured(below.clone())).unwrap_err();
        assert!(configured.to_string().contains("cannot be created"), "{configured}");
        let (path, temporary) = open(&CacheLocation::Default(below)).unwrap();
        assert_eq!(temporary.unwrap().path(), path);
    }

    #[test]
    fn rejects_a_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = open(&CacheLocation::Configured(file.path().to_owned())).unwrap_err();
        assert!(error.to_string().contains("cannot be created"), "{error}");
    }
}
