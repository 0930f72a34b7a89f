//! Opens the folder of the cache and its key. The folder must belong to the user of this process, and no other user may
//! write to it.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::seal::Key;
use super::{CacheError, CacheLocation};
use larder_runtime::private_files::{WRITABLE_BY_OTHERS, check_folder};

/// The folder, the guard that deletes the folder if it is temporary, and the key.
type OpenFolder = (PathBuf, Option<TempDir>, Key);

/// Opens the folder and its key. If one of them does not exist, creates it.
pub(super) fn open(location: &CacheLocation) -> Result<OpenFolder, CacheError> {
    match location {
        CacheLocation::Configured(path) => {
            open_permanent(path).map_err(|unusable| error(path, unusable.into_problem()))
        }
        CacheLocation::Default(path) => match open_permanent(path) {
            Ok(opened) => Ok(opened),
            // A folder that other users can write to is an error also here: it may be an attack, so there is no
            // fallback.
            Err(Unusable::Untrusted(problem)) => Err(error(path, problem)),
            Err(Unusable::NotCreated(problem)) => {
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

/// Why a permanent folder cannot be used; completes the sentence "the cache folder …".
enum Unusable {
    Untrusted(String),
    NotCreated(String),
}

impl Unusable {
    fn into_problem(self) -> String {
        match self {
            Self::Untrusted(problem) | Self::NotCreated(problem) => problem,
        }
    }
}

fn open_permanent(path: &Path) -> Result<OpenFolder, Unusable> {
    create(path).map_err(Unusable::NotCreated)?;
    check(path).map_err(Unusable::Untrusted)?;
    let no_key = |error| {
        Unusable::NotCreated(format!(
            "has no usable key, and none can be created: {error}"
        ))
    };
    Ok((path.to_owned(), None, Key::open(path).map_err(no_key)?))
}

fn temporary() -> Result<OpenFolder, CacheError> {
    // The crate documents mode 0700 on Unix.
    let folder = tempfile::Builder::new().prefix("larder-").tempdir();
    let folder = folder.map_err(|failed| {
        error(
            &std::env::temp_dir(),
            format!("does not allow a new folder: {failed}"),
        )
    })?;
    let key = Key::open(folder.path()).map_err(|failed| {
        error(
            folder.path(),
            format!("does not allow a new file: {failed}"),
        )
    })?;
    Ok((folder.path().to_owned(), Some(folder), key))
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
    CacheError {
        path: path.to_owned(),
        problem,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::*;

    fn with_mode(mode: u32) -> Result<OpenFolder, CacheError> {
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
            let error = with_mode(mode).err().unwrap().to_string();
            assert!(
                error.contains("can be written by others") && error.contains("cache_dir"),
                "{error}"
            );
        }
    }

    #[test]
    fn only_the_default_folder_has_a_fallback() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let below = file.path().join("larder");
        let configured = open(&CacheLocation::Configured(below.clone()))
            .err()
            .unwrap();
        assert!(
            configured.to_string().contains("cannot be created"),
            "{configured}"
        );
        let (path, temporary, _) = open(&CacheLocation::Default(below)).unwrap();
        assert_eq!(temporary.unwrap().path(), path);
    }

    /// In this folder under `/proc`, nobody can create a file, not even root.
    #[test]
    fn only_the_default_folder_has_a_fallback_for_its_key() {
        let read_only = PathBuf::from("/proc/self");
        if !read_only.exists() {
            eprintln!("skipped: this system has no /proc");
            return;
        }
        let configured = open(&CacheLocation::Configured(read_only.clone()))
            .err()
            .unwrap()
            .to_string();
        assert!(
            configured.contains("has no usable key, and none can be created"),
            "{configured}"
        );
        let (path, temporary, _) = open(&CacheLocation::Default(read_only)).unwrap();
        assert_eq!(temporary.unwrap().path(), path);
    }

    #[test]
    fn rejects_a_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = open(&CacheLocation::Configured(file.path().to_owned()))
            .err()
            .unwrap();
        assert!(error.to_string().contains("cannot be created"), "{error}");
    }
}
