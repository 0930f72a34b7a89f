//! The local store: content by its digest, and records about the content. Several processes may use the store at the
//! same time. Each file is written completely before it gets its name, so a killed process leaves no damaged files.
//! Readers verify the digest.
//!
//! ```text
//! blobs/sha256/DIGEST     manifests, components, layers of attachments
//! attachments/DIGEST      the digests of the manifests that are attached to an image
//! resolutions/NAME.json   what a reference resolved to
//! lock-files/NAME         the path of a lock file whose components are kept
//! partial/                what is being written
//! teams/NAME/             the store of a team with credentials of its own, with the same folders
//! lock                    held while content is added, and alone while garbage is collected
//! ```

mod error;
mod garbage;
mod records;
mod writer;

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use larder_model::name::Digest;
use rustix::fs::OFlags;

pub use self::error::StoreError;
pub use self::garbage::{GarbageMode, GarbageReport};
pub use self::writer::BlobWriter;

/// The folders of a store.
const BLOBS: &str = "blobs/sha256";
const ATTACHMENTS: &str = "attachments";
const RESOLUTIONS: &str = "resolutions";
const LOCK_FILES: &str = "lock-files";
const PARTIAL: &str = "partial";
const TEAMS: &str = "teams";

/// A local store. Clones share the same store.
#[derive(Debug, Clone)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    is_writable: bool,
}

impl Store {
    /// Opens the store in this folder, and creates it if it does not exist. A store on a read-only file system can only
    /// be read, and may be incomplete.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let opened = prepare(folder);
        let is_writable = match opened {
            Ok(()) => true,
            Err(error) if is_read_only(&error) && folder.join(BLOBS).is_dir() => false,
            Err(error) => return Err(StoreError::io(folder, error)),
        };
        Ok(Self::new(folder, is_writable))
    }

    /// Opens a store that is only read, and that need not exist. Creates no files.
    pub fn read_only(folder: &Path) -> Self {
        Self::new(folder, false)
    }

    fn new(folder: &Path, is_writable: bool) -> Self {
        Self(Arc::new(Inner {
            folder: folder.to_owned(),
            is_writable,
        }))
    }

    /// Returns the folder of a team's store within a store. A team with credentials of its own needs its own store,
    /// because a store returns any content by its digest, also content that another team pulled.
    pub fn folder_of_team(store: &Path, team: &str) -> PathBuf {
        store.join(TEAMS).join(team)
    }

    /// Returns the folder of the store.
    pub fn folder(&self) -> &Path {
        &self.0.folder
    }

    /// Returns whether content can be added.
    pub fn is_writable(&self) -> bool {
        self.0.is_writable
    }

    /// Returns the path of a blob. The blob need not exist.
    pub fn path(&self, digest: &Digest) -> PathBuf {
        self.folder().join(BLOBS).join(digest.to_string())
    }

    /// Returns whether the store has a blob.
    pub fn contains(&self, digest: &Digest) -> bool {
        self.path(digest).is_file()
    }

    /// Reads a blob, and verifies its digest. Blocks the calling thread.
    pub fn read(&self, digest: &Digest, limit: u64) -> Result<Bytes, StoreError> {
        let path = self.path(digest);
        let mut bytes = Vec::new();
        let read =
            open(&path).and_then(|file| file.take(limit.saturating_add(1)).read_to_end(&mut bytes));
        match read {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(StoreError::Missing(*digest))
            }
            Err(error) => Err(StoreError::io(&path, error)),
            Ok(size) if size as u64 > limit => Err(StoreError::TooLarge { path, limit }),
            Ok(_) if Digest::of(&bytes) != *digest => Err(StoreError::Damaged(path)),
            Ok(_) => Ok(bytes.into()),
        }
    }

    /// Adds a blob, or replaces a damaged blob. Blocks the calling thread.
    pub fn put(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        let digest = Digest::of(bytes);
        let is_there = self.keep(&digest)? && self.read(&digest, bytes.len() as u64).is_ok();
        if !is_there {
            let mut writer = self.writer()?;
            writer.write(bytes)?;
            writer.finish(&digest)?;
        }
        Ok(digest)
    }

    /// Removes a blob whose content does not match its digest, so that the blob is pulled again. Blocks the calling
    /// thread.
    pub fn discard_damaged(&self, digest: &Digest) -> Result<(), StoreError> {
        let path = self.path(digest);
        match File::open(&path).and_then(Digest::of_reader) {
            Ok(found) if found == *digest => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            _ => fs::remove_file(&path).map_err(|error| StoreError::io(&path, error)),
        }
    }

    /// Waits until no process collects garbage. While the lock is held, no process can begin to collect garbage.
    fn lock_shared(&self) -> Result<File, StoreError> {
        self.lock(File::lock_shared)
    }

    /// Waits until no process adds content. While the lock is held, no process can begin to add content.
    fn lock_alone(&self) -> Result<File, StoreError> {
        self.lock(File::lock)
    }

    /// The lock is released when the file is dropped.
    fn lock(&self, lock: fn(&File) -> io::Result<()>) -> Result<File, StoreError> {
        let path = self.folder().join("lock");
        let file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path);
        let locked = file.and_then(|file| lock(&file).map(|()| file));
        locked.map_err(|error| StoreError::io(&path, error))
    }

    fn require_writable(&self) -> Result<(), StoreError> {
        if self.is_writable() {
            Ok(())
        } else {
            Err(StoreError::ReadOnly(self.folder().to_owned()))
        }
    }
}

/// Opens a file without following a link.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    fs::OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

/// Creates the folders with access only for their owner, and checks that files can be created.
fn prepare(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    for part in [BLOBS, ATTACHMENTS, RESOLUTIONS, LOCK_FILES, PARTIAL] {
        builder.create(folder.join(part))?;
    }
    tempfile::tempfile_in(folder.join(PARTIAL)).map(drop)
}

fn is_read_only(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied
    )
}

#[cfg(test)]
mod tests;
