//! What differs between operating systems. No other crate distinguishes them. Each function exists twice: for Linux,
//! and with POSIX alone for other systems. What all Unix systems have is not here: callers use it directly.
//!
//! The flag `--cfg larder_portable` selects the portable functions on Linux, so that tests can run them there.

#[cfg(not(unix))]
compile_error!(
    "Larder does not support this operating system yet: it runs on Linux, and compiles for macOS. On Windows, use the Windows Subsystem for Linux (docs/src/platforms.md)"
);

#[cfg(all(target_os = "linux", not(larder_portable)))]
mod linux;
#[cfg(all(unix, any(not(target_os = "linux"), larder_portable)))]
mod portable;

#[cfg(all(target_os = "linux", not(larder_portable)))]
pub use self::linux::{LIMITATIONS, files, memory, processes, threads};
#[cfg(all(unix, any(not(target_os = "linux"), larder_portable)))]
pub use self::portable::{LIMITATIONS, files, memory, processes, threads};

#[cfg(all(test, unix))]
mod tests;
