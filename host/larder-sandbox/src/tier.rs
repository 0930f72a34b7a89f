//! The ways to compile a component. To compile it with optimisation takes longest, so a component that somebody waits for
//! is served with other code first.

use larder_model::name::Digest;

use super::compile_job::{CompileJob, Priority};

/// The smallest component, in bytes, for which the first tier is used. Smaller ones compile in one or two seconds, and
/// may consist of debug information for the most part.
const MIN_SIZE: usize = 8 << 20;

/// How a component is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tier {
    /// Without its libraries, which are compiled on their own, and without optimisation. The libraries of the next
    /// revision are mostly the same, so only what remains is compiled. The code is used until optimised code is ready.
    Split,
    /// As a whole, without optimisation. The code is used until optimised code is ready.
    First,
    /// As a whole, with optimisation.
    Optimised,
}

impl Tier {
    /// The tiers whose code is used until optimised code is ready.
    pub(crate) const PRELIMINARY: [Self; 2] = [Self::Split, Self::First];

    /// The key in the cache of the code of this tier, made from the key of a component.
    pub(crate) fn key(self, component: Digest) -> Digest {
        match self {
            Self::Split => Digest::of(format!("split {component}").as_bytes()),
            Self::First => Digest::of(format!("first tier of {component}").as_bytes()),
            Self::Optimised => component,
        }
    }
}

impl CompileJob<'_> {
    /// The tiers of code that may be returned for a component of this size, in the order of preference. Code that is not
    /// optimised is of use only if somebody waits for it, and if a provider can replace it later.
    pub(crate) fn usable_tiers(&self, size: usize) -> &'static [Tier] {
        match self.priority {
            Priority::Optimisation => &[Tier::Optimised],
            _ if self.provider.is_none() => &[Tier::Optimised],
            Priority::Awaited if size >= MIN_SIZE => &[Tier::Optimised, Tier::Split, Tier::First],
            Priority::Awaited | Priority::Replacement => &[Tier::Optimised, Tier::Split],
        }
    }
}
