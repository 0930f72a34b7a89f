//! The tools of the server itself, for clients that support only tools. They read resources and search in them with the
//! functions that also serve the methods for resources.

mod definitions;

use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use serde_json::Value;

use super::OfferedTool;

/// A tool of the server itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceTool {
    /// Lists resources.
    ListResources,
    /// Lists templates.
    ListResourceTemplates,
    /// Reads a resource.
    ReadResource,
    /// Searches in resources.
    SearchResources,
    /// Searches in the form that research connectors expect.
    Search,
    /// Reads in the form that research connectors expect.
    Fetch,
}

/// The arguments of a tool of the server. Each tool uses some of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResourceArguments {
    /// The URI to read.
    #[serde(alias = "id")]
    pub uri: String,
    /// The text to search for.
    #[serde(alias = "text")]
    pub query: Option<String>,
    /// Only resources whose URIs have this prefix.
    pub uri_prefix: Option<String>,
    /// Only resources of this kind.
    pub kind: Option<String>,
    /// Maximum number of items.
    pub limit: Option<u32>,
    /// Where to continue.
    pub cursor: Option<String>,
}

/// The definitions, in the order of [`ResourceTool::ALL`].
static DEFINITIONS: LazyLock<Vec<Arc<OfferedTool>>> = LazyLock::new(|| {
    // A test compiles all definitions.
    let offered = ResourceTool::ALL.map(|tool| OfferedTool::new(tool.definition(), "").ok());
    offered.into_iter().flatten().map(Arc::new).collect()
});

impl ResourceTool {
    /// All tools of the server.
    pub const ALL: [Self; 6] = [
        Self::ListResources,
        Self::ListResourceTemplates,
        Self::ReadResource,
        Self::SearchResources,
        Self::Search,
        Self::Fetch,
    ];

    /// The name of the tool.
    pub fn name(self) -> &'static str {
        match self {
            Self::ListResources => "list_resources",
            Self::ListResourceTemplates => "list_resource_templates",
            Self::ReadResource => "read_resource",
            Self::SearchResources => "search_resources",
            Self::Search => "search",
            Self::Fetch => "fetch",
        }
    }

    /// Returns the tool with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Returns the definitions of all tools of the server.
    pub(crate) fn all_offered() -> &'static [Arc<OfferedTool>] {
        &DEFINITIONS
    }

    /// Returns the definition of the tool.
    pub(crate) fn offered(self) -> Option<&'static Arc<OfferedTool>> {
        DEFINITIONS
            .iter()
            .find(|tool| tool.name.as_str() == self.name())
    }

    /// Validates the arguments of a call. Null counts as missing: some models write null for omitted arguments.
    pub fn arguments(self, arguments: &Value) -> Result<ResourceArguments, String> {
        let mut arguments = arguments.clone();
        if let Some(members) = arguments.as_object_mut() {
            members.retain(|_, value| !value.is_null());
        }
        if let Some(offered) = self.offered() {
            offered
                .check_arguments(&arguments)
                .map_err(|error| error.to_string())?;
        }
        serde_json::from_value(arguments).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_tool_has_a_definition() {
        let names: Vec<_> = ResourceTool::all_offered()
            .iter()
            .map(|tool| tool.name.as_str())
            .collect();
        assert_eq!(names, ResourceTool::ALL.map(ResourceTool::name));
        for tool in ResourceTool::all_offered() {
            assert_eq!(tool.tool.hints.read_only, Some(true));
            assert!(tool.tool.output_schema.is_some() && tool.tool.description.is_some());
        }
        assert_eq!(ResourceTool::named("fetch"), Some(ResourceTool::Fetch));
        assert_eq!(ResourceTool::named("other"), None);
    }

    #[test]
    fn arguments_are_validated() {
        let search = |arguments| ResourceTool::SearchResources.arguments(&arguments);
        let found = search(json!({ "query": "a", "limit": 3, "kind": null })).unwrap();
        assert_eq!(
            (found.query.as_deref(), found.limit, found.kind),
            (Some("a"), Some(3), None)
        );
        for (wrong, why) in [
            (json!({}), "\"query\" is a required property"),
            (
                json!({ "query": "a", "limit": 0 }),
                "0 is less than the minimum of 1",
            ),
            (json!({ "query": "a", "uri": "b" }), "'uri' was unexpected"),
            (json!({ "query": 1 }), "1 is not of type \"string\""),
        ] {
            let error = search(wrong).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert_eq!(
            ResourceTool::Fetch
                .arguments(&json!({ "id": "a:b" }))
                .unwrap()
                .uri,
            "a:b"
        );
        assert_eq!(
            ResourceTool::ReadResource
                .arguments(&json!({ "uri": "a:b" }))
                .unwrap()
                .uri,
            "a:b"
        );
    }
}
