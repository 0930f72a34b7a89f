//! What is compiled for whom.

use larder_model::name::{Digest, ProviderName, TeamName};

/// What is compiled for whom.
#[derive(Debug, Clone, Copy)]
pub struct CompileJob<'a> {
    /// The team, which has its own entries in the cache.
    pub team: &'a TeamName,
    /// The provider. Functions of its previous revision are not compiled again. Without it, all are compiled.
    pub provider: Option<&'a ProviderName>,
    /// Whether somebody waits.
    pub priority: Priority,
}

/// How urgent a compilation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// A previous revision is served meanwhile, and serving requests takes precedence.
    Background,
    /// Somebody waits for the first revision.
    Awaited,
}

impl CompileJob<'_> {
    /// Whether the process may compile the component again after its code is written: nobody waits for it, and the next
    /// revision can use what that finds.
    pub(crate) fn can_recompile(&self) -> bool {
        self.priority == Priority::Background && self.provider.is_some()
    }

    /// The key of the functions in the cache. Each provider of each team has its own, because a component that
    /// deceived the compiler could have written others than its own.
    pub(crate) fn functions_key(&self) -> Option<Digest> {
        // No name contains a space.
        self.provider
            .map(|provider| Digest::of(format!("functions of {provider} of {}", self.team).as_bytes()))
    }
}
