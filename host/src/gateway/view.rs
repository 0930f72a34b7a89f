//! What one caller sees: of each of his teams one snapshot, taken once for a request. No other team's catalog is
//! looked at, so that neither an answer nor its time tells of them.

use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;

use super::cursor::Cursor;
use super::{Error, Gateway, Team};
use crate::catalog::{Catalog, Nearness, Offer, Route};
use crate::resource::{Caller, Freshness, Scope};
use crate::uri::Uri;

/// The catalogs of a caller's teams, in the order of their names.
pub(super) struct View {
    /// Most callers are of one team.
    parts: SmallVec<[Part; 1]>,
    /// What may hold of any answer at most.
    most: Freshness,
}

/// One team's part of it.
pub(super) struct Part {
    pub(super) team: Arc<Team>,
    pub(super) catalog: Arc<Catalog>,
}

/// What holds where there is nothing: it may differ at any moment.
const MOMENTARY: Freshness = Freshness { ttl: Duration::ZERO, scope: Scope::Everyone };

impl Gateway {
    /// What this caller sees now. The host itself sees nothing here: it asks providers, not the gateway.
    pub(super) fn view(&self, caller: Option<&Caller>) -> View {
        let own = caller.into_iter().flat_map(|caller| caller.teams.iter());
        let parts = own.filter_map(|name| self.teams.get(name)).map(|team| {
            let catalog = team.reader.snapshot();
            Part { team: team.clone(), catalog }
        });
        View { parts: parts.collect(), most: self.most() }
    }

    /// Where there are teams, or credentials, no answer is for whoever may ask.
    pub(super) fn most(&self) -> Freshness {
        let scope = if self.config.private { Scope::Caller } else { Scope::Everyone };
        Freshness { ttl: Duration::MAX, scope }
    }
}

impl View {
    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// All that is offered, in order.
    pub(super) fn offers(&self) -> impl Iterator<Item = &Arc<Offer>> {
        self.parts.iter().flat_map(Part::offers)
    }

    /// The same from where a page begins, or from the provider after it if that one is gone. A cursor of a team
    /// that is not the caller's is as good as any other text that is no cursor.
    pub(super) fn offers_from(
        &self,
        from: Option<&Cursor>,
    ) -> Result<impl Iterator<Item = &Arc<Offer>>, Error> {
        let (at, begin) = match from {
            None => (0, 0),
            Some(from) => {
                let own = |part: &Part| part.team.reader.team().as_str() == from.team;
                let at = self.parts.iter().position(own).ok_or(Error::BadCursor)?;
                let before = |offer: &Arc<Offer>| offer.name().as_str() < from.provider.as_str();
                (at, self.parts[at].offers().partition_point(before))
            }
        };
        let (first, others) = match self.parts.split_at(at).1 {
            [] => (&[][..], &[][..]),
            [first, others @ ..] => (&first.offers()[begin..], others),
        };
        Ok(first.iter().chain(others.iter().flat_map(Part::offers)))
    }

    /// Whether nothing in the catalogs is offered by two.
    pub(super) fn is_undisputed(&self) -> bool {
        matches!(&self.parts[..], [part] if part.catalog.collisions().is_empty())
    }

    /// Who listed this URI, and keeps it: the first team that has it.
    pub(super) fn by_uri(&self, uri: &str) -> Option<&Arc<Offer>> {
        self.parts.iter().find_map(|part| part.catalog.by_uri(uri))
    }

    /// Who keeps the template of this text, and its place there: the first team that has it.
    pub(super) fn template(&self, text: &str) -> Option<(&Arc<Offer>, usize)> {
        self.parts.iter().find_map(|part| part.catalog.template(text))
    }

    /// All ways to ask for a URI, the best first: exact before templates before claims, in all teams together;
    /// of ways that are equally near, the first team's.
    pub(super) fn routes<'a>(
        &'a self,
        uri: &'a Uri,
    ) -> impl Iterator<Item = (&'a Part, Route<'a>)> + Send + use<'a> {
        let exact = self.parts.iter().filter_map(move |part| Some((part, part.catalog.exact(uri)?)));
        exact.chain(std::iter::once_with(move || self.unlisted(uri)).flatten())
    }

    fn unlisted<'a>(&'a self, uri: &Uri) -> impl Iterator<Item = (&'a Part, Route<'a>)> + Send + use<'a> {
        let of = |part: &'a Part| {
            part.catalog.unlisted(uri).into_iter().map(move |(nearness, route)| (nearness, part, route))
        };
        let mut all: Vec<(Nearness, _, _)> = self.parts.iter().flat_map(of).collect();
        // Stable: teams stay in their order.
        all.sort_by_key(|(nearness, ..)| *nearness);
        all.into_iter().map(|(_, part, route)| (part, route))
    }

    /// One scope for all pages of a list, and the shortest time, of what `of` says of each catalog.
    pub(super) fn freshness(&self, of: impl Fn(&Catalog) -> Option<Freshness>) -> Freshness {
        let all = self.parts.iter().filter_map(|part| of(&part.catalog));
        let all = all.reduce(Freshness::merge).unwrap_or(MOMENTARY);
        all.merge(self.most)
    }
}

impl Part {
    pub(super) fn offers(&self) -> &[Arc<Offer>] {
        self.catalog.offers()
    }
}
