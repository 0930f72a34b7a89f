//! Faults: how a guest can fail.

use std::fmt;
use std::time::Duration;

use larder_model::size;

/// A guest misbehaved. The guest was dropped, and the next call uses a new guest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct Fault {
    /// What happened; may be shown to the caller.
    pub kind: FaultKind,
    /// The full error of the engine, for the log.
    pub detail: String,
    /// The end of what the guest wrote to stderr, for the log.
    pub stderr: String,
}

/// The kinds of fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
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

impl FaultKind {
    /// Whether the cause may be state that an earlier call left in the guest.
    pub fn may_be_caused_by_reuse(&self) -> bool {
        matches!(
            self,
            Self::Trap(_) | Self::Exit(_) | Self::Memory(_) | Self::Table(_) | Self::Stack
        )
    }

    /// A stable identifier for metrics and programs.
    pub fn as_str(&self) -> &'static str {
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
