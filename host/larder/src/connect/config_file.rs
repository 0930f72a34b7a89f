//! A configuration file on disk. It is replaced as a whole. Its mode and its symlink stay, and it is replaced only if
//! its content is still the content that was read.

use std::fs::{self, Metadata, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use super::error::{ConnectError, EditError};

/// The number of symlinks that are followed.
const MAX_LINKS: usize = 40;

/// A file, and its content when it was read.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    /// The path in the form in which it was given.
    path: PathBuf,
    /// The target of the path's symlinks.
    target: PathBuf,
    /// The content. `None` if the file does not exist.
    content: Option<Vec<u8>>,
    metadata: Option<Metadata>,
}

/// Who may read a file that does not exist yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readers {
    /// The users whom the system allows by default.
    Default,
    /// Only the owner, because the file contains a token.
    Owner,
}

impl ConfigFile {
    pub(crate) fn read(path: &Path) -> Result<Self, ConnectError> {
        let target = follow_links(path).map_err(|error| ConnectError::Read {
            path: path.into(),
            error,
        })?;
        let file = Self {
            path: path.into(),
            target,
            content: None,
            metadata: None,
        };
        let metadata = match fs::metadata(&file.target) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(file),
            Err(error) => {
                return Err(ConnectError::Read {
                    path: file.path,
                    error,
                });
            }
        };
        if !metadata.is_file() {
            return Err(ConnectError::NotAFile(file.path));
        }
        let content = file.current()?;
        Ok(Self {
            content,
            metadata: Some(metadata),
            ..file
        })
    }

    /// The text. Empty if the file does not exist.
    pub(crate) fn text(&self) -> Result<&str, ConnectError> {
        std::str::from_utf8(self.content.as_deref().unwrap_or_default()).map_err(|_| {
            ConnectError::Broken {
                path: self.path.clone(),
                reason: EditError::NotText,
            }
        })
    }

    pub(crate) fn exists(&self) -> bool {
        self.content.is_some()
    }

    /// Replaces the file. If its folder is missing, creates the folder. `None` deletes the file. Before that, the
    /// content that was read is written to `backup`.
    pub(crate) fn replace(
        &self,
        text: Option<&str>,
        readers: Readers,
        backup: Option<&Path>,
    ) -> Result<(), ConnectError> {
        let failed = |error| self.cannot_write(error);
        if self.is_read_only() {
            return Err(ConnectError::ReadOnly(self.path.clone()));
        }
        let Some(text) = text else {
            self.back_up_unchanged(backup)?;
            return fs::remove_file(&self.target).map_err(failed);
        };
        let folder = self.target.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(failed)?;
        let new = self
            .new_file(folder, text.as_bytes(), readers)
            .map_err(failed)?;
        self.back_up_unchanged(backup)?;
        self.persist(new)
    }

    fn is_read_only(&self) -> bool {
        let metadata = self.metadata.as_ref();
        metadata.is_some_and(|metadata| metadata.permissions().readonly())
    }

    /// Writes the backup, unless the file has changed since it was read.
    fn back_up_unchanged(&self, backup: Option<&Path>) -> Result<(), ConnectError> {
        self.check_unchanged()?;
        backup.map_or(Ok(()), |backup| self.back_up(backup))
    }

    /// Puts a new file in the place of this one. A file that did not exist must not exist now.
    fn persist(&self, new: tempfile::NamedTempFile) -> Result<(), ConnectError> {
        let persisted = if self.content.is_some() {
            new.persist(&self.target)
        } else {
            new.persist_noclobber(&self.target)
        };
        match persisted.map_err(|error| error.error) {
            Ok(_) => Ok(()),
            Err(error) if self.content.is_none() && error.kind() == ErrorKind::AlreadyExists => {
                Err(ConnectError::Changed(self.path.clone()))
            }
            Err(error) => Err(self.cannot_write(error)),
        }
    }

    fn cannot_write(&self, error: io::Error) -> ConnectError {
        ConnectError::Write {
            path: self.path.clone(),
            error,
        }
    }

    /// Writes the content that was read into a file in the same folder.
    fn back_up(&self, backup: &Path) -> Result<(), ConnectError> {
        let Some(content) = &self.content else {
            return Ok(());
        };
        let failed = |error| ConnectError::Write {
            path: backup.into(),
            error,
        };
        let folder = backup.parent().unwrap_or(Path::new("."));
        let new = self
            .new_file(folder, content, Readers::Owner)
            .map_err(failed)?;
        new.persist(backup).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// Writes a complete file under a temporary name, with the mode and the owner of the file that was read.
    fn new_file(
        &self,
        folder: &Path,
        content: &[u8],
        readers: Readers,
    ) -> io::Result<tempfile::NamedTempFile> {
        let mut builder = tempfile::Builder::new();
        if self.metadata.is_none() && readers == Readers::Default {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(Permissions::from_mode(0o666));
        }
        let mut new = builder.prefix(".larder-").tempfile_in(folder)?;
        new.write_all(content)?;
        if let Some(old) = &self.metadata {
            keep_owner(new.as_file(), old)?;
            new.as_file().set_permissions(old.permissions())?;
        }
        new.as_file().sync_all()?;
        Ok(new)
    }

    fn check_unchanged(&self) -> Result<(), ConnectError> {
        if self.current()? == self.content {
            Ok(())
        } else {
            Err(ConnectError::Changed(self.path.clone()))
        }
    }

    fn current(&self) -> Result<Option<Vec<u8>>, ConnectError> {
        match fs::read(&self.target) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ConnectError::Read {
                path: self.path.clone(),
                error,
            }),
        }
    }
}

/// Follows symlinks, also to a file that does not exist.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = std::path::absolute(path)?;
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(link) => path = path.parent().unwrap_or(Path::new("/")).join(link),
            // The path is not a symlink, or does not exist.
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symlinks"))
}

fn keep_owner(new: &fs::File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let current = new.metadata()?;
    let wanted = |old: u32, new: u32| (old != new).then_some(old);
    match (
        wanted(old.uid(), current.uid()),
        wanted(old.gid(), current.gid()),
    ) {
        (None, None) => Ok(()),
        (owner, group) => std::os::unix::fs::fchown(new, owner, group),
    }
}
