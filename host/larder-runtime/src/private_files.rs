//! Files and folders that only the user of this process may change, because the host trusts their content: approvals,
//! compiled components, and stored values. If the process runs as root, permissions alone do not prevent that it reads
//! a file of another user: so the owner is checked as well, and links are not followed.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

/// The permission bits with which other users can change a file.
pub const WRITABLE_BY_OTHERS: u32 = 0o022;
/// The permission bits with which other users have any access to a file.
pub const ACCESSIBLE_TO_OTHERS: u32 = 0o077;

/// Why a file or a folder is not trusted.
#[derive(Debug, thiserror::Error)]
pub enum FileTrustError {
    /// The file or folder does not exist.
    #[error("does not exist")]
    Missing,
    /// The file or folder cannot be opened.
    #[error("cannot be opened: {0}")]
    Io(io::Error),
    /// It is a folder, a pipe or a device instead of a regular file.
    #[error("is not a regular file")]
    NotRegular,
    /// The file or folder belongs to another user.
    #[error(
        "belongs to another user ({owner}, while this process is {own}): run this command as that user"
    )]
    OtherOwner {
        /// The user to whom the file or folder belongs.
        owner: u32,
        /// The user of this process.
        own: u32,
    },
    /// Other users can change the file or folder.
    #[error("can be written by others (its mode is {0:o}; run `chmod go-w` on it)")]
    WritableByOthers(u32),
    /// Other users can read the file, and must not be able to.
    #[error("can be read by others (its mode is {0:o}; run `chmod go-rwx` on it)")]
    ReadableByOthers(u32),
}

impl From<io::Error> for FileTrustError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound => Self::Missing,
            _ => Self::Io(error),
        }
    }
}

/// Opens a regular file that belongs to this user and has none of the `forbidden` permission bits. Links are not
/// followed.
pub fn open(path: &Path, forbidden: u32) -> Result<File, FileTrustError> {
    open_checked(OpenOptions::new().read(true), path, forbidden)
}

/// Opens a regular file for reading and writing, with the same checks. If the file does not exist, creates it with
/// access only for its owner.
pub fn open_read_write(path: &Path, forbidden: u32) -> Result<File, FileTrustError> {
    open_checked(
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600),
        path,
        forbidden,
    )
}

/// Opens a file for a lock. If the file does not exist, creates it. The content is not changed.
pub fn open_lock(path: &Path) -> Result<File, FileTrustError> {
    open_checked(
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600),
        path,
        WRITABLE_BY_OTHERS,
    )
}

/// Checks that a folder belongs to this user and has none of the `forbidden` permission bits.
pub fn check_folder(path: &Path, forbidden: u32) -> Result<(), FileTrustError> {
    check(&std::fs::metadata(path)?, forbidden)
}

fn open_checked(
    options: &mut OpenOptions,
    path: &Path,
    forbidden: u32,
) -> Result<File, FileTrustError> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = options
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(FileTrustError::NotRegular);
    }
    check(&metadata, forbidden)?;
    Ok(file)
}

fn check(metadata: &Metadata, forbidden: u32) -> Result<(), FileTrustError> {
    let owner = metadata.uid();
    let own = rustix::process::geteuid().as_raw();
    if owner != own {
        return Err(FileTrustError::OtherOwner { owner, own });
    }
    let mode = metadata.mode() & 0o7777;
    match mode & forbidden {
        0 => Ok(()),
        bits if bits & WRITABLE_BY_OTHERS != 0 => Err(FileTrustError::WritableByOthers(mode)),
        _ => Err(FileTrustError::ReadableByOthers(mode)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

    use super::*;

    #[test]
    fn a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("target");
        let link = dir.path().join("link");
        std::fs::write(&target, "content").unwrap();
        symlink(&target, &link).unwrap();
        assert!(matches!(open(&link, 0), Err(FileTrustError::Io(_))));
        assert!(matches!(open_lock(&link), Err(FileTrustError::Io(_))));
        open_lock(&target).unwrap();
        assert_eq!(
            std::fs::read_to_string(&target).unwrap(),
            "content",
            "a lock file keeps its content"
        );
    }

    #[test]
    fn checks_the_kind_and_the_permissions() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a");
        assert!(matches!(open(&file, 0), Err(FileTrustError::Missing)));
        std::fs::write(&file, "").unwrap();
        for (mode, forbidden, is_trusted) in [
            (0o600, ACCESSIBLE_TO_OTHERS, true),
            (0o640, ACCESSIBLE_TO_OTHERS, false),
            (0o644, WRITABLE_BY_OTHERS, true),
            (0o620, WRITABLE_BY_OTHERS, false),
        ] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(open(&file, forbidden).is_ok(), is_trusted, "{mode:o}");
        }
        assert!(matches!(
            open(dir.path(), 0),
            Err(FileTrustError::NotRegular)
        ));
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        assert!(check_folder(dir.path(), ACCESSIBLE_TO_OTHERS).is_ok());
    }

    /// Only root can give a file to another user.
    #[test]
    fn checks_the_owner() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a");
        std::fs::write(&file, "").unwrap();
        if chown(&file, Some(65_534), None).is_err() {
            eprintln!("skipped: only root can change the owner of a file");
            return;
        }
        assert!(matches!(
            open(&file, 0),
            Err(FileTrustError::OtherOwner { owner: 65_534, .. })
        ));
        assert!(matches!(
            open_lock(&file),
            Err(FileTrustError::OtherOwner { .. })
        ));
        chown(dir.path(), Some(65_534), None).unwrap();
        assert!(matches!(
            check_folder(dir.path(), 0),
            Err(FileTrustError::OtherOwner { .. })
        ));
    }
}
