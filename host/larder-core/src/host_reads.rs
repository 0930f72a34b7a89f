//! Reads of the server itself, without a caller. What they return is shown to all callers of a team, so it must not
//! belong to one of them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::catalog::{Catalog, Offer};
use larder_model::policy::Permit;
use larder_model::resource::{Freshness, ReadResult, Scope};
use larder_model::uri::Uri;
use larder_provider::CallError;

/// URIs in one query of versions.
const MAX_VERSION_URIS: usize = 500;

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
