//! The steps of `cargo xtask test` and their outcomes.

use anyhow::Result;

use crate::run::Output;

/// The outcome of a step without an error.
pub(crate) enum Outcome {
    Passed,
    /// Passed, with additional information.
    PassedWithNote(String),
    /// Skipped for this reason.
    Skipped(String),
}

/// Whether a step uses all cores.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Compiles, or runs tests in parallel. Heavy steps run one at a time.
    Heavy,
    /// Mostly waits, or uses a single core.
    Light,
}

pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) weight: Weight,
    /// Steps that have to pass first; otherwise this step is skipped.
    pub(crate) needs: &'static [&'static str],
    pub(crate) run: fn(&Output) -> Result<Outcome>,
}
