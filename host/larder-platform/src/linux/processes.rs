//! This process and its children.

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, Signal, set_parent_process_death_signal};

/// The resource that `setrlimit` limits to bound the memory of a process. `None` if the system has no such limit.
pub const MEMORY_RESOURCE: Option<Resource> = Some(Resource::As);

/// Returns the path of the running program. The path leads to the running version even if the file was replaced.
pub fn own_program() -> io::Result<PathBuf> {
    let own = Path::new("/proc/self/exe");
    if own.exists() {
        return Ok(own.to_owned());
    }
    std::env::current_exe()
}

/// Lets the system kill this process when its parent ends.
pub fn end_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Lets a pipe hold this many bytes, if the system permits it. A smaller pipe is only slower.
pub fn enlarge_pipe(pipe: impl AsFd, size: usize) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, size);
}

/// Returns the number of open file descriptors of this process.
pub fn open_descriptors() -> Option<usize> {
    let all = std::fs::read_dir("/proc/self/fd").ok()?;
    // The count includes the descriptor that reads this folder.
    Some(all.count().saturating_sub(1))
}
