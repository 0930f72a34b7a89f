//! Results of requests. Fields without a name here are in `rest`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    /// The items. The protocol names this field like the list.
    #[serde(
        alias = "resources",
        alias = "resourceTemplates",
        alias = "tools",
        alias = "prompts",
        alias = "skills",
        alias = "results"
    )]
    pub items: Vec<T>,
    /// The cursor of the next page. None on the last page.
    pub next_cursor: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// An entry in the list of resources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// The URI.
    pub uri: String,
    /// The short name.
    pub name: String,
    /// A name for display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The media type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Number>,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A resource that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchResult {
    /// The entry of the resource.
    #[serde(flatten)]
    pub resource: Resource,
}

impl SearchResult {
    /// A passage that shows why the resource was found.
    pub fn excerpt(&self) -> Option<&str> {
        self.resource.rest.get("excerpt")?.as_str()
    }
}

/// An entry in the list of templates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    /// The RFC 6570 template.
    pub uri_template: String,
    /// The short name.
    pub name: String,
    /// A name for display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The media type of all resources of the template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// An entry in the list of tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// The name.
    pub name: String,
    /// A name for display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the tool does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of the arguments.
    pub input_schema: Value,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// What a server answers to a request that may require input.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer<T> {
    /// The result.
    Complete(T),
    /// The server requires input first. The request is sent again with the input.
    InputRequired(InputRequired),
}

/// The input that a server requires.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InputRequired {
    /// The requests by their keys. The answers have the same keys.
    #[serde(default)]
    pub input_requests: BTreeMap<String, InputRequest>,
    /// A value that is sent back with the answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
}

/// One request for input, such as `elicitation/create`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputRequest {
    /// The method.
    pub method: String,
    /// The parameters.
    #[serde(default)]
    pub params: Value,
}

/// The result of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The content for the model: texts, images, sounds, links and resources.
    #[serde(default)]
    pub content: Vec<Value>,
    /// The structured result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// Whether the tool failed. The content says why.
    #[serde(default)]
    pub is_error: bool,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// An entry in the list of prompts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prompt {
    /// The name.
    pub name: String,
    /// A name for display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the prompt is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<PromptArgument>,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromptArgument {
    /// The name.
    pub name: String,
    /// Whether a value is required.
    #[serde(default)]
    pub required: bool,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A skill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Skill {
    /// The URI of its `SKILL.md`.
    pub uri: String,
    /// The front matter of its `SKILL.md`.
    pub frontmatter: Map<String, Value>,
    /// Its files with their digests and sizes, or `"dynamic"`.
    pub resources: Value,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The messages of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromptResult {
    /// What the prompt is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The messages: each has a `role` and `content`.
    #[serde(default)]
    pub messages: Vec<PromptMessage>,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A message of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromptMessage {
    /// `user` or `assistant`.
    pub role: String,
    /// A text, image, sound, link or resource.
    pub content: Value,
}

/// The result of a read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadResult {
    /// One or several contents.
    pub contents: Vec<Content>,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// One content of a resource: text or a blob.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Content {
    /// The URI.
    pub uri: String,
    /// The media type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Binary content in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A blob that cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the blob of {0} is not base64")]
pub struct NotBase64(String);

impl Content {
    /// Returns the text as UTF-8, or the decoded blob.
    pub fn bytes(&self) -> Result<Vec<u8>, NotBase64> {
        match (&self.text, &self.blob) {
            (Some(text), _) => Ok(text.clone().into_bytes()),
            (None, Some(blob)) => base64_simd::STANDARD
                .decode_to_vec(blob)
                .map_err(|_| NotBase64(self.uri.clone())),
            (None, None) => Ok(Vec::new()),
        }
    }
}

/// A progress report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The amount of work that is done. The amount only increases.
    pub progress: f64,
    /// The total amount of work, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// A message for display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CompleteResult {
    pub(super) completion: Completion,
}

/// The possible values of a variable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    /// The values, the best first.
    pub values: Vec<String>,
    /// The total number of values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<Number>,
    /// Whether there are more values than these.
    #[serde(default)]
    pub has_more: bool,
}
