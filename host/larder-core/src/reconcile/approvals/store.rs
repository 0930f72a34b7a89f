//! JSON files in a directory that only the owner can write. Files are replaced atomically, by one writer at a
//! time.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ApprovalsError;
use larder_runtime::private_files::{self, FileTrustError, WRITABLE_BY_OTHERS};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JsonStore {
    folder: PathBuf,
    is_read_only: bool,
}

impl JsonStore {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            is_read_only: false,
        }
    }

    /// Omits all changes.
    pub(super) fn read_only(self) -> Self {
        Self {
            is_read_only: true,
            ..self
        }
    }

    /// Files in a folder of this folder.
    pub(super) fn subfolder(&self, name: &str) -> Self {
        Self {
            folder: self.folder.join(name),
            ..self.clone()
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Reads a file. A missing file yields the default value.
    pub(super) fn read<T: DeserializeOwned + Default>(
        &self,
        name: &str,
    ) -> Result<T, ApprovalsError> {
        let path = self.path(name);
        let mut file = match private_files::open(&path, WRITABLE_BY_OTHERS) {
            Err(FileTrustError::Missing) => return Ok(T::default()),
            opened => opened.map_err(untrusted(&path))?,
        };
        private_files::check_folder(&self.folder, WRITABLE_BY_OTHERS)
            .map_err(untrusted(&self.folder))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed(&path))?;
        serde_json::from_slice(&text).map_err(|error| ApprovalsError::Damaged {
            path,
            why: error.to_string(),
        })
    }

    /// Changes a file under a lock. Concurrent readers see the old or the new content, never a mixture.
    pub(super) fn change<T: DeserializeOwned + Default + Serialize>(
        &self,
        name: &str,
        change: impl FnOnce(&mut T),
    ) -> Result<(), ApprovalsError> {
        if self.is_read_only {
            return Ok(());
        }
        self.prepare_folder()?;
        // The lock is released when the file is dropped, also after an error.
        let lock = self.path("lock");
        let lock_file = private_files::open_lock(&lock).map_err(untrusted(&lock))?;
        lock_file.lock().map_err(failed(&lock))?;
        let mut value: T = self.read(name)?;
        change(&mut value);
        let path = self.path(name);
        self.replace(&path, &value).map_err(failed(&path))
    }

    /// Writes a file that never changes. If it exists, only its modification time changes, which says when it was used.
    /// Returns whether it was written.
    pub(super) fn write_once<T: Serialize>(
        &self,
        name: &str,
        value: impl FnOnce() -> T,
    ) -> Result<bool, ApprovalsError> {
        if self.is_read_only {
            return Ok(false);
        }
        let path = self.path(name);
        if let Ok(file) = private_files::open(&path, WRITABLE_BY_OTHERS) {
            file.set_modified(SystemTime::now())
                .map_err(failed(&path))?;
            return Ok(false);
        }
        self.prepare_folder()?;
        self.replace(&path, &value()).map_err(failed(&path))?;
        Ok(true)
    }

    /// Creates the folder, and checks that only its owner can write it.
    fn prepare_folder(&self) -> Result<(), ApprovalsError> {
        self.create_folder().map_err(failed(&self.folder))?;
        private_files::check_folder(&self.folder, WRITABLE_BY_OTHERS)
            .map_err(untrusted(&self.folder))
    }

    fn replace<T: Serialize>(&self, path: &Path, value: &T) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(&serde_json::to_vec_pretty(value)?)?;
        file.write_all(b"\n")?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }

    fn create_folder(&self) -> io::Result<()> {
        if let Some(parent) = self.folder.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut builder = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            result => result,
        }
    }
}

pub(super) fn failed(path: &Path) -> impl Fn(io::Error) -> ApprovalsError + use<'_> {
    move |error| ApprovalsError::Io {
        path: path.to_owned(),
        error,
    }
}

fn untrusted(path: &Path) -> impl FnOnce(FileTrustError) -> ApprovalsError + use<> {
    let path = path.to_owned();
    move |why| ApprovalsError::Untrusted { path, why }
}
