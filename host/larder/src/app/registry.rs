//! The sources of a team: its folder, the program, and registries if the program has the feature.

use larder_builtin::{BuiltinComponents, BuiltinHandle};
use larder_config::RegistryConfig;
use larder_core::source::{Folder, Source};
#[cfg(feature = "registry")]
use larder_registry::source::LockedFolder;
#[cfg(feature = "registry")]
pub(super) use larder_registry::source::RegistryHandle;
use larder_runtime::drain::Drain;

/// The sources of a team.
pub(super) struct TeamSources {
    pub(super) sources: Vec<Box<dyn Source>>,
    /// Changes the components that come from the program.
    pub(super) builtin: BuiltinHandle,
    /// Changes the components that come from registries.
    pub(super) registry: RegistryHandle,
}

#[cfg(feature = "registry")]
impl TeamSources {
    /// Creates the sources, and follows the references.
    pub(super) fn new(
        folder: Folder,
        builtin: BuiltinComponents,
        config: RegistryConfig,
        drain: &Drain,
    ) -> Self {
        let folder = locked_if(folder, &config);
        let (builtin, in_program) = BuiltinHandle::new(builtin);
        let (registry, references, follower) = RegistryHandle::new(config);
        follower.start(drain);
        // References come first, so that a file that appears later cannot take the name of a reference.
        Self {
            sources: vec![Box::new(in_program), Box::new(references), folder],
            builtin,
            registry,
        }
    }
}

/// Serves only the components in the lock file, if the server is configured so.
#[cfg(feature = "registry")]
fn locked_if(folder: Folder, registry: &RegistryConfig) -> Box<dyn Source> {
    match &registry.lock_file {
        Some(lock_file) if registry.is_locked => {
            let team = registry.has_teams.then(|| registry.team.clone());
            Box::new(LockedFolder::new(folder, lock_file.clone(), team))
        }
        _ => Box::new(folder),
    }
}

/// Without the feature, there are no components to change.
#[cfg(not(feature = "registry"))]
#[derive(Debug, Clone)]
pub(super) struct RegistryHandle;

#[cfg(not(feature = "registry"))]
impl RegistryHandle {
    pub(super) fn update(&self, _: RegistryConfig) {}

    pub(super) fn failing(&self) -> usize {
        0
    }
}

#[cfg(not(feature = "registry"))]
impl TeamSources {
    pub(super) fn new(
        folder: Folder,
        builtin: BuiltinComponents,
        _: RegistryConfig,
        _: &Drain,
    ) -> Self {
        let (builtin, in_program) = BuiltinHandle::new(builtin);
        Self {
            sources: vec![Box::new(in_program), Box::new(folder)],
            builtin,
            registry: RegistryHandle,
        }
    }
}
