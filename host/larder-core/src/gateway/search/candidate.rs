//! A resource that one source found.

use std::sync::Arc;

use crate::catalog::Offer;
use larder_model::resource::Entry;

/// A resource that one source found.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) entry: Arc<Entry>,
    pub(super) excerpt: Option<String>,
    /// The provider of the resource.
    pub(super) offer: Arc<Offer>,
}

impl Candidate {
    /// Approximate size in a response in bytes.
    pub(super) fn wire_size(&self) -> usize {
        self.entry.wire_size() + self.excerpt.as_deref().map_or(0, str::len)
    }
}
