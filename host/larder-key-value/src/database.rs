//! The file of the database: opened when it is first needed, closed after an error, and moved aside if it is damaged.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use redb::backends::FileBackend;
use redb::{Builder, Database, StorageBackend};
use rustix::fs::{Access, access, statvfs};

use super::error::{KeyValueError, OperationError};
use super::read_only::ReadOnlyFile;
use super::tables::{Usage, usage};
use larder_model::name::TeamName;
use larder_runtime::health::{Health, Impact};
use larder_runtime::private_files::{self, ACCESSIBLE_TO_OTHERS, FileTrustError};

/// Memory for the pages of one database. Values are small, and the system caches the file too.
const CACHE_BYTES: usize = 2 << 20;
/// Space that a disk must have for a change, in addition to four times its bytes: the database writes a new copy of
/// each changed page.
const MIN_SPACE: u64 = 4 << 20;
/// How long to wait after a failure before the file is opened again.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The file of a database. All methods block the calling thread.
pub(crate) struct DatabaseFile {
    path: PathBuf,
    team: TeamName,
    health: Health,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: Option<Arc<Database>>,
    /// Why the file cannot be used, and until when this is assumed.
    failed: Option<(Instant, KeyValueError)>,
    /// Until when no value is changed, because a change failed. Values can be read meanwhile.
    changes_refused_until: Option<Instant>,
    /// Whether the file can be read, but not written.
    is_read_only: bool,
}

/// Why the file cannot be opened.
enum OpenError {
    Damaged(String),
    InUse,
    /// The file cannot be read or written, but can be trusted.
    Io(String),
    Other(String),
}

/// A database, and whether its file can only be read.
struct DatabaseHandle {
    database: Database,
    is_read_only: bool,
}

impl DatabaseFile {
    pub(crate) fn new(path: PathBuf, team: &TeamName, health: Health) -> Self {
        Self {
            path,
            team: team.clone(),
            health,
            state: Mutex::default(),
        }
    }

