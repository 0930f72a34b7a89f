//! Reads: find the providers that may own the URI, check that the caller may use them, and call them in order until an
//! answer is not "not found".

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::audit_record::{AuditRecord, written};
use super::cache::{CacheMode, CacheRequest, ReadTime};
use super::view::{TeamCatalog, View};
use super::{Error, Gateway};
use crate::catalog::{Offer, Route};
use larder_model::policy::{ApprovalMode, Permit, TimeLimit, is_page_type};
use larder_model::resource::{Call, Entry, Match, ReadResult};
use larder_model::uri::Uri;
use larder_provider::{CallError, UriFilter};
use larder_runtime::metrics::CacheResult;

/// How long a provider may take to decide whether a caller may watch a URI.
const MAX_WATCH_CHECK: Duration = Duration::from_secs(1);

impl Gateway {
    /// Reads a URI: calls the providers that may own it, in order, until an answer is not "not found". `known_version` is the version that the caller has already: if it is still the current version, the
    /// result is the error `NotModified`.
    pub async fn read(
        &self,
        call: &Arc<Call>,
        uri: &Uri,
        known_version: Option<&str>,
    ) -> Result<ReadResult, Error> {
        let mut record = self.begin_record("read", call, Some(uri.as_str())).await?;
        let view = self.view(call);
        let mut answer = view.skill_file(uri).map(|(offer, file)| {
            Self::read_skill_file(call, offer, file, known_version, &mut record)
        });
        let mut refusal = None;
        let mut routes = view.routes(uri);
        while answer.is_none()
            && let Some((team, route)) = routes.next()
        {
            let offer = match route {
                Route::Refused(why) => {
                    refusal.get_or_insert(why);
                    continue;
                }
                Route::Listed(offer) | Route::Matched(offer, _) | Route::Claimed(offer) => offer,
            };
            record.set_provider(offer);
            let result = team
                .read_from(call, known_version, offer, route, uri, &mut record)
                .await;
            answer =
                match result {
                    Err(CallError::NotFound) => None,
                    Err(CallError::Refused(why)) => {
                        refusal.get_or_insert(why);
                        None
                    }
                    result => Some(result.map_err(|error| {
                        Error::from_call(offer, uri.as_str(), known_version, error)
                    })),
                };
        }
        let result = answer.unwrap_or_else(|| Err(no_answer(&view, uri, refusal)));
        let max_freshness = view.max_freshness();
        let result = result.map(|result| ReadResult {
            freshness: result.freshness.merge(max_freshness),
            ..result
        });
        if let Some(line) = record.end_read(&result) {
            written(Some(line)).await?;
        }
        result
    }

    /// Returns the catalog's entry for a listed URI.
    pub fn listed_entry(&self, call: &Arc<Call>, uri: &Uri) -> Option<Arc<Entry>> {
        let view = self.view(call);
        let offer = view.by_uri(uri)?;
        offer.permit(call).ok()?;
        offer.listed_entry(uri).cloned()
    }

    /// Fails if the caller may not watch this URI. A URI that the provider lists for everybody may be watched by
    /// everybody who may call the provider. For other URIs the provider decides.
    pub(super) async fn find_readable(
        &self,
        call: &Arc<Call>,
        uri: &Uri,
        record: &mut AuditRecord<'_>,
    ) -> Result<(), Error> {
        let view = self.view(call);
        for (_, route) in view.routes(uri) {
            if let Some(offer) = route.offer() {
                record.set_provider(offer);
            }
            if may_watch(call, route, uri).await {
                return Ok(());
            }
        }
        Err(not_found(&view, uri))
    }
}

/// The error of a read that no provider answered.
fn no_answer(view: &View, uri: &Uri, refusal: Option<String>) -> Error {
    match refusal {
        Some(why) => Error::Refused {
            uri: uri.to_string(),
            why,
        },
        None => not_found(view, uri),
    }
}

fn not_found(view: &View, uri: &Uri) -> Error {
    let error = Error::NotFound {
        uri: uri.to_string(),
    };
    view.unknown_uri(uri.as_str(), error)
}

async fn may_watch(call: &Arc<Call>, route: Route<'_>, uri: &Uri) -> bool {
    let Some(offer) = route.offer() else {
        return false;
    };
    let Ok(permit) = offer.permit(call) else {
        return false;
    };
    match route {
        Route::Refused(_) => false,
        Route::Listed(offer) if !offer.is_personal() => true,
        Route::Listed(offer) => grants_read(offer, permit, uri, offer.own_match(uri)).await,
        Route::Matched(offer, matched) => grants_read(offer, permit, uri, matched).await,
        Route::Claimed(offer) => {
            let found = offer.provider.match_uri(permit.clone(), uri).await;
            match found.and_then(|found| offer.claimed_match(uri, found)) {
                Ok(matched) => grants_read(offer, permit, uri, Some(matched)).await,
                Err(_) => false,
            }
        }
    }
}

