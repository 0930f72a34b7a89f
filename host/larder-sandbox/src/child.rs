//! The compiler process, which runs as a subcommand of this program. It limits its own resources before it
//! reads any input, compiles the component that it reads from stdin, and writes the machine code to stdout.
//! It is given no paths, no environment and no secrets.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;

use rustix::process::{Resource, Rlimit, getrlimit, nice, setrlimit};

use super::compiled::first_line;
use super::engine;
use super::unsupported_features;

/// The name of the subcommand.
pub const SUBCOMMAND: &str = "compile-component";
/// Exit code for an invalid component (`EX_DATAERR` in sysexits.h).
pub const INVALID: u8 = 65;
/// Exit code for a component that requires features which the engine does not support (`EX_UNAVAILABLE`).
pub const UNSUPPORTED: u8 = 69;

/// Nice value of the process, so that serving requests takes precedence over compiling.
const LOWEST_PRIORITY: i32 = 19;
/// Seconds between SIGXCPU (soft limit) and SIGKILL (hard limit).
const CPU_GRACE: u64 = 2;

/// Resource limits of the compiler process.
#[derive(Debug, Clone, Copy)]
pub struct ProcessLimits {
    /// Address space, in bytes.
    pub memory: u64,
    /// CPU time, in seconds.
    pub cpu: u64,
    /// Compiled code, in bytes.
    pub code: u64,
}

/// Why the component was not compiled.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// The component is invalid.
    #[error("{0}")]
    Invalid(String),
    /// The component requires features of WebAssembly that the engine does not support.
    #[error("{0}")]
    Unsupported(String),
    /// A resource limit could not be set.
    #[error("cannot limit {0}: {1}")]
    Limit(&'static str, io::Error),
    /// Reading the component or writing the code failed.
    #[error("cannot {0}: {1}")]
    Io(&'static str, io::Error),
    /// The engine could not be set up.
    #[error("cannot set up the engine: {0}")]
    Engine(String),
}

/// Compiles a component of `size` bytes from stdin to stdout. The process exits early if stdin is closed,
/// which means that the server is gone.
pub fn compile_component(size: u64, limits: &ProcessLimits) -> Result<(), ChildError> {
    apply_limits(limits)?;
    let bytes = read(size).map_err(|error| ChildError::Io("read the component", error))?;
    exit_when_stdin_closes().map_err(|error| ChildError::Io("watch stdin", error))?;
    let engine = engine::for_compiling().map_err(|error| ChildError::Engine(first_line(&error)))?;
    let code = engine.precompile_component(&bytes).map_err(|error| rejected(&bytes, &error))?;
    write(&code).map_err(|error| ChildError::Io("write the code", error))
}

/// Returns why the engine rejected a component.
fn rejected(bytes: &[u8], error: &wasmtime::Error) -> ChildError {
    match unsupported_features(bytes) {
        features if features.is_empty() => ChildError::Invalid(first_line(error)),
        features => ChildError::Unsupported(features.join(", ")),
    }
}

fn apply_limits(limits: &ProcessLimits) -> Result<(), ChildError> {
    // Failure is ignored: a lower priority is desirable, but not required.
    let _ = nice(LOWEST_PRIORITY);
    set_limit("core dumps", Resource::Core, 0, 0)?;
    set_limit("CPU time", Resource::Cpu, limits.cpu, limits.cpu.saturating_add(CPU_GRACE))?;
    set_limit("the size of the output", Resource::Fsize, limits.code, limits.code)?;
    // Other systems do not enforce this limit or do not have it.
    #[cfg(target_os = "linux")]
    set_limit("memory", Resource::As, limits.memory, limits.memory)?;
    Ok(())
}

/// Sets a limit, but never above the one that is in force already.
fn set_limit(what: &'static str, resource: Resource, soft: u64, hard: u64) -> Result<(), ChildError> {
    let current_limits = getrlimit(resource);
    let lowest = |wanted: u64, set: Option<u64>| Some(set.map_or(wanted, |set| set.min(wanted)));
    let maximum = lowest(hard, current_limits.maximum);
    let current = lowest(soft, current_limits.current);
    setrlimit(resource, Rlimit { current, maximum }).map_err(|error| ChildError::Limit(what, error.into()))
}

fn read(size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = usize::try_from(size).map_err(io::Error::other)?;
    bytes.try_reserve_exact(length)?;
    io::stdin().lock().take(size).read_to_end(&mut bytes)?;
    if bytes.len() == length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Exits the process when stdin is closed: the server keeps it open, so it was killed or has given up.
fn exit_when_stdin_closes() -> io::Result<()> {
    let wait = || {
        let _ = io::stdin().lock().read(&mut [0]);
        std::process::exit(1)
    };
    std::thread::Builder::new().stack_size(64 << 10).spawn(wait).map(drop)
}

/// Writes to the file descriptor, because `stdout()` scans the bytes for line breaks.
fn write(code: &[u8]) -> io::Result<()> {
    File::from(io::stdout().as_fd().try_clone_to_owned()?).write_all(code)
}