    /// Runs work on the database. If the database does not exist, creates it.
    pub(crate) fn run<T>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, OperationError>,
    ) -> Result<T, KeyValueError> {
        let database = self.open()?;
        // The database panics if a page is damaged.
        match catch_unwind(AssertUnwindSafe(|| work(&database))) {
            Ok(Ok(output)) => Ok(output),
            Ok(Err(OperationError::Refused(error))) => Err(error),
            Ok(Err(OperationError::Storage(error))) => {
                Err(self.close(&database, &error.to_string()))
            }
            Err(_) => Err(self.close(&database, "an operation panicked; see the log")),
        }
    }

    /// Refuses a change if the last one failed, or if the file cannot be written.
    pub(crate) fn check_writable(&self) -> Result<(), KeyValueError> {
        let mut state = self.lock();
        let is_refused = |until: Instant| until > Instant::now();
        if state.changes_refused_until.is_some_and(is_refused) {
            let why = "its file could not be read or written".into();
            return Err(KeyValueError::Unavailable(why));
        }
        if !state.is_read_only {
            return Ok(());
        }
        if access(&self.path, Access::WRITE_OK).is_err() {
            return Err(KeyValueError::Unavailable("its file is read-only".into()));
        }
        // It is opened again, for writing too.
        *state = State::default();
        Ok(())
    }

    /// Refuses a change of this many bytes if the disk is full. After a failed write, values cannot be read either
    /// until the database is repaired, and the repair also needs space.
    pub(crate) fn check_space(&self, bytes: u64) -> Result<(), KeyValueError> {
        let part = format!("space for values of {}", self.team);
        let folder = self.path.ancestors().skip(1).find(|folder| folder.exists());
        let free = folder.and_then(|folder| statvfs(folder).ok());
        let free = free.map(|found| found.f_bavail.saturating_mul(found.f_frsize));
        if free.is_none_or(|free| free >= bytes.saturating_mul(4).saturating_add(MIN_SPACE)) {
            self.health.resolve(&part);
            return Ok(());
        }
        let path = self.path.display();
        let team = &self.team;
        let message = format!(
            "the stored values of team {team} cannot be changed: the disk of {path} is full"
        );
        self.health.report(&part, message, Impact::OperatorOnly);
        Err(KeyValueError::Unavailable("the disk is full".into()))
    }

    /// Runs work on the database if it exists.
    pub(crate) fn run_if_exists<T: Default>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, OperationError>,
    ) -> Result<T, KeyValueError> {
        if self.lock().open.is_none()
            && matches!(self.path.symlink_metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound)
        {
            Ok(T::default())
        } else {
            self.run(work)
        }
    }

    fn open(&self) -> Result<Arc<Database>, KeyValueError> {
        let mut state = self.lock();
        if let Some(database) = &state.open {
            return Ok(database.clone());
        }
        if let Some((_, error)) = state
            .failed
            .as_ref()
            .filter(|(until, _)| *until > Instant::now())
        {
            return Err(error.clone());
        }
        match open(&self.path) {
            Ok(opened) => {
                let database = Arc::new(opened.database);
                state.open = Some(database.clone());
                state.failed = None;
                state.is_read_only = opened.is_read_only;
                self.report_opened(opened.is_read_only);
                Ok(database)
            }
            Err(error) => {
                let error = self.report(error);
                state.failed = Some((Instant::now() + RETRY_DELAY, error.clone()));
                Err(error)
            }
        }
    }

    /// Closes the database after an error. It is checked when it is opened again.
    fn close(&self, database: &Arc<Database>, why: &str) -> KeyValueError {
        let mut state = self.lock();
        if state
            .open
            .as_ref()
            .is_some_and(|open| Arc::ptr_eq(open, database))
        {
            tracing::error!(path = %self.path.display(), why, "the key-value store failed, and is opened again");
            *state = State {
                changes_refused_until: Some(Instant::now() + RETRY_DELAY),
                ..State::default()
            };
        }
        KeyValueError::Unavailable("its file could not be read or written".into())
    }

    fn report_opened(&self, is_read_only: bool) {
        let part = self.health_part();
        if !is_read_only {
            self.health.resolve(&part);
            return;
        }
        let path = self.path.display();
        let team = &self.team;
        let message = format!(
            "the stored values of team {team} can be read, but not changed: {path} cannot be written"
        );
        tracing::error!("{message}");
        self.health.report(&part, message, Impact::OperatorOnly);
    }

    /// Reports the error to the operator, and moves a damaged file aside.
    fn report(&self, error: OpenError) -> KeyValueError {
        let path = self.path.display();
        let team = &self.team;
        let (part, message) = match error {
            OpenError::InUse => {
                let message =
                    format!("another process uses the stored values of team {team} ({path})");
                self.health
                    .report(&self.health_part(), message, Impact::OperatorOnly);
                return KeyValueError::InUse;
            }
            OpenError::Io(why) | OpenError::Other(why) => (
                self.health_part(),
                format!("the stored values of team {team} cannot be opened: {path} {why}"),
            ),
            OpenError::Damaged(why) => {
                let what = self.move_aside();
                // The problem stays until the server is restarted, because the values are lost.
                let part = format!("damaged values of {team}");
                (
                    part,
                    format!(
                        "the stored values of team {team} were damaged ({path}: {why}): {what}"
                    ),
                )
            }
        };
        tracing::error!("{message}");
        self.health.report(&part, message, Impact::OperatorOnly);
        KeyValueError::Unavailable("its file cannot be opened".into())
    }

    /// Returns what happened to the file.
    fn move_aside(&self) -> String {
        let aside = self.path.with_extension("redb.damaged");
        match std::fs::rename(&self.path, &aside) {
            Ok(()) => {
                let aside = aside.display();
                format!("it was moved to {aside}, and providers begin without values")
            }
            Err(error) => format!("it cannot be moved aside: {error}"),
        }
    }

    /// The name of this file in the health of the server.
    fn health_part(&self) -> String {
        format!("values of {}", self.team)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// Checks an existing database, and returns what each provider stores in it. Unlike a store, this does not move a
/// damaged file. Blocks the calling thread.
pub fn verify_database(path: &Path) -> Result<BTreeMap<String, Usage>, KeyValueError> {
    let unavailable = |why: String| KeyValueError::Unavailable(why);
    let opened = open(path).map_err(|error| match error {
        OpenError::InUse => KeyValueError::InUse,
        OpenError::Damaged(why) => unavailable(format!("it is damaged: {why}")),
        OpenError::Io(why) | OpenError::Other(why) => unavailable(format!("it {why}")),
    })?;
    let database = opened.database;
    match catch_unwind(AssertUnwindSafe(|| usage(&database))) {
        Ok(Ok(usage)) => Ok(usage),
        Ok(Err(OperationError::Refused(error))) => Err(error),
        Ok(Err(OperationError::Storage(error))) => Err(unavailable(error.to_string())),
        Err(_) => Err(unavailable("it is damaged".into())),
    }
}

/// Opens the file and checks it completely. The folder belongs to this user, and no other user has access. A file that
/// cannot be written is opened for reading.
fn open(path: &Path) -> Result<DatabaseHandle, OpenError> {
    if let Some(folder) = path.parent() {
        create_folder(folder)?;
    }
    if matches!(path.symlink_metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound) {
        return create(path).map(writable);
    }
    match open_to_write(path) {
        Ok(database) => Ok(writable(database)),
        Err(error @ OpenError::Io(_)) => open_to_read(path).map_err(|_| error),
        Err(error) => Err(error),
    }
}

fn writable(database: Database) -> DatabaseHandle {
    DatabaseHandle {
        database,
        is_read_only: false,
    }
}

fn open_to_write(path: &Path) -> Result<Database, OpenError> {
    let file = private_files::open_read_write(path, ACCESSIBLE_TO_OTHERS).map_err(untrusted)?;
    open_file(file, false)
}

fn open_to_read(path: &Path) -> Result<DatabaseHandle, OpenError> {
    let file = private_files::open(path, ACCESSIBLE_TO_OTHERS).map_err(untrusted)?;
    let backend = ReadOnlyFile::new(file).map_err(|error| database_error(error.into()))?;
    Ok(DatabaseHandle {
        database: open_backend_safely(backend)?,
        is_read_only: true,
    })
}

/// Creates the file under another name first, so that a creation that fails leaves no damaged file.
fn create(path: &Path) -> Result<Database, OpenError> {
    let new = path.with_extension("redb.new");
    let file = private_files::open_read_write(&new, ACCESSIBLE_TO_OTHERS).map_err(untrusted)?;
    let database = open_file(file, true)?;
    let renamed = std::fs::rename(&new, path);
    // After a power failure, a new file must still exist.
    let synced = renamed.and_then(|()| match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    });
    synced.map_err(|error| OpenError::Other(error.to_string()))?;
    Ok(database)
}

