//! What is compiled for whom.

use larder_model::name::{Digest, ProviderName, TeamName};

/// What is compiled for whom.
#[derive(Debug, Clone, Copy)]
pub struct CompileJob<'a> {
    /// The team, which has its own entries in the cache.
    pub team: &'a TeamName,
    /// The provider. Functions of its previous revision are not compiled again. Without it, all are compiled.
    pub provider: Option<&'a ProviderName>,
    /// Who waits for the result.
    pub priority: Priority,
}

/// How urgent a compilation is. One component of each priority is compiled at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// Somebody waits for the first revision.
    Awaited,
    /// The previous revision is served meanwhile, and serving requests takes precedence.
    Replacement,
    /// The same revision is served meanwhile, with code that is not optimised.
    Optimisation,
}

impl Priority {
    /// Number of priorities.
    pub(crate) const COUNT: usize = 3;

    /// The nice value of the compiler process. Beside busy threads that serve requests, a replacement gets about a
    /// quarter of a processor; with 19 it would get less than 2 %, and take minutes. Beside a replacement, an
    /// optimisation gets a quarter of what both get.
    pub(crate) fn nice(self) -> i32 {
        match self {
            Self::Awaited => 0,
            Self::Replacement => 5,
            Self::Optimisation => 10,
        }
    }
}

impl CompileJob<'_> {
    /// Whether the process may compile the component again after its code is written: nobody waits for its end, and the
    /// next revision can use what that finds.
    pub(crate) fn can_recompile(&self) -> bool {
        self.priority == Priority::Optimisation && self.provider.is_some()
    }

    /// The key of the functions in the cache. Each provider of each team has its own, because a component that
    /// deceived the compiler could have written others than its own.
    pub(crate) fn functions_key(&self) -> Option<Digest> {
        // No name contains a space.
        self.provider.map(|provider| {
            Digest::of(format!("functions of {provider} of {}", self.team).as_bytes())
        })
    }
}
