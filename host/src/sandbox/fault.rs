//! What a guest can do wrong, and how it is told apart.

use std::fmt;
use std::time::Duration;

use super::compiled::Unlike;

/// A guest misbehaved. It is gone; the next call gets a new one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct Fault {
    /// What happened, fit to be told to a caller.
    pub kind: FaultKind,
    /// Everything the engine said, for the log.
    pub detail: String,
    /// The last that the guest wrote to stderr, for the log.
    pub stderr: String,
}

/// The kinds of fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// Used up its time on the processor.
    Cpu(Duration),
    /// No answer in time.
    Wall(Duration),
    /// Asked for more memory, or larger tables, than its limit.
    Memory(u64),
    /// Recursed too deep.
    Stack,
    /// Handed over more than one call may.
    Result(u64),
    /// Ended its own program.
    Exit(i32),
    /// Has types that are not the contract's.
    Contract(String),
    /// Trapped.
    Trap(String),
    /// The host has no room for another guest.
    Crowded,
}

/// A fault about which there is no more to say.
pub(super) fn plain(kind: FaultKind) -> Fault {
    Fault { detail: kind.to_string(), kind, stderr: String::new() }
}

impl FaultKind {
    /// Whether the cause may be what an earlier call left in the guest.
    pub(super) fn may_be_of_the_past(&self) -> bool {
        matches!(self, Self::Trap(_) | Self::Exit(_) | Self::Memory(_) | Self::Stack)
    }

    /// One word for it: stable, and fit for a metric or a machine.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Cpu(_) => "cpu",
            Self::Wall(_) => "deadline",
            Self::Memory(_) => "memory",
            Self::Stack => "stack",
            Self::Result(_) => "result-size",
            Self::Exit(_) => "exit",
            Self::Contract(_) => "contract",
            Self::Trap(_) => "trap",
            Self::Crowded => "crowded",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu(limit) => write!(f, "it used up its processor time of {limit:?}"),
            Self::Wall(limit) => write!(f, "it gave no answer within {limit:?}"),
            Self::Memory(limit) => write!(f, "it needs more than its {limit} bytes of memory"),
            Self::Stack => f.write_str("it recursed too deep"),
            Self::Result(limit) => write!(f, "its answer is larger than the {limit} bytes allowed"),
            Self::Exit(status) => write!(f, "it ended itself with status {status}"),
            Self::Contract(why) => write!(f, "its types do not fit the contract: {why}"),
            Self::Trap(trap) => write!(f, "it trapped: {trap}"),
            Self::Crowded => f.write_str("too many guests are open"),
        }
    }
}

/// What the limits saw while the guest ran.
pub(super) struct Seen {
    pub(super) out_of_cpu: bool,
    pub(super) out_of_memory: bool,
}

/// Finds the kind of an error that ended a call.
pub(super) fn classify(error: &wasmtime::Error, seen: &Seen, limits: &crate::policy::Limits) -> FaultKind {
    if seen.out_of_cpu {
        return FaultKind::Cpu(limits.cpu);
    }
    if let Some(exit) = error.downcast_ref::<wasmtime_wasi::I32Exit>() {
        return FaultKind::Exit(exit.0);
    }
    if let Some(unlike) = error.downcast_ref::<Unlike>() {
        return FaultKind::Contract(unlike.to_string());
    }
    // The engine keeps these two types to itself, so their texts are all there is to go by;
    // a test pins each to the engine's version.
    let text = format!("{error:#}");
    if text.contains("fuel allocated for hostcalls has been exhausted") {
        return FaultKind::Result(limits.result);
    }
    if text.contains("maximum concurrent") {
        return FaultKind::Crowded;
    }
    // A guest that gets no more memory ends in whatever way its language has for that.
    if seen.out_of_memory {
        return FaultKind::Memory(limits.memory);
    }
    match error.downcast_ref::<wasmtime::Trap>() {
        Some(wasmtime::Trap::StackOverflow) => FaultKind::Stack,
        Some(trap) => FaultKind::Trap(trap.to_string()),
        None => FaultKind::Trap(error.root_cause().to_string()),
    }
}
