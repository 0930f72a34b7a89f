//! How the kinds of failure of a guest are distinguished.

use std::time::Duration;

use super::contract_exports::TypeMismatch;
use crate::engine::error::causes;
use crate::guest::limits::GrowthLimit;
use larder_model::policy::Limits;
use larder_provider::{Fault, FaultKind};

/// A call did not end in time.
pub(crate) fn timeout_fault(waited: Duration, limits: &Limits) -> Fault {
    let kind = if waited == limits.timeout {
        FaultKind::Timeout(waited)
    } else {
        FaultKind::CallerTimeout(waited)
    };
    fault_without_detail(kind)
}

/// A fault without further details.
pub(super) fn fault_without_detail(kind: FaultKind) -> Fault {
    Fault {
        detail: kind.to_string(),
        kind,
        stderr: String::new(),
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
    if let Some(limit) = exceeded.growth {
        return growth_fault(limit, limits);
    }
    match error.downcast_ref::<wasmtime::Trap>() {
        Some(wasmtime::Trap::StackOverflow) => FaultKind::Stack,
        Some(trap) => FaultKind::Trap(trap.to_string()),
        None => FaultKind::Trap(error.root_cause().to_string()),
    }
}

fn growth_fault(limit: GrowthLimit, limits: &Limits) -> FaultKind {
    match limit {
        GrowthLimit::Memory => FaultKind::Memory(limits.memory),
        GrowthLimit::Table => FaultKind::Table(limits.table_elements),
    }
}
