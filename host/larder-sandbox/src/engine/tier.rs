//! The ways to compile a component. Compilation with optimisation takes longest, so if somebody waits for a component,
//! it is first served with other code.

use larder_model::name::Digest;

use larder_provider::{CompileJob, Priority};

/// The smallest component, in bytes, for which the first tier is used. Smaller components compile in one or two
/// seconds, and may consist mostly of debug information.
const MIN_SIZE: usize = 8 << 20;

/// How a component is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tier {
    /// Without its libraries, which are compiled separately, and without optimisation. The libraries of the next
    /// revision are mostly the same, so only the other parts are compiled for it. The code is used until optimised code
    /// is ready.
    Split,
    /// The whole component, without optimisation. The code is used until optimised code is ready.
    First,
    /// The whole component, with optimisation.
    Optimised,
}

impl Tier {
    /// The tiers whose code is used until optimised code is ready.
    pub(crate) const PRELIMINARY: [Self; 2] = [Self::Split, Self::First];

    /// The key of this tier's code in the cache. It is computed from the key of the component.
    pub(crate) fn key(self, component: Digest) -> Digest {
        match self {
            Self::Split => Digest::of(format!("split {component}").as_bytes()),
            Self::First => Digest::of(format!("first tier of {component}").as_bytes()),
            Self::Optimised => component,
        }
    }
}

/// The tiers of code that may be returned for a component of this size, in the order of preference. Code that is
/// not optimised is used only if somebody waits for it, and if a provider can replace it later.
pub(crate) fn usable_tiers(job: &CompileJob<'_>, size: usize) -> &'static [Tier] {
    match job.priority {
        Priority::Optimisation => &[Tier::Optimised],
        _ if job.provider.is_none() => &[Tier::Optimised],
        Priority::Awaited | Priority::Replacement if size >= MIN_SIZE => {
            &[Tier::Optimised, Tier::Split, Tier::First]
        }
        Priority::Awaited | Priority::Replacement => &[Tier::Optimised, Tier::Split],
    }
}
