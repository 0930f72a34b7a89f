//! Writes a blob piece by piece. The file has a temporary name until it is complete.

use std::fs::File;
use std::io::Write as _;

use larder_model::name::Digest;
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use super::{BLOBS, PARTIAL, Store, StoreError};

/// A blob that is being written. If it is dropped before it is finished, nothing is stored.
#[derive(Debug)]
pub struct BlobWriter {
    store: Store,
    file: NamedTempFile,
    hasher: Sha256,
    size: u64,
}

impl Store {
    /// Begins to write a blob. Blocks the calling thread.
    pub fn writer(&self) -> Result<BlobWriter, StoreError> {
        self.require_writable()?;
        let folder = self.folder().join(PARTIAL);
        let create = || {
            let file = NamedTempFile::new_in(&folder)?;
            // A locked file is not garbage.
            file.as_file().lock()?;
            Ok(file)
        };
        let file = create().map_err(|error| StoreError::io(&folder, error))?;
        Ok(BlobWriter {
            store: self.clone(),
            file,
            hasher: Sha256::new(),
            size: 0,
        })
    }

    /// Protects an existing blob against garbage collection for a while. Returns whether the blob exists.
    pub(crate) fn keep(&self, digest: &Digest) -> Result<bool, StoreError> {
        let path = self.path(digest);
        if !self.is_writable() {
            return Ok(path.is_file());
        }
        let _shared = self.lock_shared()?;
        match File::options().append(true).open(&path) {
            Ok(file) => {
                // This fails only on unusual file systems, on which the age of the file protects it.
                _ = file.set_modified(std::time::SystemTime::now());
                Ok(true)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(StoreError::io(&path, error)),
        }
    }
}

impl BlobWriter {
    /// Appends bytes. Blocks the calling thread.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.hasher.update(bytes);
        self.size = self.size.saturating_add(bytes.len() as u64);
        self.file
            .write_all(bytes)
            .map_err(|error| StoreError::io(self.store.folder(), error))
    }

    /// Returns the number of bytes that were written so far.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Stores the blob if it has this digest. Blocks the calling thread.
    pub fn finish(self, expected: &Digest) -> Result<(), StoreError> {
        let store = self.store;
        let file = self.file;
        let actual = Digest::from_bytes(self.hasher.finalize().into());
        if actual != *expected {
            return Err(StoreError::WrongDigest {
                expected: *expected,
                actual,
            });
        }
        let failed = |error| StoreError::io(store.folder(), error);
        file.as_file().sync_all().map_err(failed)?;
        let _shared = store.lock_shared()?;
        file.persist(store.path(expected))
            .map_err(|error| failed(error.error))?;
        // The name must survive a power failure too.
        File::open(store.folder().join(BLOBS))
            .and_then(|folder| folder.sync_all())
            .map_err(failed)
    }
}
