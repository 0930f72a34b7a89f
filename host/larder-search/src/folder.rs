//! The folder of an index: the right to use it, and the version of its content.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::damage::Failure;
use crate::schema;
use larder_model::name::TeamName;
use larder_model::state_key::StateKey;
use larder_runtime::private_files::{self, ACCESSIBLE_TO_OTHERS, FileTrustError};

/// The lock of the process that changes the index.
const LOCK: &str = "lock";
/// The file with the version of the content of the folder.
const FORMAT: &str = "format";
/// The folder with the files of tantivy.
const INDEX: &str = "index";

/// The exclusive right to change an index. It ends when this value is dropped, and when the process ends.
#[derive(Debug)]
pub(crate) struct FolderLock {
    _file: File,
}

/// The folder for the indexes of all servers that use the same state folder.
const ALL: &str = "search";

/// Returns the folder of the index of a team.
pub fn folder_of(state: &Path, key: &StateKey, team: &TeamName) -> PathBuf {
    state.join(ALL).join(key.file_name()).join(team.as_str())
}

/// Returns the folder with the files of tantivy.
pub(crate) fn index_folder(folder: &Path) -> PathBuf {
    folder.join(INDEX)
}

/// Whether there is an index of any version.
pub(crate) fn exists(folder: &Path) -> bool {
    index_folder(folder).exists()
}

/// Whether there is an index of the current version.
pub(crate) fn is_current(folder: &Path) -> bool {
    std::fs::read_to_string(folder.join(FORMAT)).is_ok_and(|found| found == format())
}

/// Creates the folder if it does not exist, and locks it. Only this user may have access to it: it contains the text of
/// documents.
pub(crate) fn lock(folder: &Path) -> Result<FolderLock, Failure> {
    // An error here never concerns the content of the index.
    let unusable = |error: io::Error| Failure::Unusable(error.to_string());
    let untrusted = |error: FileTrustError| Failure::Unusable(format!("it {error}"));
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(unusable)?;
    private_files::check_folder(folder, ACCESSIBLE_TO_OTHERS).map_err(untrusted)?;
    let file = private_files::open_lock(&folder.join(LOCK)).map_err(untrusted)?;
    match file.try_lock() {
        Ok(()) => Ok(FolderLock { _file: file }),
        Err(TryLockError::WouldBlock) => Err(Failure::InUse),
        Err(TryLockError::Error(error)) => Err(unusable(error)),
    }
}

/// Deletes the content of the folder, and prepares the folder for a new index. The folder has no version until
/// [`mark`].
pub(crate) fn clear(folder: &Path, _: &FolderLock) -> io::Result<()> {
    let index = index_folder(folder);
    for deleted in [
        std::fs::remove_file(folder.join(FORMAT)),
        std::fs::remove_dir_all(&index),
    ] {
        deleted.or_else(|error| {
            if error.kind() == ErrorKind::NotFound {
                Ok(())
            } else {
                Err(error)
            }
        })?;
    }
    DirBuilder::new().mode(0o700).create(&index)
}

/// Sets the version of the content of the folder.
pub(crate) fn mark(folder: &Path, _: &FolderLock) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(format().as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(folder.join(FORMAT))?;
    Ok(())
}

/// The version of the fields and of the format of tantivy.
fn format() -> String {
    format!(
        "larder {} tantivy {}\n",
        schema::VERSION,
        tantivy::version_string()
    )
}
