//! This process and its children.

use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;

use rustix::process::Resource;

/// The resource that `setrlimit` limits to bound the memory of a process. `None` if the system has no such limit.
pub const MEMORY_RESOURCE: Option<Resource> = None;

/// Returns the path of the running program. If the file was replaced, the path leads to the new version.
pub fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// Does nothing: this system does not kill a process when its parent ends.
pub fn end_with_parent() -> io::Result<()> {
    Ok(())
}

/// Does nothing: this system chooses the size of a pipe itself.
pub fn enlarge_pipe(_: impl AsFd, _: usize) {}

/// Returns the number of open file descriptors of this process.
pub fn open_descriptors() -> Option<usize> {
    let all = std::fs::read_dir("/dev/fd").ok()?;
    // The count includes the descriptor that reads this folder.
    Some(all.count().saturating_sub(1))
}
