//! A read: who owns the URI, may this caller, then one call. A not-found lets the next candidate try.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::audited::Trail;
use super::cache::{Manner, Question};
use super::view::Part;
use super::{Error, Gateway};
use crate::catalog::{Catalog, Offer, Route};
use crate::metrics::Kept;
use crate::policy::Permit;
use crate::provider::CallError;
use crate::resource::{Call, Entry, Reading};
use crate::uri::Uri;

impl Gateway {
    pub(super) async fn find(
        &self,
        call: &Arc<Call>,
        uri: &str,
        held: Option<&str>,
        trail: &mut Trail,
    ) -> Result<Reading, Error> {
        let uri = Uri::parse(uri)?;
        let view = self.view(call.caller.as_ref());
        let mut refused = None;
        for (part, route) in view.routes(&uri) {
            let offer = match route {
                Route::Refused(why) => {
                    refused = refused.or(Some(why));
                    continue;
                }
                Route::Listed(offer) | Route::Matched(offer, _) | Route::Claimed(offer) => offer,
            };
            trail.at(offer);
            match part.ask((call, held), offer, route, &uri, trail).await {
                Ok(reading) if held.is_some() && reading.version.as_deref() == held => {
                    return Err(Error::from_call(offer, uri.as_str(), held, CallError::NotModified));
                }
                Ok(reading) => {
                    offer.provider.gave(reading.weight());
                    let freshness = reading.freshness.merge(self.most());
                    return Ok(Reading { freshness, ..reading });
                }
                Err(CallError::NotFound) => {}
                Err(CallError::Refused(why)) => refused = refused.or(Some(why)),
                Err(error) => return Err(Error::from_call(offer, uri.as_str(), held, error)),
            }
        }
        let uri = uri.to_string();
        Err(match refused {
            Some(why) => Error::Refused { uri, why },
            None => Error::NotFound { uri },
        })
    }

    /// What the catalog holds of a URI that is listed.
    pub fn entry(&self, call: &Arc<Call>, uri: &str) -> Option<Arc<Entry>> {
        let view = self.view(call.caller.as_ref());
        let offer = view.by_uri(uri)?;
        Permit::ask(call, offer.provider.team()).ok()?;
        let at = offer.entries.binary_search_by(|entry| entry.uri.as_str().cmp(uri)).ok()?;
        offer.entries.get(at).cloned()
    }

    /// Whether anybody would be asked for this URI: what can be read can be watched.
    pub async fn owns(&self, call: &Arc<Call>, uri: &str) -> bool {
        let Ok(uri) = Uri::parse(uri) else {
            return false;
        };
        let view = self.view(call.caller.as_ref());
        for (_, route) in view.routes(&uri) {
            let owned = match route {
                Route::Listed(offer) | Route::Matched(offer, _) => {
                    Permit::ask(call, offer.provider.team()).is_ok()
                }
                Route::Claimed(offer) => self.claims(call, offer, &uri).await.is_ok(),
                Route::Refused(_) => false,
            };
            if owned {
                return true;
            }
        }
        false
    }

    async fn claims(&self, call: &Arc<Call>, offer: &Offer, uri: &Uri) -> Result<(), CallError> {
        let permit = Permit::ask(call, offer.provider.team()).map_err(|_| CallError::NotFound)?;
        offer.claimed(uri, offer.provider.match_uri(permit, uri).await?).map(|_| ())
    }
}

impl Part {
    /// Asks one provider, unless its answer is known.
    async fn ask(
        &self,
        (call, held): (&Arc<Call>, Option<&str>),
        offer: &Offer,
        route: Route<'_>,
        uri: &Uri,
        trail: &mut Trail,
    ) -> Result<Reading, CallError> {
        let (Ok(permit), Some(caller)) = (Permit::ask(call, offer.provider.team()), &call.caller) else {
            return Err(CallError::NotFound);
        };
        if let Err(used_up) = offer.provider.affords_bytes() {
            trail.error = Some(used_up.outcome());
            return Err(used_up);
        }
        let question = Question { revision: offer.provider.revision(), caller, uri };
        let held_by_it = held.map(ToOwned::to_owned);
        let asked = AtomicBool::new(false);
        // Pinned: given by value, the call would be in the cache's future twice.
        let answer = pin!(async {
            asked.store(true, Ordering::Relaxed);
            let matched = match route {
                Route::Listed(_) => offer.own_match(uri),
                Route::Matched(_, matched) => matched,
                _ => Some(offer.claimed(uri, offer.provider.match_uri(permit.clone(), uri).await?)?),
            };
            let reading = offer.provider.read(permit, uri, matched, held_by_it).await?;
            its_own(&self.catalog, offer, uri, &reading)?;
            Ok(reading)
        });
        let answer = self.team.cache.answer(&question, manner(call, held), answer).await;
        trail.cached = !asked.load(Ordering::Relaxed);
        trail.error = answer.as_ref().err().map(CallError::outcome);
        offer.provider.tally().answered(if trail.cached { Kept::Hit } else { Kept::Miss });
        answer
    }
}

/// A model takes a content for what its URI says: nobody answers in the name of another.
fn its_own(catalog: &Catalog, offer: &Offer, asked: &Uri, reading: &Reading) -> Result<(), CallError> {
    let mut contents = reading.contents.iter();
    match contents.find(|content| !catalog.may_answer(offer.name(), asked, &content.uri)) {
        None => Ok(()),
        Some(content) => Err(CallError::Failed(format!(
            "it gave a content as {}, which is neither below what was asked for nor one that it lists, matches or claims",
            offer.provider.grant().secrets.redact(content.uri.as_str())
        ))),
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
