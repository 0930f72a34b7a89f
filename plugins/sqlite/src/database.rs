//! The database file, which is opened only for reading. Anybody may have written its content.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Instant, UNIX_EPOCH};

use larder_provider::{Error, Result};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::settings::Settings;

/// The beginning of each database file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Bytes of the header that are read.
const HEADER: usize = 100;
/// The position in the header of the versions for reading and writing; 2 means a write-ahead log.
const FORMAT_VERSIONS: [usize; 2] = [18, 19];
/// The position in the header of the number of changes.
const CHANGE_COUNTER: std::ops::Range<usize> = 24..28;
/// The extensions of database files.
const EXTENSIONS: [&str; 4] = ["db", "sqlite", "sqlite3", "db3"];
/// Access to files without locks, which WASI does not have.
const VFS: &std::ffi::CStr = c"unix-none";
/// The longest text or blob that is read.
pub(crate) const MAX_LENGTH: i32 = 4 << 20;

/// Instructions of SQLite between two looks at the clock: about a millisecond.
const INSTRUCTIONS: i32 = 20_000;

/// An open database.
pub(crate) struct Database {
    pub(crate) connection: Connection,
    path: PathBuf,
    /// The version of the database when it was opened.
    pub(crate) version: String,
}

/// The path of the database, from the granted folder.
pub(crate) fn database_path(settings: &Settings, folder: &Path) -> Result<PathBuf> {
    if let Some(file) = &settings.file {
        return Ok(folder.join(file));
    }
    let is_database = |path: &PathBuf| {
        path.extension().is_some_and(|it| {
            EXTENSIONS
                .iter()
                .any(|known| it.eq_ignore_ascii_case(known))
        })
    };
    let files = fs::read_dir(folder)?.filter_map(|file| Some(file.ok()?.path()));
    let mut found = files.filter(is_database);
    match (found.next(), found.next()) {
        (Some(path), None) => Ok(path),
        (None, _) => Err(
            "the granted folder contains no database: set `file`, or check the grant `dirs`".into(),
        ),
        (Some(_), Some(_)) => {
            Err("the granted folder contains several databases: set `file`".into())
        }
    }
}

/// The version of a database file: it changes with each transaction. Fails if the file cannot be read by this provider.
pub(crate) fn version(path: &Path) -> Result<String> {
    let mut file =
        File::open(path).map_err(|error| format!("cannot open the database: {error}"))?;
    let metadata = file.metadata()?;
    let mut header = [0; HEADER];
    let is_database = file.read_exact(&mut header).is_ok() && header.starts_with(MAGIC);
    if !is_database {
        return Err("the file is not an SQLite database".into());
    }
    if FORMAT_VERSIONS.iter().any(|at| header[*at] > 1) {
        return Err(
            "the database uses a write-ahead log, which needs shared memory: convert it with `PRAGMA \
                    journal_mode = DELETE`, or serve a copy made with `VACUUM INTO`"
                .into(),
        );
    }
    let changes = header[CHANGE_COUNTER]
        .iter()
        .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    let modified = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok(format!(
        "{changes}-{}-{}",
        metadata.len(),
        modified.unwrap_or_default().as_nanos()
    ))
}

impl Database {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let version = version(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags_and_vfs(path, flags, VFS).map_err(failed)?;
        let set = |config, on| connection.set_db_config(config, on).map_err(failed);
        set(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        // The schema comes from the file: it must not call functions with effects.
        set(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection
            .set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)
            .map_err(failed)?;
        connection
            .set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_LENGTH)
            .map_err(failed)?;
        connection
            .execute_batch(
                "PRAGMA query_only = ON; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;",
            )
            .map_err(failed)?;
        Ok(Self {
            connection,
            path: path.to_owned(),
            version,
        })
    }

    /// Ends all later statements at this time.
    pub(crate) fn stop_at(&mut self, end: Instant) -> Result<()> {
        self.connection
            .progress_handler(INSTRUCTIONS, Some(move || Instant::now() >= end))
            .map_err(failed)
    }

    /// Runs `work`. The result is valid only if the database did not change in the meantime, because WASI has no file
    /// locks.
    pub(crate) fn consistent<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let result = work(&self.connection);
        match version(&self.path)? == self.version {
            true => result,
            false => Err(Error::Unavailable(
                "the database was changed during the read: try again".into(),
            )),
        }
    }
}

/// Whether an error is about the whole file or this call, and not about one table or one query.
fn is_general(error: &rusqlite::Error) -> bool {
    use ErrorCode::*;
    has_unfinished_change(error)
        || matches!(
            error.sqlite_error_code(),
            Some(
                CannotOpen
                    | DatabaseBusy
                    | DatabaseLocked
                    | NotADatabase
                    | OperationInterrupted
                    | OutOfMemory
                    | SystemIoFailure
            )
        )
}

/// Whether a journal has a change that is not complete. Reading needs a write then, which takes the change back. Without
/// locks, SQLite cannot know whether the program that writes is still running.
fn has_unfinished_change(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    code == Some(rusqlite::ffi::SQLITE_READONLY_ROLLBACK)
}

/// Why a table or a query cannot be used. Other errors are returned as errors.
pub(crate) fn problem(error: rusqlite::Error) -> Result<String> {
    match error {
        error if is_general(&error) => Err(failed(error)),
        rusqlite::Error::SqlInputError { msg, .. } => Ok(msg),
        rusqlite::Error::SqliteFailure(_, Some(message)) => Ok(message),
        error => Ok(error.to_string()),
    }
}

/// The error of SQLite, in words that help the operator.
pub(crate) fn failed(error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        _ if matches!(error, rusqlite::Error::InvalidQuery) => {
            Error::failed("the query would change the database")
        }
        _ if has_unfinished_change(&error) => Error::Unavailable(
            "another program is writing the database, or was interrupted: try again, or open the database once with \
             `sqlite3`"
                .into(),
        ),
        Some(ErrorCode::DatabaseCorrupt) => {
            Error::Failed(format!("the database is damaged: {error}"))
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::Unavailable("the database is locked".into())
        }
        Some(ErrorCode::OperationInterrupted) => {
            Error::Unavailable("the time of the call is over".into())
        }
        Some(ErrorCode::ReadOnly) => {
            Error::Failed(format!("the database can only be read: {error}"))
        }
        Some(ErrorCode::TooBig) => {
            let limit = u64::try_from(MAX_LENGTH).unwrap_or_default();
            Error::too_large("a value", limit, "fixed in this provider")
        }
        _ => Error::Failed(format!("SQLite: {error}")),
    }
}
