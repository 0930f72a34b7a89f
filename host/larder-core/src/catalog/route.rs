//! The routes of a URI: the exact entry first, then templates, then claims, then lists of which the catalog holds a
//! part. A provider of the last kind may have templates or claims that do not cover the URI. Such a provider is called
//! last, because it is only a guess that it has the URI.

use std::sync::Arc;

use super::{Catalog, Offer};
use larder_model::resource::{Match, Variable};
use larder_model::uri::Uri;
use larder_provider::CallError;
use larder_uri_template::{Captures, MatchBudget};

/// Why a provider may have a URI.
#[derive(Debug)]
pub enum Route<'a> {
    /// The provider lists the URI.
    Listed(&'a Arc<Offer>),
    /// A template matches, with the values that the host extracted. With `None`, the provider lists the URI or may list
    /// it.
    Matched(&'a Arc<Offer>, Option<Match>),
    /// The URI starts with a prefix that the provider claims. The provider decides whether it has the URI.
    Claimed(&'a Arc<Offer>),
    /// The extracted values are not safe to pass to a guest.
    Refused(String),
}

impl<'a> Route<'a> {
    /// Returns the offer of the provider that may have the URI.
    pub(crate) fn offer(&self) -> Option<&'a Arc<Offer>> {
        match self {
            Self::Listed(offer) | Self::Matched(offer, _) | Self::Claimed(offer) => Some(offer),
            Self::Refused(_) => None,
        }
    }
}

impl Catalog {
    /// Returns all routes of a URI, the best route first. Each provider has one route only.
    pub fn routes<'a>(&'a self, uri: &'a Uri) -> impl Iterator<Item = Route<'a>> + Send {
        self.owned_routes(uri)
            .chain(std::iter::once_with(move || self.guessed_routes(uri)).flatten())
    }

    /// Returns all routes except the guesses.
    pub(crate) fn owned_routes<'a>(
        &'a self,
        uri: &'a Uri,
    ) -> impl Iterator<Item = Route<'a>> + Send {
        // Most reads are of listed URIs. The other routes are computed only if the first one does not
        // suffice.
        let others = std::iter::once_with(move || self.other_routes(uri)).flatten();
        self.by_uri(uri.as_str())
            .map(Route::Listed)
            .into_iter()
            .chain(others)
    }

    /// Returns the offer that a read of this URI tries first, without guesses.
    pub(crate) fn first_owner(&self, uri: &Uri) -> Option<&Arc<Offer>> {
        let exact = self.by_uri(uri.as_str());
        exact.or_else(|| self.other_routes(uri).first()?.offer())
    }

    fn other_routes<'a>(&'a self, uri: &Uri) -> Vec<Route<'a>> {
        let exact = self.by_uri(uri.as_str());
        let mut seen: Vec<_> = exact.into_iter().map(|offer| offer.name()).collect();
        let mut routes = Vec::new();
        for (offer, template, captures) in self.by_template(uri) {
            if !seen.contains(&offer.name()) {
                seen.push(offer.name());
                routes.push(checked_route(offer, template, captures));
            }
        }
        let claimed = self
            .by_claim(uri.as_str())
            .map(|offer| (offer, Route::Claimed(offer)));
        let undeclared = self
            .with_unlisted_entries(uri)
            .filter(|offer| !offer.declares_uris());
        let listed = undeclared.map(|offer| (offer, Route::Matched(offer, None)));
        for (offer, route) in claimed.chain(listed) {
            if !seen.contains(&offer.name()) {
                seen.push(offer.name());
                routes.push(route);
            }
        }
        routes
    }

    /// Returns the routes to providers whose templates or claims do not cover the URI, and whose lists may contain it.
    pub(crate) fn guessed_routes<'a>(
        &'a self,
        uri: &'a Uri,
    ) -> impl Iterator<Item = Route<'a>> + Send {
        let declaring = self
            .with_unlisted_entries(uri)
            .filter(|offer| offer.declares_uris());
        declaring
            .filter(move |offer| !self.has_owned_route(offer.name(), uri))
            .map(|offer| Route::Matched(offer, None))
    }

    /// Whether a read of this URI tries one of these providers before the providers of later teams. Adds the steps that
    /// the decision took. A URI that takes too many steps counts as covered.
    pub(crate) fn covers(&self, uri: &Uri, steps: &mut usize) -> bool {
        let mut budget = MatchBudget::default();
        let all = budget.steps_left();
        let is_covered = self.by_uri(uri.as_str()).is_some()
            || self.is_unavailable(uri.as_str())
            || self.covers_prefix(uri.as_str())
            || self
                .with_unlisted_entries(uri)
                .any(|offer| !offer.declares_uris())
            || self.matches_template(uri, &mut budget)
            || budget.steps_left() == 0;
        *steps += all - budget.steps_left();
        is_covered
    }

    /// Whether a provider claims everything that begins with this text.
    pub(crate) fn covers_prefix(&self, text: &str) -> bool {
        self.by_claim(text).next().is_some()
    }
}

