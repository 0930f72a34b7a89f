//! Faults: how a guest can fail, and how the kinds of failure are distinguished.

use std::fmt;
use std::time::Duration;

use super::compiled::TypeMismatch;
use super::engine_error::causes;
use super::limits::GrowthLimit;
use larder_model::policy::Limits;
use larder_model::size;

/// A guest misbehaved. The guest was dropped, and the next call uses a new guest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct Fault {
    /// What happened; may be shown to the caller.
    pub(super) kind: FaultKind,
    /// The full error of the engine, for the log.
    pub(super) detail: String,
    /// The end of what the guest wrote to stderr, for the log.
    pub(super) stderr: String,
}

/// The kinds of fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FaultKind {
    /// The guest exceeded its CPU time.
    Cpu(Duration),
    /// The guest did not respond in time.
    Timeout(Duration),
    /// The guest did not respond while its caller waited. The caller waited for a shorter time than the guest's own
    /// limit.
    CallerTimeout(Duration),
    /// The guest needed more memory than its limit.
    Memory(u64),
    /// The guest needed a table with more elements than its limit.
    Table(u64),
    /// The server has no address space for the guest's memory.
    AddressSpace,
    /// The guest exceeded its stack.
    Stack,
    /// The response of the guest exceeds the limit for one call.
    Result(u64),
    /// The guest called `exit`.
    Exit(i32),
    /// The types of the guest differ from the types of the contract.
    Contract(String),
    /// The guest trapped.
    Trap(String),
    /// No guest could be opened or continued: all slots are in use, or the team has used up its quota.
    NoCapacity,
    /// The memory budget of the server has no room for the guest or its answer.
    NoMemory,
}

impl Fault {
    /// Whether the response exceeds the limit for one call. Another call for the same resource fails in the same way.
    pub fn is_response_too_large(&self) -> bool {
        matches!(self.kind, FaultKind::Result(_))
    }

    /// Whether the guest did not respond while its caller waited, for a shorter time than the guest's own limit.
    pub fn is_caller_timeout(&self) -> bool {
        matches!(self.kind, FaultKind::CallerTimeout(_))
    }

    /// The end of what the guest wrote to stderr, without secrets, for its author or operator.
    pub fn stderr(&self) -> &str {
        &self.stderr
    }
}

/// A call did not end in time.
pub(super) fn timeout_fault(waited: Duration, limits: &Limits) -> Fault {
    let is_own_limit = waited == limits.timeout;
    let kind = if is_own_limit {
        FaultKind::Timeout
    } else {
        FaultKind::CallerTimeout
    };
    fault_without_detail(kind(waited))
}

/// A fault without further details.
pub(super) fn fault_without_detail(kind: FaultKind) -> Fault {
    Fault {
        detail: kind.to_string(),
        kind,
        stderr: String::new(),
    }
}

impl FaultKind {
    /// Whether the cause may be state that an earlier call left in the guest.
    pub(super) fn may_be_caused_by_reuse(&self) -> bool {
        matches!(
            self,
            Self::Trap(_) | Self::Exit(_) | Self::Memory(_) | Self::Table(_) | Self::Stack
        )
    }

    /// A stable identifier for metrics and programs.
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Cpu(_) => "cpu",
            Self::Timeout(_) | Self::CallerTimeout(_) => "deadline",
            Self::Memory(_) => "memory",
            Self::Table(_) => "table",
            Self::AddressSpace => "address-space",
            Self::Stack => "stack",
            Self::Result(_) => "result-size",
            Self::Exit(_) => "exit",
            Self::Contract(_) => "contract",
            Self::Trap(_) => "trap",
            Self::NoCapacity => "no-capacity",
            Self::NoMemory => "no-memory",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu(limit) => write!(f, "it exceeded its CPU time of {limit:?} (`limits.cpu_time`)"),
            Self::Timeout(limit) => write!(f, "it did not respond within {limit:?} (`limits.timeout`)"),
            Self::CallerTimeout(limit) => write!(f, "it did not respond within {limit:?}"),
            Self::Memory(limit) => {
                write!(f, "it needs more than its {} of memory (`limits.memory`)", size::show(*limit))
            }
            Self::Table(limit) => {
                write!(f, "it needs a table with more than its {limit} elements (`limits.table_elements`)")
            }
            Self::AddressSpace => f.write_str(
                "the server cannot reserve the 4 GiB of address space that each memory of a guest needs, \
                 probably because its address space is limited (`ulimit -v`)",
            ),
            Self::Stack => f.write_str("it recursed too deep"),
            Self::Result(limit) => {
                write!(f, "its response is larger than the limit of {} (`limits.result`)", size::show(*limit))
            }
            Self::Exit(status) => write!(f, "it exited with status {status}"),
            Self::Contract(why) => write!(f, "its types do not match the contract: {why}"),
            Self::Trap(trap) => write!(f, "it trapped: {trap}"),
            Self::NoCapacity => f.write_str("the server has no capacity for another guest"),
            Self::NoMemory => f.write_str("the server has no memory for another guest"),
        }
    }
}

/// Limits that the guest exceeded.
pub(super) struct ExceededLimits {
    pub(super) out_of_cpu: bool,
    pub(super) growth: Option<GrowthLimit>,
}

/// Determines the kind of fault from the error that ended a call.
pub(super) fn classify(
    error: &wasmtime::Error,
    exceeded: &ExceededLimits,
    limits: &Limits,
) -> FaultKind {
    if exceeded.out_of_cpu {
        return FaultKind::Cpu(limits.cpu_time);
    }
    if let Some(exit) = error.downcast_ref::<wasmtime_wasi::I32Exit>() {
        return FaultKind::Exit(exit.0);
    }
    if let Some(mismatch) = error.downcast_ref::<TypeMismatch>() {
        return FaultKind::Contract(mismatch.to_string());
    }
    // The engine does not export the types of these errors, so the errors are recognized by their texts. A test checks
    // each text with the engine's current version.
    let text = causes(error);
    if text.contains("fuel allocated for hostcalls has been exhausted") {
        return FaultKind::Result(limits.result);
    }
    if text.contains("maximum concurrent") {
        return FaultKind::NoCapacity;
    }
    if text.contains("mmap failed to reserve") {
        return FaultKind::AddressSpace;
    }
    // When a guest runs out of memory, it ends as its language defines, mostly with a trap.
    match exceeded.growth {
        Some(GrowthLimit::Memory) => return FaultKind::Memory(limits.memory),
        Some(GrowthLimit::Table) => return FaultKind::Table(limits.table_elements),
        None => {}
    }
    match error.downcast_ref::<wasmtime::Trap>() {
        Some(wasmtime::Trap::StackOverflow) => FaultKind::Stack,
        Some(trap) => FaultKind::Trap(trap.to_string()),
        None => FaultKind::Trap(error.root_cause().to_string()),
    }
}
