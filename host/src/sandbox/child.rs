//! What the compiling process does: it binds itself to its limits before it reads anything, compiles what
//! comes on stdin, and writes the code to stdout. It gets no path, no environment and no secret.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;

use rustix::process::{Resource, Rlimit, getrlimit, nice, setrlimit};

use super::compiled::first_line;
use super::engine;

/// The subcommand that runs this.
pub const SUBCOMMAND: &str = "compile-component";
/// The exit code that says that the component is at fault (as in sysexits.h).
pub const INVALID: u8 = 65;

/// The lowest priority there is: those who are served go first.
const NICE: i32 = 19;
/// Seconds between the signal that stops it and the one that ends it.
const CPU_GRACE: u64 = 2;

/// What it may use up.
#[derive(Debug, Clone, Copy)]
pub struct Allowance {
    /// Bytes of address space.
    pub memory: u64,
    /// Seconds on a processor.
    pub cpu: u64,
    /// Bytes of what it writes.
    pub code: u64,
}

/// Why it has not done its work.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// The component is at fault.
    #[error("{0}")]
    Invalid(String),
    /// It could not bind itself.
    #[error("cannot limit {0}: {1}")]
    Limit(&'static str, io::Error),
    /// Input or output.
    #[error("cannot {0}: {1}")]
    Broken(&'static str, io::Error),
    /// The engine does not start.
    #[error("cannot set up the engine: {0}")]
    Engine(String),
}

/// Compiles `size` bytes of stdin to stdout. When stdin ends before the work does, so does the process.
pub fn compile_component(size: u64, allowance: &Allowance) -> Result<(), ChildError> {
    restrain(allowance)?;
    let bytes = read(size).map_err(|error| ChildError::Broken("read the component", error))?;
    end_with_stdin().map_err(|error| ChildError::Broken("watch stdin", error))?;
    let engine = engine::for_compiling().map_err(|error| ChildError::Engine(first_line(&error)))?;
    let code =
        engine.precompile_component(&bytes).map_err(|error| ChildError::Invalid(first_line(&error)))?;
    write(&code).map_err(|error| ChildError::Broken("write the code", error))
}

fn restrain(allowance: &Allowance) -> Result<(), ChildError> {
    // A system that does not let us is as good to serve on.
    let _ = nice(NICE);
    limit("core dumps", Resource::Core, 0, 0)?;
    limit("time", Resource::Cpu, allowance.cpu, allowance.cpu.saturating_add(CPU_GRACE))?;
    limit("what is written", Resource::Fsize, allowance.code, allowance.code)?;
    // Elsewhere the system does not keep to it, or does not know it.
    #[cfg(target_os = "linux")]
    limit("memory", Resource::As, allowance.memory, allowance.memory)?;
    Ok(())
}

/// Never above what somebody else has set before.
fn limit(what: &'static str, resource: Resource, soft: u64, hard: u64) -> Result<(), ChildError> {
    let before = getrlimit(resource);
    let least = |wanted: u64, set: Option<u64>| Some(set.map_or(wanted, |set| set.min(wanted)));
    let maximum = least(hard, before.maximum);
    let current = least(soft, before.current);
    setrlimit(resource, Rlimit { current, maximum }).map_err(|error| ChildError::Limit(what, error.into()))
}

fn read(size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = usize::try_from(size).map_err(io::Error::other)?;
    bytes.try_reserve_exact(length)?;
    io::stdin().lock().take(size).read_to_end(&mut bytes)?;
    if bytes.len() == length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Who started this holds stdin open. If it was killed, nobody wants the answer any more.
fn end_with_stdin() -> io::Result<()> {
    let wait = || {
        let _ = io::stdin().lock().read(&mut [0]);
        std::process::exit(1)
    };
    std::thread::Builder::new().stack_size(64 << 10).spawn(wait).map(drop)
}

/// Not through `stdout()`, which looks for ends of lines.
fn write(code: &[u8]) -> io::Result<()> {
    File::from(io::stdout().as_fd().try_clone_to_owned()?).write_all(code)
}
