//! Search in the content of a provider.

use crate::resource::{Entry, Freshness};

/// A search.
#[derive(Debug, Clone, Default)]
pub struct SearchQuery {
    /// The text to search for.
    pub text: String,
    /// Maximum number of hits.
    pub limit: u32,
    /// Only entries whose URIs have this prefix.
    pub uri_prefix: Option<String>,
    /// Only entries of this kind.
    pub kind: Option<String>,
}

/// The result of a search.
#[derive(Debug, Clone)]
pub struct Hits {
    /// The hits with different URIs, best first.
    pub hits: Vec<Hit>,
    /// How long the result may be reused.
    pub freshness: Freshness,
    /// True unless the provider reported that hits are missing.
    pub is_complete: bool,
}

/// A resource that a search found.
#[derive(Debug, Clone)]
pub struct Hit {
    /// The entry of the resource.
    pub entry: Entry,
    /// A passage that shows why the resource was found.
    pub excerpt: Option<String>,
}
