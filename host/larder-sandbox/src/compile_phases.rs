//! Where the time of a compilation goes.

use std::fmt;
use std::ops::AddAssign;
use std::time::{Duration, Instant};

use super::child::Output;

/// How long each phase of a compilation took. All phases are zero if the code was in the cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompilePhases {
    /// The component waited for other compilations.
    pub queue: Duration,
    /// The process started and ended.
    pub start: Duration,
    /// The process read the component and the known functions.
    pub read: Duration,
    /// The process compiled.
    pub compile: Duration,
    /// The process compiled again, to store functions under more keys.
    pub recompilation: Duration,
    /// The process wrote the code and the functions.
    pub write: Duration,
    /// The code was sealed and put into the cache.
    pub seal: Duration,
    /// The code was verified and mapped.
    pub map: Duration,
    /// How many functions were taken from the previous revision.
    pub reused: u64,
    /// How many functions were compiled, if functions can be taken from a previous revision.
    pub compiled: u64,
}

impl CompilePhases {
    /// The phases of a process that took this long, and the time for sealing its code.
    pub(crate) fn of_process(process: Duration, output: &Output, seal: Duration) -> Self {
        let Output {
            read,
            compile,
            recompilation,
            write,
            reused,
            compiled,
            ..
        } = *output;
        // These figures are not trusted. Their sum may overflow.
        let inside = [read, compile, recompilation, write]
            .into_iter()
            .fold(Duration::ZERO, Duration::saturating_add);
        Self {
            start: process.saturating_sub(inside),
            read,
            compile,
            recompilation,
            write,
            seal,
            reused,
            compiled,
            ..Self::default()
        }
    }
}

/// Adds the phases of another process, which may have run at the same time.
impl AddAssign for CompilePhases {
    fn add_assign(&mut self, other: Self) {
        let Self {
            queue,
            start,
            read,
            compile,
            recompilation,
            write,
            seal,
            map,
            reused,
            compiled,
        } = other;
        self.queue += queue;
        self.start += start;
        self.read = self.read.saturating_add(read);
        self.compile = self.compile.saturating_add(compile);
        self.recompilation = self.recompilation.saturating_add(recompilation);
        self.write = self.write.saturating_add(write);
        self.seal += seal;
        self.map += map;
        self.reused = self.reused.saturating_add(reused);
        self.compiled = self.compiled.saturating_add(compiled);
    }
}

impl fmt::Display for CompilePhases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            queue,
            start,
            read,
            compile,
            recompilation,
            write,
            seal,
            map,
            reused,
            compiled,
        } = self;
        write!(
            f,
            "queue {queue:.1?}, process {start:.1?}, input {read:.1?}, compile {compile:.1?} ({reused} functions \
             reused, {compiled} compiled), recompilation {recompilation:.1?}, output {write:.1?}, seal {seal:.1?}, map {map:.1?}"
        )
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
