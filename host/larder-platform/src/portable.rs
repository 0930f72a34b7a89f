//! Systems other than Linux, with POSIX alone. Where POSIX cannot keep a promise, a file is refused rather than opened
//! without a check, and `LIMITATIONS` says so.

pub mod files;
pub mod memory;
pub mod processes;
pub mod threads;

/// The promises of Larder that this system cannot keep, one sentence for each.
pub const LIMITATIONS: &[&str] = &[
    "on this system, a granted folder can be replaced by another user between its check and its use: grant only folders whose parents no other user can write to",
    "on this system, compiled code is opened by its name in the cache folder and not by the verified file: keep the cache folder private",
    "on this system, symbolic links in the plugins folder of a team are refused, also links that stay below it",
    "on this system, `compiler.memory` does not limit the compiler process: a hostile component can use all memory of the machine while it is compiled",
    "on this system, a compiler process that is paused continues to exist after a crash of the server",
    "on this system, threads and slices have the usual priority: large answers and long calls can delay other requests",
    "on this system, the memory of the machine is unknown: `server.memory` is 256 MiB unless the configuration sets it",
    "on this system, the resident memory of the server is not measured",
];
