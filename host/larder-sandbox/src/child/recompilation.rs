//! Compiles a component again, so that its functions are also stored under the keys that the next revision looks up.
//!
//! Cranelift 0.135 does not clear the exception tables of a thread between two functions, and a key contains these
//! tables. They depend on whether the functions before were compiled or known. In the first compilation, no function is
//! known, so the functions get other keys than those that the next revision looks up. When the component is compiled
//! again, almost all functions are known, as they are for the next revision.

use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::functions::Functions;
use super::{ProcessLimits, Task};
use crate::engine;
use crate::tier::Tier;

/// After three, less than half as many unchanged functions are compiled for the next revision. Each takes a third of the
/// time of the first compilation.
const COMPILATIONS: usize = 3;
/// The component is compiled again only if the first compilation took less than a quarter of each limit.
const SHARE_OF_LIMITS: u32 = 4;

impl Task {
    /// Whether the component may be compiled again: nobody waits for this process, and no function was known.
    fn allows_recompilation(&self) -> bool {
        !self.is_awaited && self.functions == 0
    }
}

/// Returns the functions to store for the next revision. If there is no time to compile again, or that fails, these are
/// the functions of the first compilation. `elapsed` is the time that the process took so far.
pub(super) fn functions_for_next_revision(
    first: Arc<Functions>,
    (bytes, task): (&[u8], &Task),
    (limits, elapsed): (&ProcessLimits, Duration),
) -> Arc<Functions> {
    let is_within = |used: Duration, limit: u64| used * SHARE_OF_LIMITS < Duration::from_secs(limit);
    if task.allows_recompilation() && is_within(cpu_time(), limits.cpu) && is_within(elapsed, limits.timeout)
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
