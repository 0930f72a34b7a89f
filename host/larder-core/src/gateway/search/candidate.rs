//! A resource that one source found, and the check that its provider may return it.

use std::sync::Arc;

use crate::catalog::Offer;
use crate::gateway::view::{TeamCatalog, View};
use larder_model::resource::Entry;
use larder_model::uri::Uri;

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

/// Whether a read of this URI reaches this provider. A URI that another provider lists does not. Adds the steps that
/// this took.
pub(super) fn is_own(
    view: &View,
    team: &TeamCatalog,
    offer: &Arc<Offer>,
    uri: &Uri,
    steps: &mut usize,
) -> bool {
    let ownership = view.ownership(offer);
    ownership.is_some_and(|ownership| ownership.includes(uri, steps))
        && team.catalog.owns(offer.name(), uri)
}
