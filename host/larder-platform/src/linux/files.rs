//! Opening files without races.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, StatVfsMountFlags, openat, openat2, statvfs};
use rustix::io::Errno;

/// Opens a folder only to resolve paths below it.
pub const RESOLVE_FOLDER: OFlags = OFlags::PATH;
/// Opens a file only for its metadata. The file itself is not opened.
pub const INSPECT_FILE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Opens a file, and refuses every symbolic link that leads out of the folder. The kernel checks each step, so a link
/// that is replaced in the meantime is refused too.
pub fn open_beneath(folder: &Path, name: &str, flags: OFlags) -> io::Result<OwnedFd> {
    let folder = openat(
        CWD,
        folder,
        RESOLVE_FOLDER | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match openat2(&folder, name, flags, Mode::empty(), resolve) {
        Err(Errno::XDEV) => Err(io::Error::other(
            "it is a symbolic link that leads out of the folder of its team, which is not followed",
        )),
        // On kernels before 5.6, and in containers that do not allow the call, no link is followed at all.
        Err(Errno::NOSYS | Errno::PERM) => open_without_links(&folder, name, flags),
        opened => Ok(opened?),
    }
}

fn open_without_links(folder: &OwnedFd, name: &str, flags: OFlags) -> io::Result<OwnedFd> {
    match openat(folder, name, flags | OFlags::NOFOLLOW, Mode::empty()) {
        Err(Errno::LOOP) => Err(io::Error::other(
            "it is a symbolic link; links in the folder of a team need the system call openat2 (Linux 5.6)",
        )),
        opened => Ok(opened?),
    }
}

/// Returns a path that leads to this descriptor, also if another file is at its former path by now. `None` if the system
/// has no such paths.
pub fn path_of_descriptor(descriptor: impl AsFd) -> Option<PathBuf> {
    let number = descriptor.as_fd().as_raw_fd();
    Some(format!("/proc/self/fd/{number}").into())
}

/// Whether the file system of this folder forbids the execution of code from its files.
pub fn forbids_execution(folder: &Path) -> bool {
    statvfs(folder).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::NOEXEC))
}
