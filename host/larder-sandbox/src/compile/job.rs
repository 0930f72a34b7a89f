//! How a component is compiled for a provider.

use larder_model::name::Digest;
use larder_provider::{CompileJob, Priority};

/// Number of priorities.
pub(crate) const PRIORITIES: usize = 3;

/// The nice value of the compiler process. If threads that serve requests are busy, a replacement gets about a quarter
/// of a processor; with 19 it would get less than 2 %, and take minutes. If a replacement and an optimisation run
/// together, the optimisation gets a quarter of the time of both.
pub(crate) fn nice(priority: Priority) -> i32 {
    match priority {
        Priority::Awaited => 0,
        Priority::Replacement => 5,
        Priority::Optimisation => 10,
    }
}

/// Whether the process may compile the component again after its code is written: no request waits for the end of the
/// process, and the next revision can use the result.
pub(crate) fn can_recompile(job: &CompileJob<'_>) -> bool {
    job.priority == Priority::Optimisation && job.provider.is_some()
}

/// The key of the functions in the cache. Each provider of each team has its own key, because a component that deceived
/// the compiler could have written functions for other components.
pub(crate) fn functions_key(job: &CompileJob<'_>) -> Option<Digest> {
    // No name contains a space.
    job.provider
        .map(|provider| Digest::of(format!("functions of {provider} of {}", job.team).as_bytes()))
}
