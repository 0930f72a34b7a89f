//! Reads of the server itself, without a caller. What they return is shown to all callers of a team, so it must not
//! belong to one of them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::catalog::{Catalog, Offer};
use larder_model::policy::Permit;
use larder_model::resource::{Entry, Freshness, ReadResult, Scope};
use larder_model::uri::Uri;
use larder_provider::{CallError, ListQuery};

/// URIs in one query of versions.
const MAX_VERSION_URIS: usize = 500;
/// Maximum number of pages of a list. The pages of a faulty provider may never end, and may have no entries.
pub(crate) const MAX_PAGES: u32 = 10_000;
/// A list that is longer than the catalog begins again after this many times the time that its calls took.
pub(crate) const PAUSE_FACTOR: u32 = 20;

/// A page of the list of a provider that the catalog does not hold.
pub(crate) struct LaterPage {
    /// The entries that belong to the provider.
    pub(crate) entries: Vec<Arc<Entry>>,
    /// The cursor of the next page.
    pub(crate) next: Option<String>,
}

/// Reads a listed resource of a provider.
pub(crate) async fn read(
    catalog: &Arc<Catalog>,
    offer: &Offer,
    uri: &Uri,
    known_version: Option<String>,
) -> Result<ReadResult, CallError> {
    let catalog = catalog.clone();
    let name = offer.name().clone();
    let requested = uri.clone();
    let may_return = move |content: &Uri| catalog.may_return(&name, &requested, content);
    offer
        .provider
        .read(
            Permit::for_host(),
            uri,
            offer.own_match(uri),
            known_version,
            Arc::new(may_return),
        )
        .await
}

/// Whether the provider says that the content belongs to its caller, although there is no caller.
pub(crate) fn belongs_to_caller(result: &ReadResult) -> bool {
    result.freshness.scope == Scope::Caller && result.freshness != Freshness::UNKNOWN
}

/// Queries the versions of these URIs, if the provider supports versions. The calls count as calls of the host.
pub(crate) async fn versions(
    offer: &Offer,
    uris: &[Uri],
) -> Result<HashMap<Uri, String>, CallError> {
    let mut versions = HashMap::new();
    if !offer.provider.interfaces().versions {
        return Ok(versions);
    }
    for chunk in uris.chunks(MAX_VERSION_URIS) {
        let found = offer.provider.versions(Permit::for_host(), chunk).await?;
        let known = chunk.iter().cloned().zip(found);
        versions.extend(known.filter_map(|(uri, version)| Some((uri, version?))));
    }
    Ok(versions)
}

/// Requests a page of the list of a provider, after the entries that the catalog holds.
pub(crate) async fn later_entries(
    catalog: &Catalog,
    offer: &Offer,
    cursor: String,
) -> Result<LaterPage, CallError> {
    let query = ListQuery {
        cursor: Some(cursor.clone()),
        limit: offer.grant().limits.page_entries,
        uri_prefix: None,
        kind: None,
    };
    let page = offer.provider.list_for_caller(Permit::for_host(), query);
    let page = page.await?;
    let is_own = |entry: &Entry| {
        let is_in_catalog = catalog.by_uri(entry.uri.as_str()).is_some();
        !is_in_catalog && catalog.owns(offer.name(), &entry.uri)
    };
    let entries = page.items.into_iter().filter(is_own);
    Ok(LaterPage {
        entries: entries.map(Arc::new).collect(),
        // A provider that returns the cursor of this page again would never end.
        next: page.next.filter(|next| *next != cursor),
    })
}
