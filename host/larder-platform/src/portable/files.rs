//! Opening files without races.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

/// Opens a folder to resolve paths below it. This also requires the right to read the folder.
pub const RESOLVE_FOLDER: OFlags = OFlags::RDONLY;
/// Opens a file for its metadata. This also requires the right to read the file, and does not wait for a writer.
pub const INSPECT_FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Opens a file below a folder, one component after another. Every symbolic link is refused, also one that stays below
/// the folder: POSIX cannot resolve links without a race.
pub fn open_beneath(folder: &Path, name: &str, flags: OFlags) -> io::Result<OwnedFd> {
    let resolve = RESOLVE_FOLDER | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = openat(CWD, folder, resolve, Mode::empty())?;
    let mut components = Path::new(name).components().peekable();
    while let Some(Component::Normal(component)) = components.next() {
        let is_last = components.peek().is_none();
        let flags = if is_last { flags } else { resolve };
        let opened = openat(&folder, component, flags | OFlags::NOFOLLOW, Mode::empty());
        let opened = opened.map_err(open_error)?;
        if is_last {
            return Ok(opened);
        }
        folder = opened;
    }
    Err(io::Error::other(
        "its name is not a path below the folder of its team",
    ))
}

fn open_error(error: Errno) -> io::Error {
    match error {
        Errno::LOOP => io::Error::other(
            "it is a symbolic link; on this system, links in the folder of a team are not followed",
        ),
        error => error.into(),
    }
}

/// Returns a path that leads to this descriptor, also if another file is at its former path by now. `None` if the system
/// has no such paths.
pub fn path_of_descriptor(_: impl AsFd) -> Option<PathBuf> {
    None
}

/// Whether the file system of this folder forbids the execution of code from its files. This system does not report it.
pub fn forbids_execution(_: &Path) -> bool {
    false
}
