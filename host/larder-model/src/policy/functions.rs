//! How the functions of a component that does not export the contract are offered. Providers of the contract describe
//! their tools and resources themselves.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::tool::Hints;

/// What is configured for the functions of a component.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FunctionSettings {
    /// How tools are described, by their names.
    pub tools: BTreeMap<String, FunctionTool>,
    /// The functions that are read as resources, by the templates of the URIs.
    pub resources: BTreeMap<String, FunctionResource>,
}

/// How the tool of a function is described.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FunctionTool {
    /// The name for people.
    pub title: Option<String>,
    /// Replaces the documentation of the function.
    pub description: Option<String>,
    /// Properties that a client may assume.
    pub hints: Hints,
}

/// A function that is read as a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionResource {
    /// The name of the function's tool.
    pub function: String,
    /// The media type of the results; none for the media type of the function's type.
    pub mime_type: Option<String>,
    /// How long a result may be cached.
    pub ttl: Duration,
}

impl FunctionSettings {
    /// Adds what an author requests. The settings of the operator take precedence.
    pub(super) fn add_missing(&mut self, requested: &Self) {
        add_missing(&mut self.tools, &requested.tools);
        add_missing(&mut self.resources, &requested.resources);
    }

    /// The resources that the operator did not configure with the same template.
    pub(super) fn resources_beyond<'a>(
        &'a self,
        operator: &'a Self,
    ) -> impl Iterator<Item = (&'a String, &'a FunctionResource)> {
        let mut all = self.resources.iter();
        std::iter::from_fn(move || {
            all.find(|(template, _)| !operator.resources.contains_key(*template))
        })
    }
}

/// Adds the values that are not set.
pub(super) fn add_missing<T: Clone>(
    own: &mut BTreeMap<String, T>,
    requested: &BTreeMap<String, T>,
) {
    for (name, value) in requested {
        own.entry(name.clone()).or_insert_with(|| value.clone());
    }
}
