//! Maps code from the cache as a component. This is the only unsafe code that handles data.

#![allow(unsafe_code, reason = "wasmtime cannot check that it has written the file itself")]

use std::os::fd::AsRawFd as _;
use std::path::PathBuf;

use wasmtime::Engine;
use wasmtime::component::Component;

use super::seal::VerifiedCode;

/// Maps verified code. Code from another engine version or other settings is an error: wasmtime checks that
/// itself.
pub(super) fn map(engine: &Engine, verified: &VerifiedCode) -> wasmtime::Result<Component> {
    let path = path(verified);
    // SAFETY: the file must contain what wasmtime's compiler wrote, and must not change while it is mapped.
    // It contains that: a `VerifiedCode` exists only if the seal, which was made with a key that only this
    // user can read, matches every byte of the file behind the descriptor that `path` leads to; or if it
    // matched before, and the file has the same identity, size and change time (as set by the system). Seals
    // are made only for the output of our own compiler process. It does not change: an entry is written under
    // another name, renamed, and never opened for writing again, in a folder and with modes that no other
    // user can write to. A process of the same user could change it, but it could as well write to our
    // memory.
    unsafe { Component::deserialize_file(engine, path) }
}

/// A path to the code, because the engine maps files by path only. On Linux this path leads to the very file
/// that was verified. On other systems it is the name in the cache folder, where no other user can put
/// another file.
fn path(verified: &VerifiedCode) -> PathBuf {
    let by_descriptor = PathBuf::from(format!("/proc/self/fd/{}", verified.file().as_raw_fd()));
    if cfg!(target_os = "linux") && by_descriptor.exists() {
        by_descriptor
    } else {
        verified.path().to_owned()
    }
}
