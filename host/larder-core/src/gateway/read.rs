//! Reads: find the providers that may own the URI, check that the caller may use them, and call them in order
//! until one does not answer "not found".

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::audited::AuditContext;
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
    /// Reads a URI without recording it in the audit log.
    pub(super) async fn read_unaudited(
        &self,
        call: &Arc<Call>,
        uri: &str,
        known_version: Option<&str>,
        audit: &mut AuditContext,
    ) -> Result<ReadResult, Error> {
        let uri = Uri::parse(uri)?;
        let view = self.view(call.caller.as_ref());
        let mut refusal = None;
        for (team, route) in view.routes(&uri) {
            let offer = match route {
                Route::Refused(why) => {
                    refusal = refusal.or(Some(why));
                    continue;
                }
                Route::Listed(offer) | Route::Matched(offer, _) | Route::Claimed(offer) => offer,
            };
            audit.set_provider(offer);
            match team.read_from((call, known_version), offer, route, &uri, audit).await {
                Ok(result) if known_version.is_some() && result.version.as_deref() == known_version => {
                    return Err(Error::from_call(offer, uri.as_str(), known_version, CallError::NotModified));
                }
                Ok(result) => {
                    offer.provider.charge_bytes(result.wire_size());
                    let freshness = result.freshness.merge(self.max_freshness());
                    return Ok(ReadResult { freshness, ..result });
                }
                Err(CallError::NotFound) => {}
                Err(CallError::Refused(why)) => refusal = refusal.or(Some(why)),
                Err(error) => return Err(Error::from_call(offer, uri.as_str(), known_version, error)),
            }
        }
        let uri = uri.to_string();
        Err(match refusal {
            Some(why) => Error::Refused { uri, why },
            None => Error::NotFound { uri },
        })
    }

    /// Returns the catalog's entry for a listed URI.
    pub fn listed_entry(&self, call: &Arc<Call>, uri: &str) -> Option<Arc<Entry>> {
        let view = self.view(call.caller.as_ref());
        let offer = view.by_uri(uri)?;
        Permit::for_team(call, offer.provider.team()).ok()?;
        let at = offer.entries.binary_search_by(|entry| entry.uri.as_str().cmp(uri)).ok()?;
        offer.entries.get(at).cloned()
    }

    /// Whether a provider can be called for this URI. Resources that can be read can be watched.
    pub async fn is_readable(&self, call: &Arc<Call>, uri: &str) -> bool {
        let Ok(uri) = Uri::parse(uri) else {
            return false;
        };
        let view = self.view(call.caller.as_ref());
        for (_, route) in view.routes(&uri) {
            let is_readable = match route {
                Route::Listed(offer) | Route::Matched(offer, _) => {
                    Permit::for_team(call, offer.provider.team()).is_ok()
                }
                Route::Claimed(offer) => self.check_claim(call, offer, &uri).await.is_ok(),
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
    /// Reads from one provider, or from the cache.
    async fn read_from(
        &self,
        (call, known_version): (&Arc<Call>, Option<&str>),
        offer: &Offer,
        route: Route<'_>,
        uri: &Uri,
        audit: &mut AuditContext,
    ) -> Result<ReadResult, CallError> {
        let (Ok(permit), Some(caller)) = (Permit::for_team(call, offer.provider.team()), &call.caller) else {
            return Err(CallError::NotFound);
        };
        if let Err(exceeded) = offer.provider.check_byte_quota() {
            audit.error = Some(exceeded.outcome());
            return Err(exceeded);
        }
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
        let mode = cache_mode(call, known_version);
        let result = self.state.cache.get_or_call(&request, mode, call_provider).await;
        audit.cached = !called.load(Ordering::Relaxed);
        audit.error = result.as_ref().err().map(CallError::outcome);
        offer.provider.metrics().record_read(if audit.cached { CacheResult::Hit } else { CacheResult::Miss });
        result
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
