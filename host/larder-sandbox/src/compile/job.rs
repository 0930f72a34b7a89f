//! How a component is compiled for a provider.

use larder_provider::Priority;

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
