//! Reads: find the providers that may own the URI, check that the caller may use them, and call them in order
//! until one does not answer "not found".

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::audit_record::AuditRecord;
use super::cache::{CacheMode, CacheRequest};
use super::view::TeamCatalog;
use super::{Error, Gateway};
use crate::catalog::{Catalog, Offer, Route};
use larder_model::policy::Permit;
use larder_model::resource::{Call, Entry, ReadResult};
use larder_model::uri::Uri;
use larder_runtime::metrics::CacheResult;
use larder_sandbox::provider::CallError;

impl Gateway {
    /// Reads a URI. `known_version` is the version that the caller has already: if that is still the current
    /// one, the result is the error `NotModified`.
    pub async fn read(
        &self,
        call: &Arc<Call>,
        uri: &Uri,
        known_version: Option<&str>,
    ) -> Result<ReadResult, Error> {
        let mut record = self.begin_record(call, uri.as_str()).await?;
        let view = self.view(call.caller.as_ref());
        let (mut answer, mut refusal) = (None, None);
        for (team, route) in view.routes(uri) {
            let offer = match route {
                Route::Refused(why) => {
                    refusal = refusal.or(Some(why));
                    continue;
                }
                Route::Listed(offer) | Route::Matched(offer, _) | Route::Claimed(offer) => offer,
            };
            record.set_provider(offer);
            match team.read_from((call, known_version), offer, route, uri, &mut record).await {
                Err(CallError::NotFound) => {}
                Err(CallError::Refused(why)) => refusal = refusal.or(Some(why)),
                result => {
                    answer = Some((offer, result));
                    break;
                }
            }
        }
        let max_freshness = self.max_freshness();
        let result = match (answer, refusal) {
            (Some((offer, result)), _) => result
                .map(|result| ReadResult { freshness: result.freshness.merge(max_freshness), ..result })
                .map_err(|error| Error::from_call(offer, uri.as_str(), known_version, error)),
            (None, Some(why)) => Err(Error::Refused { uri: uri.to_string(), why }),
            (None, None) => Err(Error::NotFound { uri: uri.to_string() }),
        };
        record.finish(&result);
        result
    }

    /// Returns the catalog's entry for a listed URI.
    pub fn listed_entry(&self, call: &Arc<Call>, uri: &Uri) -> Option<Arc<Entry>> {
        let view = self.view(call.caller.as_ref());
        let offer = view.by_uri(uri.as_str())?;
        Permit::for_team(call, offer.provider.team()).ok()?;
        let at = offer.entries.binary_search_by(|entry| entry.uri.cmp(uri)).ok()?;
        offer.entries.get(at).cloned()
    }

    /// Whether a provider can be called for this URI. Resources that can be read can be watched.
    pub async fn is_readable(&self, call: &Arc<Call>, uri: &Uri) -> bool {
        let view = self.view(call.caller.as_ref());
        for (_, route) in view.routes(uri) {
            let is_readable = match route {
                Route::Listed(offer) | Route::Matched(offer, _) => {
                    Permit::for_team(call, offer.provider.team()).is_ok()
                }
                Route::Claimed(offer) => self.check_claim(call, offer, uri).await.is_ok(),
                Route::Refused(_) => false,
            };
            if is_readable {
                return true;
            }
        }
        false
    }

    async fn check_claim(&self, call: &Arc<Call>, offer: &Offer, uri: &Uri) -> Result<(), CallError> {
        let permit = Permit::for_team(call, offer.provider.team()).map_err(|_| CallError::NotFound)?;
        offer.claimed_match(uri, offer.provider.match_uri(permit, uri).await?).map(|_| ())
    }
}

impl TeamCatalog {
    /// Reads from one provider, or from the cache, and charges the response to the provider's team.
    async fn read_from(
        &self,
        (call, known_version): (&Arc<Call>, Option<&str>),
        offer: &Offer,
        route: Route<'_>,
        uri: &Uri,
        record: &mut AuditRecord<'_>,
    ) -> Result<ReadResult, CallError> {
        let (Ok(permit), Some(caller)) = (Permit::for_team(call, offer.provider.team()), &call.caller) else {
            return Err(CallError::NotFound);
        };
        offer.provider.check_byte_quota().inspect_err(|exceeded| record.set_result(false, Some(exceeded)))?;
        let request = CacheRequest { revision: offer.provider.revision(), caller, uri };
        let owned_version = known_version.map(ToOwned::to_owned);
        let called = AtomicBool::new(false);
        // The future is pinned here: passed by value, it would be stored twice in the future of the cache.
        let call_provider = pin!(async {
            called.store(true, Ordering::Relaxed);
            let matched = match route {
                Route::Listed(_) => offer.own_match(uri),
                Route::Matched(_, matched) => matched,
                _ => Some(offer.claimed_match(uri, offer.provider.match_uri(permit.clone(), uri).await?)?),
            };
            let result = offer.provider.read(permit, uri, matched, owned_version).await?;
            check_content_uris(&self.catalog, offer, uri, &result)?;
            Ok(result)
        });
        let cache = &self.state.cache;
        let result = cache.get_or_call(&request, cache_mode(call, known_version), call_provider).await;
        let is_hit = !called.load(Ordering::Relaxed);
        record.set_result(is_hit, result.as_ref().err());
        offer.provider.metrics().record_read(if is_hit { CacheResult::Hit } else { CacheResult::Miss });
        let result = result?;
        if known_version.is_some() && result.version.as_deref() == known_version {
            return Err(CallError::NotModified);
        }
        offer.provider.charge_bytes(result.wire_size());
        Ok(result)
    }
}

/// Checks the URIs of the contents. Models trust these URIs, so a provider may not return content under a URI
/// of another provider.
fn check_content_uris(
    catalog: &Catalog,
    offer: &Offer,
    requested: &Uri,
    result: &ReadResult,
) -> Result<(), CallError> {
    let mut contents = result.contents.iter();
    match contents.find(|content| !catalog.may_return(offer.name(), requested, &content.uri)) {
        None => Ok(()),
        Some(content) => Err(CallError::Failed(format!(
            "it returned content for {}, which is neither below the requested URI nor a URI that it lists, \
             matches or claims",
            offer.provider.grant().secrets.redact(content.uri.as_str())
        ))),
    }
}

/// Derives from the request how far its response can be cached and shared.
fn cache_mode(call: &Call, known_version: Option<&str>) -> CacheMode {
    match known_version {
        _ if !call.is_cacheable() => CacheMode::Bypass,
        _ if call.progress.is_some() => CacheMode::CachedOnly,
        Some(_) => CacheMode::Join,
        None => CacheMode::JoinOrLead,
    }
}
