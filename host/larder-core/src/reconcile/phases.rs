//! How long each step takes between the change of a file and the catalog with the new revision.

use std::fmt;
use std::time::{Duration, Instant};

use crate::source::Detection;
use larder_provider::CompilePhases;

/// Where the time of a load went, from the change of the file on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoadPhases {
    /// From the change of the file to the scan that found the change. Zero if the time is not known.
    pub detection: Duration,
    /// The file had to stay the same.
    pub settling: Duration,
    /// The load waited for other loads.
    pub queue: Duration,
    /// The component was read and identified by its digest.
    pub reading: Duration,
    /// The signatures of the component, its grant request and its imports were checked.
    pub checking: Duration,
    /// The component was compiled.
    pub compiling: CompilePhases,
    /// From the request to compile the component to the compiled code.
    pub compiled_in: Duration,
    /// The component was linked.
    pub linking: Duration,
    /// The provider's own functions were called for its description and its lists.
    pub probing: Duration,
    /// The catalog with the revision was published.
    pub publishing: Duration,
}

impl LoadPhases {
    /// The sum of all phases.
    pub fn total(&self) -> Duration {
        self.detection
            + self.settling
            + self.queue
            + self.reading
            + self.checking
            + self.compiled_in
            + self.linking
            + self.probing
            + self.publishing
    }
}

impl fmt::Display for LoadPhases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            detection,
            settling,
            queue,
            reading,
            checking,
            compiling,
            compiled_in,
            linking,
            probing,
            publishing,
        } = self;
        write!(
            f,
            "{:.1?}: detection {detection:.1?}, settling {settling:.1?}, ",
            self.total()
        )?;
        write!(
            f,
            "queue {queue:.1?}, reading {reading:.1?}, checking {checking:.1?}, "
        )?;
        if *compiling == CompilePhases::default() {
            write!(f, "cached code {compiled_in:.1?}, ")?
        } else {
            write!(f, "compiling {compiled_in:.1?} ({compiling}), ")?
        }
        write!(
            f,
            "linking {linking:.1?}, probing {probing:.1?}, publishing {publishing:.1?}"
        )
    }
}

/// Measures the phases of one load.
#[derive(Debug, Clone, Copy)]
pub(super) struct PhaseTimer {
    last: Instant,
    pub(super) phases: LoadPhases,
}

impl PhaseTimer {
    /// Starts with the detection time that a source reports, unless the load is a later attempt.
    pub(super) fn new(detection: Option<Detection>) -> Self {
        let mut phases = LoadPhases::default();
        if let Some(Detection {
            delay,
            settling,
            at,
        }) = detection
        {
            phases.detection = delay;
            phases.settling = settling;
            phases.queue = at.elapsed();
        }
        Self {
            last: Instant::now(),
            phases,
        }
    }

    /// Adds the time since the previous phase to this one.
    pub(super) fn end(&mut self, phase: impl FnOnce(&mut LoadPhases) -> &mut Duration) {
        let now = Instant::now();
        *phase(&mut self.phases) += now - self.last;
        self.last = now;
    }

    /// Ends the last phase of the load, whose result is published next.
    pub(super) fn finish(mut self, name: &str) {
        self.end(|phases| &mut phases.publishing);
        tracing::debug!(provider = name, "loaded in {}", self.phases);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_names_every_phase() {
        let ms = Duration::from_millis;
        let phases = LoadPhases {
            detection: ms(21),
            probing: ms(4),
            ..LoadPhases::default()
        };
        let text = phases.to_string();
        assert!(
            text.starts_with("25.0ms: detection 21.0ms, settling 0.0ns"),
            "{text}"
        );
        assert!(
            text.contains("cached code 0.0ns") && text.ends_with("probing 4.0ms, publishing 0.0ns"),
            "{text}"
        );
        let compiling = CompilePhases {
            compile: ms(7),
            ..CompilePhases::default()
        };
        let text = LoadPhases {
            compiling,
            compiled_in: ms(9),
            ..phases
        }
        .to_string();
        assert!(
            text.contains("compiling 9.0ms (queue") && text.contains("compile 7.0ms"),
            "{text}"
        );
    }
}
