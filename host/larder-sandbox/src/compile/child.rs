//! The compiler process, which runs as a subcommand of this program. It limits its own resources before it reads any
//! input, compiles the component that it reads from stdin, and writes the machine code to stdout. The process gets no
//! paths, no environment and no secrets.

mod output;

use std::io::{self, Read as _};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, nice, setrlimit};
use wasmtime::Engine;

pub(super) use self::output::Output;
use super::function_list;
use super::unsupported_features::unsupported_features;
use crate::engine;
use crate::engine::error::shortened;
use crate::engine::tier::Tier;
use larder_platform::processes;

/// The name of the subcommand.
pub const SUBCOMMAND: &str = "compile-component";
/// Exit code for an invalid component (`EX_DATAERR` in sysexits.h).
pub const INVALID: u8 = 65;
/// Exit code for a component that requires features which the engine does not support (`EX_UNAVAILABLE`).
pub const UNSUPPORTED: u8 = 69;

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
    /// How long the server waits for the process, in seconds.
    pub timeout: u64,
}

impl ProcessLimits {
    /// The limit for the whole output: the code and the trailer.
    fn whole_output(&self) -> u64 {
        self.code.saturating_add(output::TRAILER_SIZE as u64)
    }
}

/// What the process reads from stdin, and how the process compiles it.
#[derive(Debug, Clone, Copy)]
pub struct Task {
    /// The size of the component in bytes.
    pub size: u64,
    /// By how much the nice value of the process is raised.
    pub nice: i32,
    /// Whether the code is to be optimised.
    pub is_optimised: bool,
    /// Whether the process compiles a library instead of a component. A library is a module.
    pub is_library: bool,
}

impl Task {
    fn tier(&self) -> Tier {
        if self.is_optimised {
            Tier::Optimised
        } else {
            Tier::First
        }
    }
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

/// Compiles a component from stdin to stdout. The process exits early if stdin is closed, which means that the server
/// is gone.
pub fn compile_component(task: &Task, limits: &ProcessLimits) -> Result<(), ChildError> {
    apply_limits(task, limits)?;
    let began = Instant::now();
    let bytes = read(task.size).map_err(|error| ChildError::Io("read the component", error))?;
    exit_when_stdin_closes().map_err(|error| ChildError::Io("watch stdin", error))?;
    let read = began.elapsed();
    let mut code = precompile(task, &bytes)?;
    append_functions(task, &mut code, &bytes)?;
    let compile = began.elapsed() - read;
    write(&code, limits, read, compile).map_err(|error| ChildError::Io("write the code", error))
}

/// Appends the list of its functions to the code of a component.
fn append_functions(task: &Task, code: &mut Vec<u8>, component: &[u8]) -> Result<(), ChildError> {
    if task.is_library {
        return Ok(());
    }
    let appended = function_list::append(code, component);
    appended.map_err(|error| ChildError::Invalid(error.to_string()))
}

/// Compiles the component or the library to machine code.
fn precompile(task: &Task, bytes: &[u8]) -> Result<Vec<u8>, ChildError> {
    let engine = create_engine(task)?;
    let code = if task.is_library {
        engine.precompile_module(bytes)
    } else {
        engine.precompile_component(bytes)
    };
    code.map_err(|error| rejected(bytes, &error))
}

fn create_engine(task: &Task) -> Result<Engine, ChildError> {
    let engine = engine::for_compiling(task.tier());
    engine.map_err(|error| ChildError::Engine(shortened(&error)))
}

/// Writes the code, and then the trailer, which may exceed the limit for the code.
fn write(code: &[u8], limits: &ProcessLimits, read: Duration, compile: Duration) -> io::Result<()> {
    let began = Instant::now();
    output::write_code(code)?;
    allow_output(limits.whole_output())?;
    let output = Output {
        code: code.len() as u64,
        read,
        compile,
        write: began.elapsed(),
    };
    output.write_trailer()
}

/// Returns why the engine rejected a component.
fn rejected(bytes: &[u8], error: &wasmtime::Error) -> ChildError {
    match unsupported_features(bytes) {
        features if features.is_empty() => ChildError::Invalid(shortened(error)),
        features => ChildError::Unsupported(features.join(", ")),
    }
}

fn apply_limits(task: &Task, limits: &ProcessLimits) -> Result<(), ChildError> {
    // Failure is ignored: a lower priority is desirable, but not required.
    let _ = nice(task.nice);
    set_limit("core dumps", Resource::Core, 0, 0)?;
    set_limit(
        "CPU time",
        Resource::Cpu,
        limits.cpu,
        limits.cpu.saturating_add(CPU_GRACE),
    )?;
    set_limit(
        "the size of the output",
        Resource::Fsize,
        limits.code,
        limits.whole_output(),
    )?;
    // A paused process does not detect that its stdin is closed. Failure is ignored, because such a process remains
    // only after a crash of the server.
    let _ = processes::end_with_parent();
    if let Some(resource) = processes::MEMORY_RESOURCE {
        set_limit("memory", resource, limits.memory, limits.memory)?;
    }
    Ok(())
}

/// Sets a limit, but not above the current limit.
fn set_limit(
    what: &'static str,
    resource: Resource,
    soft: u64,
    hard: u64,
) -> Result<(), ChildError> {
    let current_limits = getrlimit(resource);
    let maximum = lowest(hard, current_limits.maximum);
    let current = lowest(soft, current_limits.current);
    setrlimit(resource, Rlimit { current, maximum })
        .map_err(|error| ChildError::Limit(what, error.into()))
}

fn lowest(wanted: u64, set: Option<u64>) -> Option<u64> {
    Some(set.map_or(wanted, |set| set.min(wanted)))
}

/// Raises the limit for the size of the output.
fn allow_output(size: u64) -> io::Result<()> {
    let maximum = getrlimit(Resource::Fsize).maximum;
    let current = lowest(size, maximum);
    Ok(setrlimit(Resource::Fsize, Rlimit { current, maximum })?)
}

fn read(size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = usize::try_from(size).map_err(io::Error::other)?;
    bytes.try_reserve_exact(length)?;
    io::stdin().lock().take(size).read_to_end(&mut bytes)?;
    if bytes.len() == length {
        Ok(bytes)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// Exits the process when stdin is closed. The server keeps stdin open, so a closed stdin means that the server was
/// killed or ended the compilation.
fn exit_when_stdin_closes() -> io::Result<()> {
    let wait = || {
        let _ = io::stdin().lock().read(&mut [0]);
        std::process::exit(1)
    };
    std::thread::Builder::new()
        .stack_size(64 << 10)
        .spawn(wait)
        .map(drop)
}
