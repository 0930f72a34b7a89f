//! Where the time of a compilation goes.

use std::time::{Duration, Instant};

use super::child::Output;
use larder_provider::CompilePhases;

/// The phases of a process that took this long, and the time for sealing its code.
pub(crate) fn phases_of_process(
    process: Duration,
    output: &Output,
    seal: Duration,
) -> CompilePhases {
    let Output {
        read,
        compile,
        write,
        ..
    } = *output;
    // These figures are not trusted. Their sum may overflow.
    let inside = [read, compile, write]
        .into_iter()
        .fold(Duration::ZERO, Duration::saturating_add);
    CompilePhases {
        start: process.saturating_sub(inside),
        read,
        compile,
        write,
        seal,
        ..CompilePhases::default()
    }
}

/// Measures consecutive phases.
#[derive(Clone, Copy)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns the time since the previous phase.
    pub(crate) fn lap(&mut self) -> Duration {
        let now = Instant::now();
        now - std::mem::replace(&mut self.0, now)
    }
}
