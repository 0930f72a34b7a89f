//! Access to the files of a plugins folder. A user who can write to the folder can replace a file at any time, also by
//! a pipe, a device or a symbolic link. So a file is opened without waiting for a writer, and the opened file is
//! checked, not the file that was at its path before.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::SystemTime;

use rustix::fs::{CWD, Mode, OFlags, openat};

use larder_platform::files::{INSPECT_FILE, open_beneath};
use larder_runtime::file_fingerprint::FileFingerprint;

/// How the symbolic links of a folder are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkPolicy {
    /// Links may lead anywhere. The owner of the folder is the operator.
    Follow,
    /// Links may lead only to files below the folder: other files belong to other teams or to the host.
    Beneath,
}

/// A folder, identified by its path. The path is resolved again for each access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Directory {
    pub(super) path: PathBuf,
    pub(super) links: LinkPolicy,
}

/// Identifies a folder independently of its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DirectoryId {
    device: u64,
    inode: u64,
    /// A new folder may have the inode of a removed folder. Not every file system records the time of creation.
    created: Option<SystemTime>,
}

impl Directory {
    /// Returns which folder is at the path now.
    pub(super) fn id(&self) -> io::Result<DirectoryId> {
        let metadata = std::fs::metadata(&self.path)?;
        Ok(DirectoryId {
            device: metadata.dev(),
            inode: metadata.ino(),
            created: metadata.created().ok(),
        })
    }

    /// Opens a regular file of the folder, and returns it with its fingerprint. Never waits; without `O_NONBLOCK`,
    /// opening a pipe without a writer would wait.
    pub(super) fn open(&self, name: &str) -> io::Result<(File, FileFingerprint)> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(self.open_with(name, flags)?);
        let metadata = file.metadata()?;
        if metadata.is_file() {
            Ok((file, FileFingerprint::from(&metadata)))
        } else {
            Err(io::Error::other("it is not a regular file"))
        }
    }

    /// Returns the fingerprint of a regular file. `None` for a folder, a pipe or a device, for a name that does not
    /// exist, and for a dangling symbolic link.
    pub(super) fn fingerprint(&self, name: &str) -> io::Result<Option<FileFingerprint>> {
        if self.links == LinkPolicy::Follow {
            return FileFingerprint::of_file(&self.path.join(name));
        }
        let metadata = match self.open_with(name, INSPECT_FILE) {
            Ok(file) => File::from(file).metadata()?,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        Ok(metadata.is_file().then(|| FileFingerprint::from(&metadata)))
    }

    fn open_with(&self, name: &str, flags: OFlags) -> io::Result<OwnedFd> {
        match self.links {
            LinkPolicy::Follow => Ok(openat(CWD, self.path.join(name), flags, Mode::empty())?),
            LinkPolicy::Beneath => open_beneath(&self.path, name, flags),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    fn directory(path: &Path, links: LinkPolicy) -> Directory {
        Directory {
            path: path.into(),
            links,
        }
    }

    #[test]
    fn a_pipe_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        rustix::fs::mknodat(
            CWD,
            dir.path().join("a"),
            rustix::fs::FileType::Fifo,
            Mode::RUSR,
            0,
        )
        .unwrap();
        for links in [LinkPolicy::Follow, LinkPolicy::Beneath] {
            let directory = directory(dir.path(), links);
            let (sender, receiver) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                let opened = directory
                    .open("a")
                    .map(|_| ())
                    .map_err(|error| error.to_string());
                _ = sender.send((opened, directory.fingerprint("a").unwrap()));
            });
            let (opened, fingerprint) = receiver
                .recv_timeout(std::time::Duration::from_secs(60))
                .unwrap();
            assert_eq!(opened, Err("it is not a regular file".into()));
            assert_eq!(fingerprint, None);
        }
    }

    #[test]
    fn links_of_a_team_stay_below_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("own");
        let other = dir.path().join("other");
        std::fs::create_dir_all(own.join("..data")).unwrap();
        std::fs::create_dir(&other).unwrap();
        std::fs::write(own.join("..data/a"), "own").unwrap();
        std::fs::write(other.join("b"), "other").unwrap();
        // The layout of a ConfigMap.
        symlink("..data/a", own.join("a")).unwrap();
        for (name, target) in [
            ("relative", "../other/b".into()),
            ("absolute", other.join("b")),
            ("returning", own.join("a")),
            ("root", "/proc/self/root/etc/hostname".into()),
        ] {
            symlink(&target, own.join(name)).unwrap();
        }
        symlink("../other", own.join("folder")).unwrap();
        let beneath = directory(&own, LinkPolicy::Beneath);
        assert!(beneath.open("a").is_ok() && beneath.fingerprint("a").unwrap().is_some());
        for name in ["relative", "absolute", "returning", "root", "folder/b"] {
            let error = beneath.open(name).unwrap_err().to_string();
            assert!(
                error.contains("leads out of the folder of its team"),
                "{name}: {error}"
            );
            assert!(beneath.fingerprint(name).is_err(), "{name}");
        }
        assert_eq!(beneath.fingerprint("missing").unwrap(), None);
        assert!(directory(&own, LinkPolicy::Follow).open("relative").is_ok());
    }
}
