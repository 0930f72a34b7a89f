//! Compiles a component again, so that its functions are also stored under the keys that the next revision looks up.
//!
//! Cranelift 0.135 does not clear the exception tables of a thread between two functions, and a key contains these
//! tables. The tables depend on whether the previous functions were compiled or known. In the first compilation, no
//! function is known, so the functions get other keys than the keys that the next revision looks up. When the component
//! is compiled again, almost all functions are known, as they are for the next revision.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::ProcessLimits;
use super::functions::Functions;
use crate::engine;
use crate::engine::tier::Tier;
use larder_runtime::metrics::process::resident_memory;

/// After three compilations, less than half as many unchanged functions are compiled for the next revision. Each
/// further compilation takes a third of the time of the first one.
const COMPILATIONS: usize = 3;
/// The component is compiled again only while the process has used less than a quarter of each limit of time.
const SHARE_OF_TIME: u32 = 4;
/// The component is compiled again only while the process uses less than half of its memory limit. The process returns
/// no memory, so it uses about as much memory as one compilation needs. The next compilation mostly uses the same
/// memory again.
const SHARE_OF_MEMORY: f64 = 2.0;

/// Returns the functions to store for the next revision. The further compilations end early if a limit is near, or if a
/// compilation fails; then the functions that were found so far are returned. `began` is the time when the process
/// began.
pub(super) fn functions_for_next_revision(
    first: Arc<Functions>,
    bytes: &[u8],
    limits: &ProcessLimits,
    began: Instant,
) -> Arc<Functions> {
    let mut functions = first;
    for _ in 0..COMPILATIONS {
        if !is_far_from_limits(limits, began) {
            break;
        }
        // The functions so far are complete, also without another compilation.
        let Ok(again) = compile_again(&functions, bytes) else {
            break;
        };
        functions = again;
    }
    functions
}

fn is_far_from_limits(limits: &ProcessLimits, began: Instant) -> bool {
    let is_far = |used: Duration, limit: u64| {
        used.saturating_mul(SHARE_OF_TIME) < Duration::from_secs(limit)
    };
    // Systems that do not report the memory do not enforce the limit either.
    let memory = resident_memory().unwrap_or_default();
    is_far(cpu_time(), limits.cpu)
        && is_far(began.elapsed(), limits.timeout)
        && memory * SHARE_OF_MEMORY < limits.memory as f64
}

fn compile_again(known: &Functions, bytes: &[u8]) -> wasmtime::Result<Arc<Functions>> {
    let functions = Arc::new(known.as_known());
    engine::for_compiling(Tier::Optimised, Some(functions.clone()))?.precompile_component(bytes)?;
    Ok(functions)
}

/// The CPU time of this process so far.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime)
        .try_into()
        .unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_prevents_another_compilation() {
        let far = ProcessLimits {
            memory: 1 << 50,
            cpu: 1 << 30,
            code: 0,
            timeout: 1 << 30,
        };
        let check = |limits: ProcessLimits, expected: bool| {
            assert_eq!(
                is_far_from_limits(&limits, Instant::now()),
                expected,
                "{limits:?}"
            );
        };
        check(far, true);
        check(ProcessLimits { cpu: 0, ..far }, false);
        check(ProcessLimits { timeout: 0, ..far }, false);
        // This process uses more than half of the limit.
        #[cfg(target_os = "linux")]
        check(
            ProcessLimits {
                memory: 1 << 20,
                ..far
            },
            false,
        );
    }
}
