//! A reference to a component in a registry.

use larder_registry::Reference;
use serde::{Deserialize, Deserializer};

use super::Scalar;

/// A reference to a component: `registry.example.com/team/wiki:1.2`, or `team:wiki@^1.2`.
#[derive(Debug, Clone)]
pub(crate) struct ComponentReference(pub(crate) Reference);

impl<'de> Deserialize<'de> for ComponentReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Scalar::deserialize(deserializer)?
            .0
            .parse()
            .map(Self)
            .map_err(serde::de::Error::custom)
    }
}
