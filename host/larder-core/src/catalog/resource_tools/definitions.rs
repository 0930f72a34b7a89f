//! The definitions of the server's tools, as models see them.

use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::ResourceTool;
use larder_model::tool::{Hints, Tool, ToolName};

/// Maximum number of items that one call returns.
const MAX_ITEMS: u32 = 100;

impl ResourceTool {
    pub(super) fn definition(self) -> Tool {
        let raw = |schema: Value| to_raw_value(&schema).unwrap_or_default();
        Tool {
            // A test compiles all definitions, so the name is valid.
            name: ToolName::parse(self.name()).unwrap_or_else(|_| unreachable!("a constant name")),
            title: Some(self.title().into()),
            description: Some(self.description().into()),
            input_schema: raw(self.input_schema()),
            output_schema: Some(raw(self.output_schema())),
            hints: Hints {
                read_only: Some(true),
                destructive: Some(false),
                idempotent: Some(true),
                // Only this server determines which resources there are.
                open_world: Some(false),
                long_running: None,
            },
            icons: Vec::new(),
            metadata: Vec::new(),
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::ListResources => "List resources",
            Self::ListResourceTemplates => "List resource templates",
            Self::ReadResource => "Read a resource",
            Self::SearchResources => "Search in resources",
            Self::Search => "Search",
            Self::Fetch => "Fetch a document",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::ListResources => {
                "Lists the resources (documents, files, records) that this server offers, with their URIs. The list \
                 can be long: to find something by its topic, use search_resources. If the result has nextCursor, \
                 call again with it as cursor to get more."
            }
            Self::ListResourceTemplates => {
                "Lists URI templates (RFC 6570) of resources that are not all listed, such as \
                 `issues://{project}/{number}`. Replace each variable in braces by a value to get a URI for \
                 read_resource."
            }
            Self::ReadResource => {
                "Returns the content of the resource with this URI. Get URIs from search_resources or \
                 list_resources, or build them from a template of list_resource_templates."
            }
            Self::SearchResources => {
                "Finds resources by words in their names, titles, descriptions, URIs and, as far as it is searchable, \
                 their content. The best results come first, some with an excerpt. Read one with read_resource. \
                 Use a few specific words rather than a sentence. `incomplete` names providers that did not answer."
            }
            Self::Search => {
                "Finds documents on this server by words. Returns an id, a title and a URL for each, best first. \
                 Call fetch with an id to get the text."
            }
            Self::Fetch => {
                "Returns the text of a document. `id` is one of those that search returns."
            }
        }
    }

    fn input_schema(self) -> Value {
        match self {
            Self::ListResources => object(
                &json!({
                    "uri_prefix": prefix(), "kind": kind(),
                    "text": text("Only resources with this text in the name, title, description or URI."),
                    "limit": limit(50), "cursor": cursor(),
                }),
                &[],
            ),
            Self::ListResourceTemplates => object(
                &json!({ "uri_prefix": prefix(), "limit": limit(50), "cursor": cursor() }),
                &[],
            ),
            Self::ReadResource => object(
                &json!({ "uri": text("The URI of the resource.") }),
                &["uri"],
            ),
            Self::SearchResources => object(
                &json!({
                    "query": text("The words to search for."),
                    "uri_prefix": prefix(), "kind": kind(), "limit": limit(20), "cursor": cursor(),
                }),
                &["query"],
            ),
            Self::Search => object(
                &json!({ "query": text("The words to search for.") }),
                &["query"],
            ),
            Self::Fetch => object(
                &json!({ "id": text("The id of a result of search.") }),
                &["id"],
            ),
        }
    }

    fn output_schema(self) -> Value {
        match self {
            Self::ListResources => list("resources", &resource(&json!({}))),
            Self::ListResourceTemplates => list("resourceTemplates", &template()),
            Self::ReadResource => result(&json!({ "contents": contents() }), &["contents"]),
            Self::SearchResources => list("results", &found_resource()),
            Self::Search => result(&json!({ "results": found_documents() }), &["results"]),
            Self::Fetch => document(),
        }
    }
}

/// The schema of arguments. Other arguments are refused, so that a model learns that a name is wrong.
fn object(properties: &Value, required: &[&str]) -> Value {
    json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    })
}

/// The schema of a part of a result. In later versions, this part may have more members.
fn result(properties: &Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

/// The schema of a page.
fn list(key: &str, item: &Value) -> Value {
    let incomplete = json!({
        "type": "array", "items": { "type": "string" },
        "description": "The providers whose items are missing because they did not answer.",
    });
    let items = json!({ "type": "array", "items": item });
    let next = text("Call again with it as cursor to get more.");
    result(
        &json!({ key: items, "nextCursor": next, "incomplete": incomplete }),
        &[key],
    )
}

/// The schema of a resource, with further properties.
fn resource(more: &Value) -> Value {
    let mut properties = json!({
        "uri": { "type": "string" }, "name": { "type": "string" }, "title": { "type": "string" },
        "description": { "type": "string" }, "mimeType": { "type": "string" },
        "size": { "type": "integer" }, "kind": { "type": "string" },
    });
    if let (Some(properties), Some(more)) = (properties.as_object_mut(), more.as_object()) {
        properties.extend(more.clone());
    }
    result(&properties, &["uri", "name"])
}

fn template() -> Value {
    let properties = json!({
        "uriTemplate": { "type": "string" }, "name": { "type": "string" },
        "title": { "type": "string" }, "description": { "type": "string" },
        "mimeType": { "type": "string" }, "kind": { "type": "string" },
    });
    result(&properties, &["uriTemplate", "name"])
}

fn contents() -> Value {
    let content = json!({
        "uri": { "type": "string" }, "mimeType": { "type": "string" },
        "text": { "type": "string" },
        "size": { "type": "integer", "description": "The bytes of content that is not text." },
    });
    json!({ "type": "array", "items": result(&content, &["uri"]) })
}

fn found_resource() -> Value {
    let excerpt = text("A passage that shows why the resource was found.");
    resource(&json!({ "excerpt": excerpt }))
}

fn found_documents() -> Value {
    let found = json!({
        "id": { "type": "string" }, "title": { "type": "string" }, "url": { "type": "string" },
    });
    json!({ "type": "array", "items": result(&found, &["id", "title", "url"]) })
}

fn document() -> Value {
    let properties = json!({
        "id": { "type": "string" }, "title": { "type": "string" }, "text": { "type": "string" },
        "url": { "type": "string" },
        "metadata": { "type": "object", "additionalProperties": { "type": "string" } },
    });
    result(&properties, &["id", "title", "text", "url", "metadata"])
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn prefix() -> Value {
    text("Only resources whose URIs begin with this.")
}

fn kind() -> Value {
    text("Only resources of this kind, such as \"file\".")
}

fn cursor() -> Value {
    text(
        "nextCursor of the previous result, to continue there. The other arguments must be the same.",
    )
}

fn limit(default: u32) -> Value {
    json!({
        "type": "integer", "minimum": 1, "maximum": MAX_ITEMS, "default": default,
        "description": "The maximum number of results.",
    })
}
