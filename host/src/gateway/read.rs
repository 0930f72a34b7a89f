//! A read: who owns the URI, may this caller, then one call. A not-found lets the next candidate try.

use std::sync::Arc;

use super::cache::{Manner, Question};
use super::{Error, Gateway};
use crate::catalog::{Catalog, Offer};
use crate::policy::Permit;
use crate::provider::CallError;
use crate::resource::{Call, Match, Reading};
use crate::template::Captures;
use crate::uri::Uri;

/// One way to ask for a URI.
enum Route<'a> {
    /// With the values that the host matched, if it did.
    Matched(&'a Arc<Offer>, Option<Match>),
    /// Its provider decides whether it is one of its own.
    Claimed(&'a Arc<Offer>),
    /// The values are not fit for a guest.
    Refused(String),
}

impl Gateway {
    /// What a URI holds. `held` is the version that the caller has already: if it is still the current one,
    /// the answer is `NotModified`.
    pub async fn read(&self, call: &Arc<Call>, uri: &str, held: Option<&str>) -> Result<Reading, Error> {
        let uri = Uri::parse(uri)?;
        let catalog = self.reader.snapshot();
        let mut refused = None;
        for route in routes(&catalog, &uri) {
            let offer = match route {
                Route::Refused(why) => {
                    refused = refused.or(Some(why));
                    continue;
                }
                Route::Matched(offer, _) | Route::Claimed(offer) => offer,
            };
            match self.ask(call, offer, route, &uri, held).await {
                Ok(reading) if held.is_some() && reading.version.as_deref() == held => {
                    return Err(Error::from_call(offer.name(), uri.as_str(), held, CallError::NotModified));
                }
                Ok(reading) => return Ok(reading),
                Err(CallError::NotFound) => {}
                Err(error) => return Err(Error::from_call(offer.name(), uri.as_str(), held, error)),
            }
        }
        let uri = uri.to_string();
        Err(match refused {
            Some(why) => Error::Refused { uri, why },
            None => Error::NotFound { uri },
        })
    }

    /// Asks one provider, unless its answer is known.
    async fn ask(
        &self,
        call: &Arc<Call>,
        offer: &Offer,
        route: Route<'_>,
        uri: &Uri,
        held: Option<&str>,
    ) -> Result<Reading, CallError> {
        let (Ok(permit), Some(caller)) = (Permit::ask(call, offer.provider.team()), &call.caller) else {
            return Err(CallError::NotFound);
        };
        let question = Question { revision: offer.provider.revision(), caller, uri };
        let held_by_it = held.map(ToOwned::to_owned);
        let answer = async {
            let matched = match route {
                Route::Matched(_, matched) => matched,
                _ => Some(offer.provider.match_uri(permit.clone(), uri).await?.ok_or(CallError::NotFound)?),
            };
            offer.provider.read(permit, uri, matched, held_by_it).await
        };
        self.cache.answer(&question, manner(call, held), answer).await
    }

    /// Whether anybody would be asked for this URI: what can be read can be watched.
    pub async fn owns(&self, call: &Arc<Call>, uri: &str) -> bool {
        let Ok(uri) = Uri::parse(uri) else {
            return false;
        };
        let catalog = self.reader.snapshot();
        for route in routes(&catalog, &uri) {
            let owned = match route {
                Route::Matched(offer, _) => Permit::ask(call, offer.provider.team()).is_ok(),
                Route::Claimed(offer) => matches!(self.claimed(call, offer, &uri).await, Ok(Some(_))),
                Route::Refused(_) => false,
            };
            if owned {
                return true;
            }
        }
        false
    }

    async fn claimed(&self, call: &Arc<Call>, offer: &Offer, uri: &Uri) -> Result<Option<Match>, Error> {
        let Ok(permit) = Permit::ask(call, offer.provider.team()) else {
            return Ok(None);
        };
        let found = offer.provider.match_uri(permit, uri).await;
        found.map_err(|error| Error::from_call(offer.name(), uri.as_str(), None, error))
    }
}

/// What a request says for itself decides how far its answer is for others, too.
fn manner(call: &Call, held: Option<&str>) -> Manner {
    match held {
        _ if !call.is_plain() => Manner::Apart,
        _ if call.progress.is_some() => Manner::Alone,
        Some(_) => Manner::Follow,
        None => Manner::Lead,
    }
}

/// All ways to ask for a URI, the best first; each provider is asked in one way only.
fn routes<'a>(catalog: &'a Catalog, uri: &'a Uri) -> impl Iterator<Item = Route<'a>> {
    let exact = catalog.by_uri(uri.as_str());
    // Most reads are of what is listed: the rest is looked up only when that did not do.
    let exact_route = exact.into_iter().map(move |offer| Route::Matched(offer, own_match(offer, uri)));
    let others = std::iter::once_with(move || {
        let mut asked: Vec<_> = exact.iter().map(|offer| offer.name()).collect();
        let mut routes = Vec::new();
        for (offer, template, captures) in catalog.by_template(uri) {
            if !asked.contains(&offer.name()) {
                asked.push(offer.name());
                routes.push(screened(offer, template, captures));
            }
        }
        let claimed = catalog.by_claim(uri.as_str()).map(|offer| (offer, true));
        let listed = catalog.by_rest(uri).map(|offer| (offer, false));
        for (offer, by_claim) in claimed.chain(listed) {
            if !asked.contains(&offer.name()) {
                asked.push(offer.name());
                routes.push(if by_claim { Route::Claimed(offer) } else { Route::Matched(offer, None) });
            }
        }
        routes
    });
    exact_route.chain(others.flatten())
}

fn screened<'a>(offer: &'a Arc<Offer>, template: &str, captures: Captures) -> Route<'a> {
    match captures.screen() {
        Err(unsafe_value) if !offer.provider.grant().raw_values => Route::Refused(unsafe_value.to_string()),
        _ => Route::Matched(offer, Some(Match { template: template.to_owned(), values: captures.values })),
    }
}

/// What a provider's own templates make of a URI that it lists. It named the URI itself, so values
/// that are not fit are no reason to refuse it; they are only not handed over.
fn own_match(offer: &Offer, uri: &Uri) -> Option<Match> {
    let patterns = offer.templates.iter().map(|template| &template.pattern);
    let best = patterns
        .filter_map(|pattern| Some((pattern, pattern.matches(uri.as_str())?)))
        .max_by_key(|(pattern, _)| pattern.specificity());
    let (pattern, captures) = best.filter(|(_, captures)| captures.screen().is_ok())?;
    Some(Match { template: pattern.as_str().to_owned(), values: captures.values })
}