/// Opens a database, after the content of the file was removed if it `is_new`.
fn open_file(file: File, is_new: bool) -> Result<Database, OpenError> {
    let backend = FileBackend::new(file).map_err(|error| database_error(error.into()))?;
    if is_new {
        let emptied = backend.set_len(0);
        emptied.map_err(|error| OpenError::Other(error.to_string()))?;
    }
    open_backend_safely(backend)
}

/// Opens a database. The database panics if a page is damaged.
fn open_backend_safely(backend: impl StorageBackend) -> Result<Database, OpenError> {
    let opened = catch_unwind(AssertUnwindSafe(|| open_backend(backend)));
    opened
        .unwrap_or_else(|_| Err(redb::Error::Corrupted("it cannot be read".into())))
        .map_err(database_error)
}

fn create_folder(folder: &Path) -> Result<(), OpenError> {
    let created = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    created.map_err(|error| OpenError::Other(format!("has no folder: {error}")))?;
    private_files::check_folder(folder, ACCESSIBLE_TO_OTHERS).map_err(untrusted)
}

fn open_backend(backend: impl StorageBackend) -> Result<Database, redb::Error> {
    let mut builder = Builder::new();
    builder
        .set_cache_size(CACHE_BYTES)
        .set_check_integrity_on_open(true);
    let database = builder.create_with_backend(backend)?;
    super::tables::create(&database)?;
    Ok(database)
}

fn untrusted(why: FileTrustError) -> OpenError {
    match why {
        FileTrustError::Io(_) => OpenError::Io(why.to_string()),
        _ => OpenError::Other(why.to_string()),
    }
}

fn database_error(error: redb::Error) -> OpenError {
    match error {
        redb::Error::DatabaseAlreadyOpen => OpenError::InUse,
        redb::Error::Io(error) if error.kind() != io::ErrorKind::InvalidData => {
            OpenError::Io(error.to_string())
        }
        error @ (redb::Error::LockProtocolMismatch
        | redb::Error::PreviousIo
        | redb::Error::Backend(_)) => OpenError::Other(error.to_string()),
        error => OpenError::Damaged(error.to_string()),
    }
}
