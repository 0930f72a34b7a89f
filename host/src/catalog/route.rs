//! Who is asked for a URI, and how: the exact entry, then templates, then claims, then lists that go on.

use std::sync::Arc;

use super::{Catalog, Offer};
use crate::provider::CallError;
use crate::resource::Match;
use crate::template::{Captures, Effort};
use crate::uri::Uri;

/// One way to ask for a URI.
#[derive(Debug)]
pub enum Route<'a> {
    /// It lists it.
    Listed(&'a Arc<Offer>),
    /// With the values that the host matched, if it did.
    Matched(&'a Arc<Offer>, Option<Match>),
    /// Its provider decides whether it is one of its own.
    Claimed(&'a Arc<Offer>),
    /// The values are not fit for a guest.
    Refused(String),
}

/// How near a way to ask is to the URI, beside the exact one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Nearness {
    /// A template matches it.
    Template,
    /// A claim holds it.
    Claim,
    /// A list goes on, and may have it.
    Rest,
}

impl Catalog {
    /// All ways to ask for a URI, the best first; each provider is asked in one way only.
    pub fn routes<'a>(&'a self, uri: &'a Uri) -> impl Iterator<Item = Route<'a>> + Send {
        // Most reads are of what is listed: the rest is looked up only when that did not do.
        let others = std::iter::once_with(move || self.unlisted(uri)).flatten().map(|(_, route)| route);
        self.exact(uri).into_iter().chain(others)
    }

    /// The way to ask who lists it.
    pub fn exact<'a>(&'a self, uri: &Uri) -> Option<Route<'a>> {
        self.by_uri(uri.as_str()).map(Route::Listed)
    }

    /// All other ways, the nearest first.
    pub fn unlisted<'a>(&'a self, uri: &Uri) -> Vec<(Nearness, Route<'a>)> {
        let exact = self.by_uri(uri.as_str());
        let mut asked: Vec<_> = exact.into_iter().map(|offer| offer.name()).collect();
        let mut routes = Vec::new();
        for (offer, template, captures) in self.by_template(uri) {
            if !asked.contains(&offer.name()) {
                asked.push(offer.name());
                routes.push((Nearness::Template, screened(offer, template, captures)));
            }
        }
        let claimed = self.by_claim(uri.as_str()).map(|offer| (offer, true));
        let listed = self.by_rest(uri).map(|offer| (offer, false));
        for (offer, by_claim) in claimed.chain(listed) {
            if !asked.contains(&offer.name()) {
                asked.push(offer.name());
                routes.push(match by_claim {
                    true => (Nearness::Claim, Route::Claimed(offer)),
                    false => (Nearness::Rest, Route::Matched(offer, None)),
                });
            }
        }
        routes
    }
}

impl Offer {
    /// What its own templates make of a URI that it lists. It named the URI itself, so values that are not fit are no
    /// reason to refuse it; they are only not handed over.
    pub fn own_match(&self, uri: &Uri) -> Option<Match> {
        let patterns = self.prefixes.of(uri.as_str()).map(|at| &self.templates[at].pattern);
        let mut effort = Effort::default();
        let best = patterns
            .filter_map(|pattern| Some((pattern, pattern.matches_within(uri.as_str(), &mut effort)?)))
            .max_by_key(|(pattern, _)| pattern.specificity());
        let (pattern, captures) = best.filter(|(_, captures)| captures.screen().is_ok())?;
        Some(Match { template: pattern.as_str().to_owned(), values: captures.values })
    }

    /// What to make of its provider's word on a URI inside its claims. Where it named one of the templates that it lists, its last
    /// variable took slashes: then the values are those that the host reads, screened as for any other template.
    /// What a provider matches by a rule of its own is its own affair.
    pub fn claimed(&self, uri: &Uri, found: Option<Match>) -> Result<Match, CallError> {
        let found = found.ok_or(CallError::NotFound)?;
        let mut patterns = self.templates.iter().map(|template| &template.pattern);
        let listed = patterns.find(|pattern| pattern.as_str() == found.template);
        let Some(captures) = listed.and_then(|pattern| pattern.matches_stretched(uri.as_str())) else {
            return Ok(found);
        };
        match captures.screen() {
            Err(fault) if !self.provider.grant().raw_values => Err(CallError::Refused(fault.to_string())),
            _ => Ok(Match { values: captures.values, ..found }),
        }
    }
}

fn screened<'a>(offer: &'a Arc<Offer>, template: &str, captures: Captures) -> Route<'a> {
    match captures.screen() {
        Err(unsafe_value) if !offer.provider.grant().raw_values => Route::Refused(unsafe_value.to_string()),
        _ => Route::Matched(offer, Some(Match { template: template.to_owned(), values: captures.values })),
    }
}
