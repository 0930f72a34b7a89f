//! A search.

use serde::Serialize;

/// A search request. Only Larder servers support it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Search {
    /// The words to search for.
    pub query: String,
    /// Maximum number of results on a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Only resources whose URIs have this prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri_prefix: Option<String>,
    /// Only resources of this kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}
