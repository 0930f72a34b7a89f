//! The replacement for the components from registries in a program without them.

use serde::de::IgnoredAny;

/// `features` refuses these keys.
pub(super) type Registries = IgnoredAny;
pub(super) type RegistryCredentials = IgnoredAny;
pub(super) type Trust = IgnoredAny;
pub(super) type Update = IgnoredAny;

/// Without the feature, there are no components from registries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryConfig;

/// The name of the lock file. No folder of a grant request may contain a file with this name.
pub(super) const LOCK_FILE: &str = "larder.lock";

impl RegistryConfig {
    pub(super) fn with_store_of(self, _: &Self) -> Self {
        self
    }
}
