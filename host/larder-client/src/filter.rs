//! Filters for lists. Only Larder servers support filters; other servers ignore them.

use serde::Serialize;

/// The common properties of the items of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Filter {
    /// The beginning of the URI.
    #[serde(
        rename = "dev.larder/uriPrefix",
        skip_serializing_if = "Option::is_none"
    )]
    pub uri_prefix: Option<String>,
    /// The kind, such as `file`.
    #[serde(rename = "dev.larder/kind", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The media type, such as `text/plain` or `image/*`.
    #[serde(
        rename = "dev.larder/mimeType",
        skip_serializing_if = "Option::is_none"
    )]
    pub mime_type: Option<String>,
    /// The team to which the item belongs.
    #[serde(rename = "dev.larder/team", skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// The provider that offers the item.
    #[serde(
        rename = "dev.larder/provider",
        skip_serializing_if = "Option::is_none"
    )]
    pub provider: Option<String>,
    /// A text in the name, title, description or URI, ignoring case.
    #[serde(rename = "dev.larder/text", skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}
