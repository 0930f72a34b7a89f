//! `tools`: true for all tools of a component, or a list of names.

use serde::Deserialize;
use serde::de::{self, SeqAccess, Visitor};

use larder_model::policy::ToolGrant;
use larder_model::tool::ToolName;

/// The granted tools.
#[derive(Debug, Default, Clone)]
pub(crate) struct Tools(pub(crate) ToolGrant);

impl<'de> Deserialize<'de> for Tools {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ToolsVisitor)
    }
}

struct ToolsVisitor;

impl<'de> Visitor<'de> for ToolsVisitor {
    type Value = Tools;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("true for all tools, or a list of names in square brackets")
    }

    fn visit_bool<E: de::Error>(self, all: bool) -> Result<Tools, E> {
        Ok(Tools(if all { ToolGrant::All } else { ToolGrant::None }))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tools, A::Error> {
        let mut names = std::collections::BTreeSet::new();
        while let Some(name) = list.next_element::<String>()? {
            ToolName::parse(&name)
                .map_err(|error| de::Error::custom(format!("`{name}`: {error}")))?;
            names.insert(name);
        }
        Ok(Tools(ToolGrant::Names(names)))
    }
}
