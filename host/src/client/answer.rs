//! What a server answers, as far as it has names here; the rest is kept as it came.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

/// A part of a list: of resources, or of templates.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    /// What is listed, under the name that it has in the one list or in the other.
    #[serde(alias = "resources", alias = "resourceTemplates")]
    pub items: Vec<T>,
    /// Where the next page begins; none at the end.
    pub next_cursor: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// One readable thing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Where it is.
    pub uri: String,
    /// Its short name.
    pub name: String,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its media type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Number>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A family of readable things.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    /// The RFC 6570 template.
    pub uri_template: String,
    /// Its short name.
    pub name: String,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The media type of all its members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// What a URI holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// One or several pieces.
    pub contents: Vec<Content>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// One piece of it: text or a blob.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Content {
    /// Where it is.
    pub uri: String,
    /// Its media type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Anything else, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The bytes of a piece could not be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the blob of {0} is not base64")]
pub struct NotBase64(String);

impl Content {
    /// Its bytes, decoded.
    pub fn bytes(&self) -> Result<Vec<u8>, NotBase64> {
        match (&self.text, &self.blob) {
            (Some(text), _) => Ok(text.clone().into_bytes()),
            (None, Some(blob)) => {
                base64_simd::STANDARD.decode_to_vec(blob).map_err(|_| NotBase64(self.uri.clone()))
            }
            (None, None) => Ok(Vec::new()),
        }
    }
}

/// How far a server is with an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// How much is done; it only grows.
    pub progress: f64,
    /// How much there is to do, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// What is being done, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Completed {
    pub(super) completion: Completion,
}

/// The values that a variable may take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    /// Best first.
    pub values: Vec<String>,
    /// How many there are in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<Number>,
    /// Whether there are more than these.
    #[serde(default)]
    pub has_more: bool,
}
