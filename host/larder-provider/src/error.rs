//! The errors of calls to a provider.

use std::time::Duration;

use super::{Fault, FaultKind};
use larder_model::policy::QuotaExceeded;
use larder_runtime::metrics::Outcome;

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The resource does not exist.
    #[error("not found")]
    NotFound,
    /// The version that the caller has is still current.
    #[error("not modified")]
    NotModified,
    /// The template variables or the arguments are invalid, so the guest was not called. Names the invalid one, and why
    /// it is invalid.
    #[error("{0}")]
    Refused(String),
    /// The provider considers the request invalid.
    #[error("{0}")]
    Invalid(String),
    /// The provider denies access to this caller.
    #[error("{0}")]
    Denied(String),
    /// The provider is temporarily unable to respond; the call may be retried later.
    #[error("{0}")]
    Unavailable(String),
    /// The provider reported another failure.
    #[error("{0}")]
    Failed(String),
    /// The guest misbehaved.
    #[error("{0}")]
    Fault(Fault),
    /// The concurrency limit is reached, and the call waited for too long or the queue is full.
    #[error("it is busy with other calls")]
    Busy,
    /// The server has no memory for the call at the moment.
    #[error("the server has no memory for the call at the moment")]
    NoMemory,
    /// The team of the provider has used up its quota.
    #[error(transparent)]
    QuotaExceeded(QuotaExceeded),
    /// The circuit breaker is open after repeated faults; the provider is not called for this long.
    #[error("its circuit breaker is open after repeated faults; it is tried again in {} ms", _0.as_millis())]
    CircuitOpen(Duration),
}

impl CallError {
    /// Whether the caller waited for too short a time, so that the same call may succeed with more time.
    pub fn is_late(&self) -> bool {
        match self {
            Self::Busy => true,
            Self::Fault(fault) => fault.is_caller_timeout(),
            _ => false,
        }
    }

    /// The end of the stderr of a guest that misbehaved, without secrets. Empty for other errors.
    pub fn guest_stderr(&self) -> &str {
        match self {
            Self::Fault(fault) => fault.stderr(),
            _ => "",
        }
    }

    /// The outcome of a call that failed with this error.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::NotFound => Outcome::NotFound,
            Self::NotModified => Outcome::NotModified,
            Self::Invalid(_) | Self::Refused(_) => Outcome::Invalid,
            Self::Denied(_) => Outcome::Denied,
            Self::Unavailable(_) => Outcome::Unavailable,
            Self::Failed(_) => Outcome::Failed,
            Self::Busy | Self::NoMemory | Self::QuotaExceeded(_) => Outcome::Busy,
            Self::CircuitOpen(_) => Outcome::CircuitOpen,
            Self::Fault(fault) => match fault.kind {
                FaultKind::Cpu(_) => Outcome::Cpu,
                FaultKind::Timeout(_) | FaultKind::CallerTimeout(_) => Outcome::Deadline,
                FaultKind::Memory(_) => Outcome::Memory,
                FaultKind::Table(_) => Outcome::Table,
                FaultKind::Stack => Outcome::Stack,
                FaultKind::Result(_) => Outcome::ResultSize,
                FaultKind::Exit(_) => Outcome::Exit,
                FaultKind::Contract(_) => Outcome::Contract,
                FaultKind::Trap(_) => Outcome::Trap,
                FaultKind::AddressSpace => Outcome::Unavailable,
                FaultKind::NoCapacity | FaultKind::NoMemory => Outcome::Busy,
            },
        }
    }

    /// The error of a call of an optional interface that the provider does not implement.
    pub fn not_implemented(interface: &str) -> Self {
        Self::Failed(format!("it does not implement `{interface}`"))
    }
}
