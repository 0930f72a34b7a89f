//! A step of `cargo xtask test`, and how one ends.

use anyhow::Result;

use crate::run::Output;

/// How a step ended, if not with an error.
pub(crate) enum Outcome {
    Passed,
    /// Passed, and there is something to tell.
    Noted(String),
    /// For this reason.
    Skipped(String),
}

/// Whether a step keeps all cores busy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Compiles, or runs tests in parallel. Heavy steps run one at a time.
    Heavy,
    /// Mostly waits, or uses one core.
    Light,
}

pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) weight: Weight,
    /// Steps that go before; where one did not pass, this one is skipped.
    pub(crate) needs: &'static [&'static str],
    pub(crate) run: fn(&Output) -> Result<Outcome>,
}
