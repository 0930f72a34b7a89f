//! Granted folders, opened. Who may write beside one could put a link in its place, to somebody else's folder: so
//! where a real path was granted, none of its parts may be a link by now.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, open as open_at_root, openat};
use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

use crate::policy::{Access, Dir};

/// Only a way to what is in it, where the system has such; elsewhere it is opened to be read.
#[cfg(target_os = "linux")]
const WAY: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const WAY: OFlags = OFlags::RDONLY;

/// Opens a folder for a guest.
pub(super) fn open(wasi: &mut WasiCtxBuilder, dir: &Dir) -> wasmtime::Result<()> {
    let perms = match dir.access {
        Access::Read => FsPerms::ReadOnly,
        Access::Write => FsPerms::ReadWrite,
    };
    if !dir.is_real {
        // The operator's own path: where its links lead is the operator's affair.
        wasi.preopened_dir(&dir.host, &dir.guest, perms)?;
        return Ok(());
    }
    let folder = walk(&dir.host)?;
    wasi.preopened_dir(path_of(&folder, dir), &dir.guest, perms)?;
    Ok(())
}

/// The engine opens by path only: by one that leads to this descriptor, whatever stands at the other one by now.
#[cfg(target_os = "linux")]
fn path_of(folder: &OwnedFd, _: &Dir) -> std::path::PathBuf {
    use std::os::fd::AsRawFd as _;
    format!("/proc/self/fd/{}", folder.as_raw_fd()).into()
}

/// Here there is no such path: what is swapped between this moment and the next goes unseen.
#[cfg(not(target_os = "linux"))]
fn path_of(_: &OwnedFd, dir: &Dir) -> std::path::PathBuf {
    dir.host.clone()
}

/// From the root down, a part at a time, following no link.
fn walk(path: &Path) -> io::Result<OwnedFd> {
    let flags = WAY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut parts = path.components();
    let not_real = || io::Error::new(io::ErrorKind::InvalidInput, "it is not a real path");
    let Some(Component::RootDir) = parts.next() else { return Err(not_real()) };
    let mut folder = open_at_root("/", flags, Mode::empty())?;
    for part in parts {
        let Component::Normal(name) = part else { return Err(not_real()) };
        folder = openat(&folder, name, flags, Mode::empty()).map_err(|errno| swapped(name, errno.into()))?;
    }
    Ok(folder)
}

/// A link is no folder to the system, which says no more than that.
fn swapped(name: &std::ffi::OsStr, error: io::Error) -> io::Error {
    let why =
        "if a link stands there now, it is not followed: put the folder back, or write where it leads to";
    io::Error::new(error.kind(), format!("{}: {error}; {why}", name.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_followed_nowhere_on_the_way() {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().canonicalize().unwrap();
        std::fs::create_dir_all(real.join("a/b")).unwrap();
        std::os::unix::fs::symlink("a", real.join("link")).unwrap();
        std::os::unix::fs::symlink("b", real.join("a/last")).unwrap();
        std::fs::write(real.join("file"), "").unwrap();
        for good in ["", "a", "a/b", "a/./b"] {
            assert!(walk(&real.join(good)).is_ok(), "{good}");
        }
        for bad in ["link", "link/b", "a/last", "a/../a", "file", "gone"] {
            assert!(walk(&real.join(bad)).is_err(), "{bad}");
        }
        assert!(walk(Path::new("a")).is_err() && walk(Path::new("/")).is_ok());
    }
}
