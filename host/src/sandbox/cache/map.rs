//! The only unsafe call of the house: code out of the cache becomes a component.

#![allow(unsafe_code, reason = "wasmtime cannot know that the file is its own output; here is why it is")]

use std::os::fd::AsRawFd as _;
use std::path::PathBuf;

use wasmtime::Engine;
use wasmtime::component::Component;

use super::seal::Verified;

/// Maps verified code. What other engines or settings made is an error, not a danger: wasmtime checks that.
pub(super) fn map(engine: &Engine, verified: &Verified) -> wasmtime::Result<Component> {
    let path = path(verified);
    // SAFETY: the file must hold what wasmtime's compiler wrote, and must not change while it is mapped.
    // It does: `Verified` exists only after the seal, made with a key that only this user can read, was
    // found to fit every byte behind the descriptor that `path` leads to, or was found so before, of the
    // file that by place, size and the system's own time of its last change is this one; and seals are put
    // only on what our own compiling process wrote. It does not change: entries are written under another name, renamed
    // and never opened for writing again, in a folder and with modes that let no other user write. A process
    // of the same user could, but that one can as well write into our memory.
    unsafe { Component::deserialize_file(engine, path) }
}

/// The engine opens by path only. On Linux this path is the very file that was verified; elsewhere it is the
/// name in our folder, where nobody but this user can put another file.
fn path(verified: &Verified) -> PathBuf {
    let same = PathBuf::from(format!("/proc/self/fd/{}", verified.file().as_raw_fd()));
    if cfg!(target_os = "linux") && same.exists() { same } else { verified.path().to_owned() }
}