impl Offer {
    /// Whether templates or claims describe which URIs the provider has.
    fn declares_uris(&self) -> bool {
        !self.templates.is_empty() || !self.claims.is_empty()
    }

    /// Matches a URI that the provider lists against its own templates. The provider listed the URI itself, so the read
    /// is not refused if a value is unsafe; the values are then not passed to the provider.
    pub(crate) fn own_match(&self, uri: &Uri) -> Option<Match> {
        let uri_templates = self
            .templates_by_prefix
            .matches(uri.as_str())
            .map(|at| &self.templates[at].uri_template);
        let mut budget = MatchBudget::default();
        let best = uri_templates
            .filter_map(|uri_template| {
                Some((
                    uri_template,
                    uri_template.matches_within(uri.as_str(), &mut budget)?,
                ))
            })
            .max_by_key(|(uri_template, _)| uri_template.specificity());
        let (uri_template, captures) =
            best.filter(|(_, captures)| captures.check_safety().is_ok())?;
        Some(Match {
            template: uri_template.as_str().to_owned(),
            variables: captures.variables,
        })
    }

    /// Checks a provider's match for a URI with a claimed prefix. If the provider named one of its listed templates,
    /// the last variable may contain slashes; the values are then extracted by the host and checked as for any other
    /// template. If the provider returned the same values, its keys are kept. A match without such a template is passed
    /// on unchanged.
    pub(crate) fn claimed_match(
        &self,
        uri: &Uri,
        found: Option<Match>,
    ) -> Result<Match, CallError> {
        let found = found.ok_or(CallError::NotFound)?;
        let mut uri_templates = self.templates.iter().map(|template| &template.uri_template);
        let listed = uri_templates.find(|uri_template| uri_template.as_str() == found.template);
        let Some(captures) =
            listed.and_then(|uri_template| uri_template.matches_across_slashes(uri.as_str()))
        else {
            return Ok(found);
        };
        match captures.check_safety() {
            Err(fault) if !self.grant().raw_values => Err(CallError::Refused(fault.to_string())),
            _ if has_same_values(&found.variables, &captures) => Ok(found),
            _ => Ok(Match {
                variables: captures.variables,
                ..found
            }),
        }
    }
}

fn checked_route<'a>(offer: &'a Arc<Offer>, template: &str, captures: Captures) -> Route<'a> {
    match captures.check_safety() {
        Err(unsafe_value) if !offer.grant().raw_values => Route::Refused(unsafe_value.to_string()),
        _ => {
            let variables = captures.variables;
            Route::Matched(
                offer,
                Some(Match {
                    template: template.to_owned(),
                    variables,
                }),
            )
        }
    }
}

/// Whether a provider returned the same values as the host, with the keys of the host if there are any.
fn has_same_values(variables: &[Variable], captures: &Captures) -> bool {
    let is_same = |(found, own): (&Variable, &Variable)| {
        found.name == own.name
            && found.value == own.value
            && (own.key.is_none() || found.key == own.key)
    };
    variables.len() == captures.variables.len()
        && variables.iter().zip(&captures.variables).all(is_same)
}
