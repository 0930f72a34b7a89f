//! The location of a team's database, and functions to move a database.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use larder_model::name::TeamName;
use larder_model::state_key::StateKey;
use larder_runtime::private_files::{self, ACCESSIBLE_TO_OTHERS, FileTrustError};

/// The folder for the databases of all servers that use the same state folder.
const FOLDER: &str = "key-value";

/// Returns the path of the database of a team.
pub fn database_path(state: &Path, key: impl Into<StateKey>, team: &TeamName) -> PathBuf {
    state
        .join(FOLDER)
        .join(key.into().file_name())
        .join(format!("{team}.redb"))
}

/// Returns the paths of all databases in a state folder.
pub fn all_databases(state: &Path) -> Vec<PathBuf> {
    let paths = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path()))
    };
    let files = paths(state.join(FOLDER)).flat_map(paths);
    let mut databases: Vec<_> = files
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "redb")
        })
        .collect();
    databases.sort_unstable();
    databases
}

/// Copies a database that no server uses. Returns whether it was copied: it must exist, and there must be no database
/// at the other path. Blocks the calling thread.
pub fn copy_database(from: &Path, to: &Path) -> io::Result<bool> {
    if to.exists() {
        return Ok(false);
    }
    let Some(mut source) = lock_unused(from)? else {
        return Ok(false);
    };
    let folder = private_folder_of(to)?;
    let mut copy = tempfile::NamedTempFile::new_in(folder)?;
    io::copy(&mut source, &mut copy)?;
    copy.as_file().sync_all()?;
    copy.persist_noclobber(to)?;
    Ok(true)
}

/// Moves a database that no server uses. Returns whether the database existed. Fails if there is a database at the
/// other path. Blocks the calling thread.
pub fn move_database(from: &Path, to: &Path) -> io::Result<bool> {
    let Some(_lock) = lock_unused(from)? else {
        return Ok(false);
    };
    private_folder_of(to)?;
    // Unlike a rename, this does not replace a file.
    std::fs::hard_link(from, to)?;
    std::fs::remove_file(from)?;
    Ok(true)
}

/// Opens the file of a database, and locks it like the database itself. `None` if the file does not exist.
fn lock_unused(path: &Path) -> io::Result<Option<File>> {
    let file = match private_files::open(path, ACCESSIBLE_TO_OTHERS) {
        Err(FileTrustError::Missing) => return Ok(None),
        opened => opened.map_err(|why| io::Error::other(why.to_string()))?,
    };
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(io::Error::new(
            ErrorKind::ResourceBusy,
            "a server uses it: stop that server first",
        )),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Creates the folder of a database. Only this user has access to the folder.
fn private_folder_of(path: &Path) -> io::Result<&Path> {
    let folder = path.parent().ok_or(ErrorKind::InvalidInput)?;
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    Ok(folder)
}
