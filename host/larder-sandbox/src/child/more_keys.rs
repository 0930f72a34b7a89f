//! More compilations of the same component, which only add keys of its functions.
//!
//! Cranelift 0.135 does not clear the exception tables of a thread between two functions, and they are a part of the
//! key. They differ depending on whether the functions before were compiled or known. So the functions of a compilation
//! in which none was known have other keys than those for which the next revision asks. If the component is compiled
//! again, almost all functions are known, and the keys are those of the next revision.

use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::functions::Functions;
use super::{ProcessLimits, Task};
use crate::engine;
use crate::tier::Tier;

/// After two, the next revision has to compile less than half as many of the functions that did not change. Each takes
/// a third of the time of the first compilation.
const COMPILATIONS: usize = 2;
/// They take less time than the first compilation, and must not cause the process to exceed its limits.
const SHARE_OF_LIMITS: u32 = 4;

impl Task {
    /// Whether more compilations are worth their time: nobody waits for this process, and no function was known.
    fn allows_more_compilations(&self) -> bool {
        !self.is_awaited && self.functions == 0
    }
}

/// Returns the functions for the next revision: with more keys, or those of the first compilation if there is no time
/// for another or it fails. `elapsed` is the time that the process took so far.
pub(super) fn functions_for_next_revision(
    first: Arc<Functions>,
    (bytes, task): (&[u8], &Task),
    (limits, elapsed): (&ProcessLimits, Duration),
) -> Arc<Functions> {
    let is_within = |used: Duration, limit: u64| used * SHARE_OF_LIMITS < Duration::from_secs(limit);
    if task.allows_more_compilations()
        && is_within(cpu_time(), limits.cpu)
        && is_within(elapsed, limits.timeout)
    {
        let again = |functions: Arc<Functions>, _| compile_again(&functions, bytes).unwrap_or(functions);
        (0..COMPILATIONS).fold(first, again)
    } else {
        first
    }
}

fn compile_again(known: &Functions, bytes: &[u8]) -> wasmtime::Result<Arc<Functions>> {
    let functions = Arc::new(known.as_known());
    engine::for_compiling(Tier::Optimised, Some(functions.clone()))?.precompile_component(bytes)?;
    Ok(functions)
}

/// The CPU time of this process so far.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().unwrap_or(Duration::MAX)
}
