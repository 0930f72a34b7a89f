//! Maps code from the cache as a component or a module. This is the only unsafe code that handles data.

#![allow(
    unsafe_code,
    reason = "wasmtime cannot check that it has written the file itself"
)]

use std::os::fd::AsRawFd as _;
use std::path::PathBuf;

use wasmtime::component::Component;
use wasmtime::{Engine, Module};

use super::seal::VerifiedCode;
use super::{Cache, Pins};

/// What an entry of the cache contains.
pub(crate) trait Code: Clone + Send + Sync + 'static {
    /// Maps verified code. Code from another engine version, with other settings, or of another kind is an error, which
    /// wasmtime detects.
    fn map(engine: &Engine, verified: &VerifiedCode) -> wasmtime::Result<Self>;

    /// The pins of the entries of this kind that are in use.
    fn pins(cache: &Cache) -> &Pins<Self>;

    /// The size of the mapped code in bytes.
    fn size(&self) -> u64;
}

impl Code for Component {
    fn map(engine: &Engine, verified: &VerifiedCode) -> wasmtime::Result<Self> {
        map_file(verified, |path| {
            // SAFETY: see `map_file`.
            unsafe { Self::deserialize_file(engine, path) }
        })
    }

    fn pins(cache: &Cache) -> &Pins<Self> {
        &cache.components
    }

    fn size(&self) -> u64 {
        let range = self.image_range();
        (range.end.addr() - range.start.addr()) as u64
    }
}

impl Code for Module {
    fn map(engine: &Engine, verified: &VerifiedCode) -> wasmtime::Result<Self> {
        map_file(verified, |path| {
            // SAFETY: see `map_file`.
            unsafe { Self::deserialize_file(engine, path) }
        })
    }

    fn pins(cache: &Cache) -> &Pins<Self> {
        &cache.libraries
    }

    fn size(&self) -> u64 {
        let range = self.image_range();
        (range.end.addr() - range.start.addr()) as u64
    }
}

/// Calls `deserialize` with a path to the verified code.
fn map_file<T>(
    verified: &VerifiedCode,
    deserialize: impl FnOnce(PathBuf) -> wasmtime::Result<T>,
) -> wasmtime::Result<T> {
    // Why `deserialize` is safe: the file must contain what wasmtime's compiler wrote, and must not change while it is
    // mapped. The first condition holds: a `VerifiedCode` exists only if the seal, which was made with a key that only
    // this user can read, matches every byte of the file behind the descriptor that `path` leads to; or if the seal
    // matched before, and the file has the same identity, size and change time (as set by the system). Seals are made
    // only for the output of our own compiler process. The second condition holds: an entry is written under another
    // name, renamed, and never opened for writing again, in a folder and with modes that no other user can write to. A
    // process of the same user could change the file, but such a process could also write to our memory.
    deserialize(mappable_path(verified))
}

/// A path to the code, because the engine can map a file only by its path. On Linux this path leads to exactly the file
/// that was verified. On other systems the path is the name in the cache folder, where no other user can put another
/// file.
fn mappable_path(verified: &VerifiedCode) -> PathBuf {
    let by_descriptor = PathBuf::from(format!("/proc/self/fd/{}", verified.file().as_raw_fd()));
    if cfg!(target_os = "linux") && by_descriptor.exists() {
        by_descriptor
    } else {
        verified.path().to_owned()
    }
}
