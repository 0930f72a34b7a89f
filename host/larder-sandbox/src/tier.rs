//! Two ways to compile a component. To compile it with optimisation takes half as long again as without, so a large
//! component that somebody waits for is first compiled without optimisation.

use larder_model::name::Digest;

use super::compile_job::{CompileJob, Priority};

/// The smallest component, in bytes, for which the first tier is used. Smaller ones compile in one or two seconds, and
/// may consist of debug information for the most part.
const MIN_SIZE: usize = 8 << 20;

/// How a component is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tier {
    /// Without optimisation. The code is used until optimised code is ready.
    First,
    /// With optimisation.
    Optimised,
}

impl Tier {
    /// The key in the cache of the code of this tier, made from the key of a component.
    pub(crate) fn key(self, component: Digest) -> Digest {
        match self {
            Self::First => Digest::of(format!("first tier of {component}").as_bytes()),
            Self::Optimised => component,
        }
    }
}

impl CompileJob<'_> {
    /// The tiers of code that may be returned for a component of this size, in the order of preference. Code of the
    /// first tier is of use only if somebody waits for it, and if a provider can replace it later.
    pub(crate) fn usable_tiers(&self, size: usize) -> &'static [Tier] {
        let is_worthwhile = self.priority == Priority::Awaited && self.provider.is_some() && size >= MIN_SIZE;
        match is_worthwhile {
            true => &[Tier::Optimised, Tier::First],
            false => &[Tier::Optimised],
        }
    }
}
