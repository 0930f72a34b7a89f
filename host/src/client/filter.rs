//! What is wanted of a list, in the words that a larder knows. Other servers pay no attention to them.

use serde::Serialize;

/// What the items of a list must have in common.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Filter {
    /// What their URIs begin with.
    #[serde(rename = "dev.larder/uriPrefix", skip_serializing_if = "Option::is_none")]
    pub uri_prefix: Option<String>,
    /// Their category.
    #[serde(rename = "dev.larder/kind", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Their media type, such as `text/plain` or `image/*`.
    #[serde(rename = "dev.larder/mimeType", skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The team whose they are.
    #[serde(rename = "dev.larder/team", skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// The provider that offers them.
    #[serde(rename = "dev.larder/provider", skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// What stands in their name, title, description or URI, in capitals or not.
    #[serde(rename = "dev.larder/text", skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}
