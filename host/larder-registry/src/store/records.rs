//! Records about the content: attachments, resolutions, and the lock files that refer to it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use larder_model::name::Digest;

use super::{ATTACHMENTS, LOCK_FILES, PARTIAL, RESOLUTIONS, Store, StoreError};
use crate::resolution::StoredResolution;
use crate::{Resolution, ResolutionKey};

impl Store {
    /// Returns the file that records the attachments of an image. Its content changes only when the file is replaced.
    pub fn attachments_file(&self, image: &Digest) -> PathBuf {
        self.folder().join(ATTACHMENTS).join(image.to_string())
    }

    /// Records the attachments of an image. The manifests of the attachments and their layers are already in the store.
    pub(crate) fn set_attachments(
        &self,
        image: &Digest,
        attached: &[Digest],
    ) -> Result<(), StoreError> {
        let lines: Vec<_> = attached
            .iter()
            .map(|digest| format!("sha256:{digest}\n"))
            .collect();
        self.replace(&self.attachments_file(image), lines.concat().as_bytes())
    }

    /// Returns the digests of the manifests that are attached to an image.
    pub(crate) fn attachment_digests(&self, image: &Digest) -> Result<Vec<Digest>, StoreError> {
        let path = self.attachments_file(image);
        let text = read_if_exists(&path)?.unwrap_or_default();
        let digests: Result<Vec<_>, _> = text.lines().map(Digest::parse).collect();
        digests.map_err(|_| StoreError::Damaged(path))
    }

    /// Returns whether the attachments of an image were already requested. Blocks the calling thread.
    pub(crate) fn knows_attachments(&self, image: &Digest) -> bool {
        self.attachments_file(image).is_file()
    }

    /// Records the resolution of a reference. Does nothing if the store is read-only.
    pub fn set_resolution(&self, key: &ResolutionKey, to: &Resolution) -> Result<(), StoreError> {
        if !self.is_writable() {
            return Ok(());
        }
        let text = serde_json::to_vec(&StoredResolution::from(to)).unwrap_or_default();
        self.replace(&self.resolution_path(key), &text)
    }

    /// Returns the resolution of a reference. `None` if it is unknown or damaged.
    pub fn resolution(&self, key: &ResolutionKey) -> Result<Option<Resolution>, StoreError> {
        let text = read_if_exists(&self.resolution_path(key))?;
        let stored: Option<StoredResolution> =
            text.and_then(|text| serde_json::from_str(&text).ok());
        Ok(stored.and_then(StoredResolution::parse))
    }

    /// Extends the protection of a reference's resolution against garbage collection.
    pub fn touch_resolution(&self, key: &ResolutionKey) {
        if let Ok(file) = File::options().append(true).open(self.resolution_path(key)) {
            // If this fails, the content may have to be pulled again after a long time.
            _ = file.set_modified(std::time::SystemTime::now());
        }
    }

    /// Keeps the components of this lock file as long as the file exists. Does nothing if the store is read-only.
    pub fn register_lock_file(&self, path: &Path) -> Result<(), StoreError> {
        if !self.is_writable() {
            return Ok(());
        }
        let path = std::path::absolute(path).map_err(|error| StoreError::io(path, error))?;
        let text = path.as_os_str().as_encoded_bytes();
        self.replace(
            &self
                .folder()
                .join(LOCK_FILES)
                .join(Digest::of(text).to_string()),
            text,
        )
    }

    pub(super) fn resolution_path(&self, key: &ResolutionKey) -> PathBuf {
        self.folder().join(RESOLUTIONS).join(key.file_name())
    }

    /// Replaces a file in one step.
    fn replace(&self, path: &Path, content: &[u8]) -> Result<(), StoreError> {
        self.require_writable()?;
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(self.folder().join(PARTIAL))?;
            file.write_all(content)?;
            file.as_file().sync_all()?;
            Ok(file)
        };
        let file = write().map_err(|error| StoreError::io(path, error))?;
        let _shared = self.lock_shared()?;
        file.persist(path)
            .map_err(|error| StoreError::io(path, error.error))?;
        Ok(())
    }
}

/// Reads a small file.
fn read_if_exists(path: &Path) -> Result<Option<String>, StoreError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(StoreError::Damaged(path.to_owned()))
        }
        Err(error) => Err(StoreError::io(path, error)),
    }
}
