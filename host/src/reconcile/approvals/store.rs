//! Files of JSON in a directory that is ours alone: replaced whole, one writer at a time.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ApprovalsError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Store {
    folder: PathBuf,
}

impl Store {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// What a file holds; nothing if it is not there.
    pub(super) fn read<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T, ApprovalsError> {
        let path = self.path(name);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(T::default()),
            Err(error) => return Err(ApprovalsError::System { path, error }),
        };
        self.refuse_others(&self.folder)?;
        self.refuse_others(&path)?;
        serde_json::from_slice(&text)
            .map_err(|error| ApprovalsError::Damaged { path, why: error.to_string() })
    }

    /// Changes a file while nobody else does. Who reads meanwhile sees it before or after.
    pub(super) fn change<T: DeserializeOwned + Default + Serialize>(
        &self,
        name: &str,
        change: impl FnOnce(&mut T),
    ) -> Result<(), ApprovalsError> {
        self.make_folder().map_err(self.failed(&self.folder))?;
        self.refuse_others(&self.folder)?;
        // The lock goes with the file, however this ends.
        let lock = self.path("lock");
        let held = File::create(&lock).map_err(self.failed(&lock))?;
        held.lock().map_err(self.failed(&lock))?;
        let mut value: T = self.read(name)?;
        change(&mut value);
        let path = self.path(name);
        self.replace(&path, &value).map_err(self.failed(&path))
    }

    fn replace<T: Serialize>(&self, path: &Path, value: &T) -> io::Result<()> {
        let mut fresh = tempfile::NamedTempFile::new_in(&self.folder)?;
        fresh.write_all(&serde_json::to_vec_pretty(value)?)?;
        fresh.write_all(b"\n")?;
        fresh.as_file().sync_all()?;
        fresh.persist(path)?;
        Ok(())
    }

    fn make_folder(&self) -> io::Result<()> {
        if let Some(above) = self.folder.parent() {
            fs::create_dir_all(above)?;
        }
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        }
    }

    fn failed<'a>(&self, path: &'a Path) -> impl Fn(io::Error) -> ApprovalsError + use<'a> {
        move |error| ApprovalsError::System { path: path.to_owned(), error }
    }

    #[cfg(unix)]
    fn refuse_others(&self, path: &Path) -> Result<(), ApprovalsError> {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(path).map_err(self.failed(path))?.permissions().mode();
        if mode & 0o022 == 0 { Ok(()) } else { Err(ApprovalsError::Open(path.to_owned())) }
    }

    #[cfg(not(unix))]
    fn refuse_others(&self, _path: &Path) -> Result<(), ApprovalsError> {
        Ok(())
    }
}
