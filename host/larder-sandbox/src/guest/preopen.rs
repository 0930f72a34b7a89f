//! Opens granted folders for a guest. A user who can write to the parent of a granted folder could replace
//! it with a link to another user's folder. So if a real path was granted, none of its components may be a
//! link when it is opened.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, open as open_at_root, openat};
use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

use larder_model::policy::{Access, Dir};
use larder_platform::files::{RESOLVE_FOLDER, path_of_descriptor};

/// Preopens a granted folder for a guest.
pub(super) fn open(wasi: &mut WasiCtxBuilder, dir: &Dir) -> wasmtime::Result<()> {
    let perms = perms(dir.access);
    if !dir.is_canonical {
        // The operator configured this path, so links in it are followed.
        wasi.preopened_dir(&dir.host, &dir.guest, perms)?;
        return Ok(());
    }
    let folder = open_without_links(&dir.host)?;
    wasi.preopened_dir(path_of(&folder, dir), &dir.guest, perms)?;
    Ok(())
}

fn perms(access: Access) -> FsPerms {
    match access {
        Access::Read => FsPerms::ReadOnly,
        Access::Write => FsPerms::ReadWrite,
    }
}

/// A path that leads to this descriptor, also if another folder is at the granted path by now. The path is needed
/// because the engine can open a folder only by its path. Where the system has no such path, it is the granted path:
/// then it is not detected if the folder is replaced between the check and the opening by the engine.
fn path_of(folder: &OwnedFd, dir: &Dir) -> PathBuf {
    path_of_descriptor(folder).unwrap_or_else(|| dir.host.clone())
}

/// Opens each component of a path from the root on, without following links.
fn open_without_links(path: &Path) -> io::Result<OwnedFd> {
    let flags = RESOLVE_FOLDER | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut parts = path.components();
    let not_real = || io::Error::new(io::ErrorKind::InvalidInput, "not a real path");
    let Some(Component::RootDir) = parts.next() else {
        return Err(not_real());
    };
    let mut folder = open_at_root("/", flags, Mode::empty())?;
    for part in parts {
        let Component::Normal(name) = part else {
            return Err(not_real());
        };
        folder = openat(&folder, name, flags, Mode::empty())
            .map_err(|errno| open_error(name, errno.into()))?;
    }
    Ok(folder)
}

/// The system's error for a link is only "not a directory", so the error text names the likely cause.
fn open_error(name: &std::ffi::OsStr, error: io::Error) -> io::Error {
    let hint = "links are not followed in a granted folder: restore the folder, or grant the path that the link leads to";
    io::Error::new(
        error.kind(),
        format!("{}: {error}; {hint}", name.to_string_lossy()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_links_in_every_component() {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().canonicalize().unwrap();
        std::fs::create_dir_all(real.join("a/b")).unwrap();
        std::os::unix::fs::symlink("a", real.join("link")).unwrap();
        std::os::unix::fs::symlink("b", real.join("a/last")).unwrap();
        std::fs::write(real.join("file"), "").unwrap();
        for good in ["", "a", "a/b", "a/./b"] {
            assert!(open_without_links(&real.join(good)).is_ok(), "{good}");
        }
        for bad in ["link", "link/b", "a/last", "a/../a", "file", "gone"] {
            assert!(open_without_links(&real.join(bad)).is_err(), "{bad}");
        }
        assert!(
            open_without_links(Path::new("a")).is_err()
                && open_without_links(Path::new("/")).is_ok()
        );
    }
}
