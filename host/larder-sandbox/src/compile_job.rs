//! What is compiled, and for which team and provider.

use larder_model::name::{Digest, ProviderName, TeamName};

/// What is compiled, and for which team and provider.
#[derive(Debug, Clone, Copy)]
pub struct CompileJob<'a> {
    /// The team, which has its own entries in the cache.
    pub team: &'a TeamName,
    /// The provider. Functions of its previous revision are not compiled again. Without a provider, all functions are
    /// compiled.
    pub provider: Option<&'a ProviderName>,
    /// How urgent the result is.
    pub priority: Priority,
}

/// How urgent a compilation is. One component of each priority is compiled at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// Somebody waits for the first revision.
    Awaited,
    /// The previous revision is served in the meantime. Serving requests takes precedence.
    Replacement,
    /// The same revision is served in the meantime, with code that is not optimised.
    Optimisation,
}

impl Priority {
    /// Number of priorities.
    pub(crate) const COUNT: usize = 3;

    /// The nice value of the compiler process. If threads that serve requests are busy, a replacement gets about a
    /// quarter of a processor; with 19 it would get less than 2 %, and take minutes. If a replacement and an
    /// optimisation run together, the optimisation gets a quarter of the time of both.
    pub(crate) fn nice(self) -> i32 {
        match self {
            Self::Awaited => 0,
            Self::Replacement => 5,
            Self::Optimisation => 10,
        }
    }
}

impl CompileJob<'_> {
    /// Whether the process may compile the component again after its code is written: no request waits for the end of
    /// the process, and the next revision can use the result.
    pub(crate) fn can_recompile(&self) -> bool {
        self.priority == Priority::Optimisation && self.provider.is_some()
    }

    /// The key of the functions in the cache. Each provider of each team has its own key, because a component that
    /// deceived the compiler could have written functions for other components.
    pub(crate) fn functions_key(&self) -> Option<Digest> {
        // No name contains a space.
        self.provider.map(|provider| {
            Digest::of(format!("functions of {provider} of {}", self.team).as_bytes())
        })
    }
}
