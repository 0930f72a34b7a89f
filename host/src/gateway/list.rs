//! Pages over many providers, in the order of their names. What the catalog holds is data; only where a
//! client walks beyond it is a provider asked, once a page, and one that does not answer is passed over.

use std::sync::Arc;

use super::cursor::{Cursor, List, Place};
use super::{Error, Gateway};
use crate::catalog::{Catalog, Offer};
use crate::policy::Permit;
use crate::provider::{CallError, ListQuery};
use crate::resource::{Call, Entry, Freshness, Page, Scope, Template};

/// A page that is being filled.
struct Filling<T> {
    items: Vec<T>,
    size: usize,
    last: Option<Cursor>,
}

impl<T> Filling<T> {
    fn is_full(&self) -> bool {
        self.items.len() >= self.size
    }
}

impl Gateway {
    /// A page of entries.
    pub async fn list(&self, call: &Arc<Call>, cursor: Option<&str>) -> Result<Page<Arc<Entry>>, Error> {
        let catalog = self.reader.snapshot();
        let from = start(cursor, List::Entries)?;
        let mut page = self.filling();
        let mut freshness = freshness(&catalog, call);
        for offer in visible(&catalog, call, from.as_ref()) {
            let place = from.as_ref().filter(|from| from.provider == offer.name().as_str());
            let mut rest = offer.rest.clone();
            match place.map(|from| &from.place) {
                Some(Place::At(own)) => rest = Some(own.clone()),
                place => {
                    let after = place.map(text_of);
                    let begin = offer.entries.partition_point(|e| after.is_some_and(|a| e.uri.as_str() <= a));
                    for entry in shown(&catalog, offer, &offer.entries[begin..]) {
                        if page.is_full() {
                            return Ok(page.end(freshness));
                        }
                        page.put(List::Entries, offer, entry.uri.as_str(), entry.clone());
                    }
                }
            }
            let Some(own) = rest else { continue };
            let at = Cursor {
                list: List::Entries,
                provider: offer.name().to_string(),
                place: Place::At(own.clone()),
            };
            if page.is_full() {
                page.last = Some(at);
                return Ok(page.end(freshness));
            }
            match self.rest(call, offer, &own, page.size - page.items.len()).await {
                Ok((entries, next, fresh)) => {
                    freshness.ttl = freshness.ttl.min(fresh.ttl);
                    page.items.extend(shown(&catalog, offer, &entries).cloned());
                    if let Some(next) = next.filter(|next| *next != own) {
                        page.last = Some(Cursor { place: Place::At(next), ..at });
                        return Ok(page.end(freshness));
                    }
                }
                // The cursor came from the client, and its provider does not know it.
                Err(CallError::Invalid(_)) if place.is_some() => return Err(Error::BadCursor),
                Err(error) => {
                    let provider = offer.name();
                    tracing::warn!(%provider, %error, "the rest of its list is left out of a page");
                    freshness.ttl = std::time::Duration::ZERO;
                }
            }
        }
        page.last = None;
        Ok(page.end(freshness))
    }

    /// A page of templates. The catalog holds all of them.
    pub async fn templates(
        &self,
        call: &Arc<Call>,
        cursor: Option<&str>,
    ) -> Result<Page<Arc<Template>>, Error> {
        let catalog = self.reader.snapshot();
        let from = start(cursor, List::Templates)?;
        let mut page = self.filling();
        for offer in visible(&catalog, call, from.as_ref()) {
            let after = from.as_ref().filter(|from| from.provider == offer.name().as_str());
            let after = after.map(|from| text_of(&from.place));
            for (place, template) in offer.templates.iter().enumerate() {
                let text = template.pattern.as_str();
                let is_kept = catalog
                    .template(text)
                    .is_some_and(|(keeper, kept)| keeper.name() == offer.name() && kept == place);
                if !is_kept || after.is_some_and(|after| text <= after) {
                    continue;
                }
                if page.is_full() {
                    return Ok(page.end(freshness(&catalog, call)));
                }
                page.put(List::Templates, offer, text, template.clone());
            }
        }
        page.last = None;
        Ok(page.end(freshness(&catalog, call)))
    }

    /// A part of what the catalog does not hold of a list.
    async fn rest(
        &self,
        call: &Arc<Call>,
        offer: &Offer,
        cursor: &str,
        room: usize,
    ) -> Result<(Vec<Arc<Entry>>, Option<String>, Freshness), CallError> {
        let Ok(permit) = Permit::ask(call, offer.provider.team()) else {
            return Err(CallError::NotFound);
        };
        let most = offer.provider.grant().limits.page;
        let limit = u32::try_from(room).unwrap_or(most).min(most);
        let listed =
            offer.provider.list(permit, ListQuery { cursor: Some(cursor.to_owned()), limit }).await?;
        for note in &listed.left_out {
            tracing::warn!(provider = %offer.name(), note, "left out of a list");
        }
        let entries = listed.items.into_iter().map(Arc::new).collect();
        Ok((entries, listed.next, listed.freshness.unwrap_or(Freshness::UNKNOWN)))
    }

    fn filling<T>(&self) -> Filling<T> {
        let size = match self.config.page_size {
            0 => usize::MAX,
            size => size as usize,
        };
        Filling { items: Vec::new(), size, last: None }
    }
}

impl<T> Filling<T> {
    fn put(&mut self, list: List, offer: &Offer, text: &str, item: T) {
        self.items.push(item);
        if self.is_full() {
            let place = Place::After(text.to_owned());
            self.last = Some(Cursor { list, provider: offer.name().to_string(), place });
        }
    }

    fn end(self, freshness: Freshness) -> Page<T> {
        Page { items: self.items, next: self.last.as_ref().map(Cursor::write), freshness }
    }
}

fn start(cursor: Option<&str>, list: List) -> Result<Option<Cursor>, Error> {
    cursor.map(|text| Cursor::read(text, list).ok_or(Error::BadCursor)).transpose()
}

fn text_of(place: &Place) -> &str {
    let (Place::After(text) | Place::At(text)) = place;
    text
}

/// What this caller may see, beginning with the provider at which the page begins, or the one after it
/// if that one is gone.
fn visible<'a>(
    catalog: &'a Catalog,
    call: &Call,
    from: Option<&Cursor>,
) -> impl Iterator<Item = &'a Arc<Offer>> {
    let begin = from.map_or(0, |from| {
        catalog.offers().partition_point(|offer| offer.name().as_str() < from.provider.as_str())
    });
    let team = call.caller.as_ref().map(|caller| caller.team.clone());
    catalog.offers()[begin..].iter().filter(move |offer| team.as_ref() == Some(offer.provider.team()))
}

/// The entries that this offer keeps; the first of those with the same URI.
fn shown<'a>(
    catalog: &'a Catalog,
    offer: &'a Offer,
    entries: &'a [Arc<Entry>],
) -> impl Iterator<Item = &'a Arc<Entry>> {
    entries.iter().enumerate().filter_map(move |(at, entry)| {
        let keeper = catalog.by_uri(entry.uri.as_str());
        let is_kept = keeper.is_none_or(|keeper| keeper.name() == offer.name());
        let is_first = at == 0 || entries[at - 1].uri != entry.uri;
        (is_kept && is_first).then_some(entry)
    })
}

/// One scope for all pages of a list, and the shortest time. An empty list may differ at any moment.
fn freshness(catalog: &Catalog, call: &Call) -> Freshness {
    visible(catalog, call, None)
        .map(|offer| offer.freshness())
        .reduce(Freshness::merge)
        .unwrap_or(Freshness { ttl: std::time::Duration::ZERO, scope: Scope::Everyone })
}
