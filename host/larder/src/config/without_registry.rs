//! What stands for the components from registries in a program without them.

use serde::de::IgnoredAny;

/// `features` refuses what is written there.
pub(super) type Registries = IgnoredAny;
pub(super) type RegistryCredentials = IgnoredAny;
pub(super) type Trust = IgnoredAny;
pub(super) type ComponentReference = IgnoredAny;
pub(super) type Update = IgnoredAny;

/// There are no components from registries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryConfig;

/// The name of the lock file, which no folder of a grant request may contain.
pub(super) const LOCK_FILE: &str = "larder.lock";

impl RegistryConfig {
    pub(super) fn with_store_of(self, _: &Self) -> Self {
        self
    }
}
