//! `functions` and `resources`: how the functions of a component that does not export the contract are offered.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::Deserializer;

use super::HumanDuration;
use larder_model::policy::{FunctionResource, FunctionSettings, FunctionTool};
use larder_model::tool::{Hints, ToolName};
use larder_uri_template::UriTemplate;

/// `functions`: how the tools of functions are described, by their names.
#[derive(Debug, Default, Clone)]
pub(crate) struct Functions(BTreeMap<String, FunctionTool>);

/// `resources`: URI templates, and the functions that read them.
#[derive(Debug, Default, Clone)]
pub(crate) struct Resources(BTreeMap<String, FunctionResource>);

/// Joins both keys.
pub(crate) fn function_settings(functions: Functions, resources: Resources) -> FunctionSettings {
    FunctionSettings {
        tools: functions.0,
        resources: resources.0,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawFunction {
    title: Option<String>,
    description: Option<String>,
    read_only: Option<bool>,
    destructive: Option<bool>,
    idempotent: Option<bool>,
    open_world: Option<bool>,
    long_running: Option<bool>,
}

impl From<RawFunction> for FunctionTool {
    fn from(raw: RawFunction) -> Self {
        Self {
            hints: raw.hints(),
            title: raw.title,
            description: raw.description,
        }
    }
}

impl RawFunction {
    fn hints(&self) -> Hints {
        Hints {
            read_only: self.read_only,
            destructive: self.destructive,
            idempotent: self.idempotent,
            open_world: self.open_world,
            long_running: self.long_running,
        }
    }
}

/// The name of a function, or a table.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum RawResource {
    Function(String),
    Table(ResourceTable),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResourceTable {
    function: String,
    mime_type: Option<String>,
    ttl: Option<HumanDuration>,
}

impl From<RawResource> for FunctionResource {
    fn from(raw: RawResource) -> Self {
        match raw {
            RawResource::Function(function) => Self {
                function,
                mime_type: None,
                ttl: std::time::Duration::ZERO,
            },
            RawResource::Table(table) => Self {
                function: table.function,
                mime_type: table.mime_type,
                ttl: table.ttl.map_or(std::time::Duration::ZERO, |ttl| ttl.0),
            },
        }
    }
}

impl<'de> Deserialize<'de> for Functions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = BTreeMap::<String, RawFunction>::deserialize(deserializer)?;
        for name in raw.keys() {
            check_name(name)?;
        }
        let tools = raw.into_iter().map(|(name, raw)| (name, raw.into()));
        Ok(Self(tools.collect()))
    }
}

impl<'de> Deserialize<'de> for Resources {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = BTreeMap::<String, RawResource>::deserialize(deserializer)?;
        let mut resources = BTreeMap::new();
        for (template, raw) in raw {
            check_template(&template)?;
            let resource = FunctionResource::from(raw);
            check_name(&resource.function)?;
            resources.insert(template, resource);
        }
        Ok(Self(resources))
    }
}

fn check_template<E: serde::de::Error>(text: &str) -> Result<(), E> {
    UriTemplate::parse(text)
        .map(drop)
        .map_err(|error| E::custom(format!("`{text}`: {error}")))
}

/// Functions are named as their tools.
fn check_name<E: serde::de::Error>(name: &str) -> Result<(), E> {
    let parsed = ToolName::parse(name);
    parsed
        .map(drop)
        .map_err(|error| E::custom(format!("`{name}`: {error}")))
}
