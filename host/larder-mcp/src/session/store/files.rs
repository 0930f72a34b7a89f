//! The files of stored sessions: one for each session, encrypted, in a folder that only this user can access. A file is
//! replaced only by renaming, so that it is complete also if the process was killed. The file is not synchronized to
//! the disk: a session that was opened right before a power failure may be lost.

use std::fs::{DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::record::MAX_RECORD_BYTES;
use super::{SessionKey, SessionRecord, StoredSession};
use crate::client_side::sealing::SealingKey;
use larder_runtime::private_files::{
    self, ACCESSIBLE_TO_OTHERS, FileTrustError, WRITABLE_BY_OTHERS,
};

/// Name of the file with the key.
const KEY_FILE: &str = "key";
/// Name of the file that is locked by the server that uses the folder.
const LOCK_FILE: &str = "lock";
/// Prefix of the names of files that are being written.
const NEW_PREFIX: &str = ".new-";
/// The bytes of an encrypted file in addition to its content, at most.
const MAX_SEAL_BYTES: usize = 64;

/// The folder. It is locked until this value is dropped.
pub(super) struct SessionFiles {
    folder: PathBuf,
    key: SealingKey,
    _lock: File,
}

impl SessionFiles {
    /// Opens the folder. If the folder does not exist, creates it.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        create_folder(folder)?;
        let untrusted =
            |why: FileTrustError| io::Error::other(format!("{} {why}", folder.display()));
        private_files::check_folder(folder, ACCESSIBLE_TO_OTHERS).map_err(untrusted)?;
        let lock = private_files::open_lock(&folder.join(LOCK_FILE)).map_err(untrusted)?;
        lock.try_lock().map_err(|_| folder_in_use(folder))?;
        let key = SealingKey::open(&folder.join(KEY_FILE))?;
        Ok(Self {
            folder: folder.to_owned(),
            key,
            _lock: lock,
        })
    }

    /// Lists all sessions. Removes files that cannot be read, and files that were not completed.
    pub(super) fn list(&self) -> io::Result<Vec<StoredSession>> {
        let mut sessions = Vec::new();
        let mut removed = 0;
        for entry in std::fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            let Some(name) = name.to_str() else { continue };
            if name.starts_with(NEW_PREFIX) {
                self.remove_file(name)?;
            }
            let Some(key) = SessionKey::parse(name) else {
                continue;
            };
            match self.read(key)? {
                Some((record, last_used, bytes)) => {
                    sessions.push(StoredSession {
                        key,
                        owner: record.owner,
                        last_used,
                        bytes,
                    });
                }
                None => {
                    self.remove(key)?;
                    removed += 1;
                }
            }
        }
        if removed > 0 {
            tracing::warn!(removed, folder = %self.folder.display(), "removed stored sessions that cannot be read");
        }
        Ok(sessions)
    }

    pub(super) fn load(&self, key: SessionKey) -> io::Result<Option<SessionRecord>> {
        Ok(self.read(key)?.map(|(record, ..)| record))
    }

    /// Writes a session.
    pub(super) fn write(&self, key: SessionKey, content: Vec<u8>) -> io::Result<()> {
        let name = key.to_string();
        let sealed = self.key.seal(name.as_bytes(), content)?;
        // The crate documents mode 0600.
        let mut file = tempfile::Builder::new()
            .prefix(NEW_PREFIX)
            .tempfile_in(&self.folder)?;
        file.write_all(&sealed)?;
        file.persist(self.folder.join(name))
            .map(|_: File| ())
            .map_err(|error| error.error)
    }

    pub(super) fn touch(&self, key: SessionKey, last_used: SystemTime) -> io::Result<()> {
        match private_files::open(&self.path(key), WRITABLE_BY_OTHERS) {
            Ok(file) => file.set_modified(last_used),
            Err(FileTrustError::Missing) => Ok(()),
            Err(why) => Err(io::Error::other(why)),
        }
    }

    pub(super) fn remove(&self, key: SessionKey) -> io::Result<()> {
        self.remove_file(&key.to_string())
    }

    fn remove_file(&self, name: &str) -> io::Result<()> {
        match std::fs::remove_file(self.folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Reads a session, with the time of its last use and its size.
    fn read(&self, key: SessionKey) -> io::Result<Option<(SessionRecord, SystemTime, usize)>> {
        let file = match private_files::open(&self.path(key), ACCESSIBLE_TO_OTHERS) {
            Ok(file) => file,
            Err(FileTrustError::Io(error)) => return Err(error),
            Err(_) => return Ok(None),
        };
        let last_used = file.metadata()?.modified()?;
        let limit = (MAX_RECORD_BYTES + MAX_SEAL_BYTES) as u64;
        let mut sealed = Vec::new();
        file.take(limit).read_to_end(&mut sealed)?;
        let bytes = sealed.len();
        let content = self.key.unseal(key.to_string().as_bytes(), sealed);
        let record = content.and_then(|content| SessionRecord::from_bytes(&content));
        Ok(record.map(|record| (record, last_used, bytes)))
    }

    fn path(&self, key: SessionKey) -> PathBuf {
        self.folder.join(key.to_string())
    }
}

fn create_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn folder_in_use(folder: &Path) -> io::Error {
    let message = format!("another server uses {}", folder.display());
    io::Error::new(io::ErrorKind::ResourceBusy, message)
}
