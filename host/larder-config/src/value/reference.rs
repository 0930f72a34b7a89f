//! A reference to a component: in the program, or in a registry.

#[cfg(feature = "registry")]
use larder_registry::Reference;
use serde::{Deserialize, Deserializer};

use super::Scalar;
use larder_builtin::{BuiltinProvider, PREFIX};

/// A reference to a component.
#[derive(Debug, Clone)]
pub(crate) enum ComponentReference {
    /// `builtin:files`
    Builtin(&'static BuiltinProvider),
    /// `registry.example.com/team/wiki:1.2`, or `team:wiki@^1.2`
    #[cfg(feature = "registry")]
    Registry(Reference),
}

impl<'de> Deserialize<'de> for ComponentReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Scalar::deserialize(deserializer)?.0;
        match text.strip_prefix(PREFIX) {
            Some(name) => larder_builtin::find(name)
                .map(Self::Builtin)
                .map_err(serde::de::Error::custom),
            None => in_registry(&text).map_err(serde::de::Error::custom),
        }
    }
}

#[cfg(feature = "registry")]
fn in_registry(text: &str) -> Result<ComponentReference, larder_registry::BadReference> {
    text.parse().map(ComponentReference::Registry)
}

#[cfg(not(feature = "registry"))]
fn in_registry(_: &str) -> Result<ComponentReference, String> {
    Err(crate::features::missing("registry"))
}