/// Whether the provider lets this caller read the URI. The URI need not exist yet, unless the resources depend on the
/// caller. A slow or failing provider does not prevent the watch.
async fn grants_read(offer: &Offer, permit: Permit, uri: &Uri, matched: Option<Match>) -> bool {
    let limit = TimeLimit {
        until: Instant::now() + MAX_WATCH_CHECK,
        total: MAX_WATCH_CHECK,
    };
    match offer
        .provider
        .read(
            permit.within(Some(limit)),
            uri,
            matched,
            None,
            Arc::new(|_| true),
        )
        .await
    {
        Ok(_) => true,
        Err(CallError::Denied(_) | CallError::Invalid(_)) => false,
        Err(_) => !offer.is_personal(),
    }
}

impl TeamCatalog {
    /// Reads from one provider, or from the cache, and charges the response to the provider's team.
    async fn read_from(
        &self,
        call: &Arc<Call>,
        known_version: Option<&str>,
        offer: &Offer,
        route: Route<'_>,
        uri: &Uri,
        record: &mut AuditRecord<'_>,
    ) -> Result<ReadResult, CallError> {
        let (Ok(permit), Some(caller)) = (offer.permit(call), &call.caller) else {
            return Err(CallError::NotFound);
        };
        offer
            .provider
            .check_byte_quota()
            .inspect_err(|exceeded| record.set_result(false, Some(exceeded)))?;
        let time = ReadTime::new(offer.grant().limits.timeout);
        let request = CacheRequest {
            revision: offer.provider.revision(),
            caller,
            uri,
            time: &time,
        };
        let owned_version = known_version.map(ToOwned::to_owned);
        let called = AtomicBool::new(false);
        // The future is pinned here: if it were passed by value, the future of the cache would store it twice.
        let call_provider = pin!(async {
            called.store(true, Ordering::Relaxed);
            let permit = permit.within(time.limit());
            let matched = match route {
                Route::Listed(_) => offer.own_match(uri),
                Route::Matched(_, matched) => matched,
                _ => Some(
                    offer
                        .claimed_match(uri, offer.provider.match_uri(permit.clone(), uri).await?)?,
                ),
            };
            let may_return = self.may_return(offer, uri);
            offer
                .provider
                .read(permit, uri, matched, owned_version, may_return)
                .await
        });
        let cache = &self.state.cache;
        let result = cache
            .get_or_call(&request, cache_mode(call, known_version), call_provider)
            .await;
        let is_hit = !called.load(Ordering::Relaxed);
        record.set_result(is_hit, result.as_ref().err());
        count_read(offer, is_hit);
        let result = result?;
        if known_version.is_some() && result.version.as_deref() == known_version {
            return Err(CallError::NotModified);
        }
        if offer.approval_mode == ApprovalMode::Ask {
            self.check_no_page(offer, uri, &result)?;
        }
        offer.provider.charge_bytes(result.wire_size());
        Ok(result)
    }

    /// Fails if a content may be shown as the page of an app: only approved snapshots of pages are.
    fn check_no_page(
        &self,
        offer: &Offer,
        uri: &Uri,
        result: &ReadResult,
    ) -> Result<(), CallError> {
        let mut types = result.contents.iter().map(|content| &content.mime_type);
        let is_page = |mime_type: &Option<String>| mime_type.as_deref().is_some_and(is_page_type);
        if !offer.pages.contains(uri) && !types.any(is_page) {
            return Ok(());
        }
        if offer.pages.contains(uri) && self.skills_of(offer).is_none() {
            let why = "the page was not compared with its approval yet: try again in a moment";
            return Err(CallError::Unavailable(why.to_owned()));
        }
        let why = "a page of an app must be listed or named by a tool, and be approved: see `larder approve` and `larder status`";
        Err(CallError::Refused(why.to_owned()))
    }

    /// Whether the provider may return a content, if this URI was requested.
    fn may_return(&self, offer: &Offer, requested: &Uri) -> UriFilter {
        let catalog = self.catalog.clone();
        let name = offer.name().clone();
        let requested = requested.clone();
        Arc::new(move |content: &Uri| catalog.may_return(&name, &requested, content))
    }
}

fn count_read(offer: &Offer, is_hit: bool) {
    let result = if is_hit {
        CacheResult::Hit
    } else {
        CacheResult::Miss
    };
    offer.provider.metrics().record_read(result);
}

/// Derives from the request which cached responses and calls its read may use.
fn cache_mode(call: &Call, known_version: Option<&str>) -> CacheMode {
    match known_version {
        _ if !call.is_cacheable() => CacheMode::Bypass,
        _ if call.progress.is_some() => CacheMode::CachedOnly,
        Some(_) => CacheMode::Join,
        None => CacheMode::JoinOrLead,
    }
}
