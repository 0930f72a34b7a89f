//! Recognizes that the operating system does not let this process execute compiled code, and names the cause. Without
//! this module, every component would be rejected, and no message would name the settings of the service as the cause.

use std::path::{Path, PathBuf};

use rustix::io::Errno;

use larder_platform::files::forbids_execution;

/// Compiled code cannot be executed in this process. This does not depend on the component.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ExecutionError {
    #[error(
        "its compiled code cannot be executed: the cache folder {} is on a file system that is mounted with `noexec`; set another folder with `cache_dir` in [compiler]",
        .0.display()
    )]
    NoExec(PathBuf),
    #[error(
        "its compiled code cannot be executed: the operating system denies this process executable memory ({0}); remove `MemoryDenyWriteExecute=` from the systemd unit, or the rule of seccomp or SELinux that has this effect"
    )]
    Memory(Errno),
}

impl ExecutionError {
    /// Returns the cause if this error of the engine means that code from the cache folder cannot be executed.
    pub(crate) fn of(error: &wasmtime::Error, folder: &Path) -> Option<Self> {
        // An error of opening or reading the file would be an `io::Error`.
        let errno = error
            .chain()
            .find_map(|cause| cause.downcast_ref::<Errno>().copied())?;
        if !matches!(errno, Errno::ACCESS | Errno::PERM) {
            return None;
        }
        Some(if forbids_execution(folder) {
            Self::NoExec(folder.to_owned())
        } else {
            Self::Memory(errno)
        })
    }
}
