//! Pages over many providers, in the order of their names. What the catalog holds is data; only where a
//! client walks beyond it is a provider asked, once a page, and one that does not answer is passed over.

use std::sync::Arc;
use std::time::{Duration, Instant};

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

/// Where a provider is asked for more.
#[derive(Debug, PartialEq, Eq)]
enum Rest {
    Begin,
    /// At its own cursor.
    At(String),
}

impl<T> Filling<T> {
    fn is_full(&self) -> bool {
        self.items.len() >= self.size
    }
}

/// When one page has waited for providers as long as this, it ends before the next that would have to be asked:
/// each slow provider costs one page, however many there are.
const PATIENCE: Duration = Duration::from_secs(1);

impl Gateway {
    /// A page of entries.
    pub async fn list(&self, call: &Arc<Call>, cursor: Option<&str>) -> Result<Page<Arc<Entry>>, Error> {
        let catalog = self.reader.snapshot();
        let from = start(cursor, List::Entries)?;
        self.refresh(&catalog, call);
        let mut page = self.filling();
        let mut freshness = entries_freshness(&catalog, call);
        let mut waited = Duration::ZERO;
        for offer in visible(&catalog, call, from.as_ref()) {
            let place = from.as_ref().filter(|from| from.provider == offer.name().as_str());
            let Some(rest) = page.hold(&catalog, offer, place.map(|from| &from.place)) else {
                return Ok(page.end(freshness));
            };
            let Some(own) = rest else { continue };
            if page.is_full() || waited > PATIENCE {
                page.last = Some(own.cursor(offer));
                return Ok(page.end(freshness));
            }
            let began = Instant::now();
            match self.rest(call, offer, &own, page.size - page.items.len()).await {
                Ok((entries, next, fresh)) => {
                    freshness.ttl = freshness.ttl.min(fresh.ttl);
                    page.items.extend(shown(&catalog, offer, &entries).cloned());
                    if let Some(next) = next.map(Rest::At).filter(|next| *next != own) {
                        page.last = Some(next.cursor(offer));
                        return Ok(page.end(freshness));
                    }
                }
                // The cursor came from the client, and its provider does not know it.
                Err(CallError::Invalid(_))
                    if place.is_some_and(|from| from.place.is_own()) && !gave(offer, &own) =>
                {
                    return Err(Error::BadCursor);
                }
                Err(error) => {
                    let provider = offer.name();
                    tracing::warn!(%provider, %error, "the rest of its list is left out of a page");
                    freshness.ttl = Duration::ZERO;
                }
            }
            waited += began.elapsed();
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
        self.refresh(&catalog, call);
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

    /// A part of what the catalog does not hold of a list, as this caller may see it.
    async fn rest(
        &self,
        call: &Arc<Call>,
        offer: &Offer,
        from: &Rest,
        room: usize,
    ) -> Result<(Vec<Arc<Entry>>, Option<String>, Freshness), CallError> {
        let Ok(permit) = Permit::ask(call, offer.provider.team()) else {
            return Err(CallError::NotFound);
        };
        let most = offer.provider.grant().limits.page;
        let limit = u32::try_from(room).unwrap_or(most).min(most);
        let cursor = match from {
            Rest::Begin => None,
            Rest::At(own) => Some(own.clone()),
        };
        let listed = offer.provider.list(permit, ListQuery { cursor, limit }).await?;
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

impl Filling<Arc<Entry>> {
    /// Takes what the catalog holds of an offer, from this place in it. None if that was more than the page
    /// takes; else what is left to ask the provider for. Of a personal list the catalog holds nothing: its
    /// entries there are what the host was shown.
    fn hold(&mut self, catalog: &Catalog, offer: &Offer, place: Option<&Place>) -> Option<Option<Rest>> {
        let mut after = match place {
            Some(Place::At(own)) => return Some(Some(Rest::At(own.clone()))),
            _ if offer.is_personal() => return Some(Some(Rest::Begin)),
            place => place.map_or("", text_of),
        };
        let begin = offer.entries.partition_point(|entry| entry.uri.as_str() <= after);
        for entry in shown(catalog, offer, &offer.entries[begin..]) {
            if self.is_full() {
                let (list, place) = (List::Entries, Place::After(after.to_owned()));
                self.last = Some(Cursor { list, provider: offer.name().to_string(), place });
                return None;
            }
            after = entry.uri.as_str();
            self.items.push(entry.clone());
        }
        Some(offer.rest.clone().map(Rest::At))
    }
}

impl Rest {
    fn cursor(self, offer: &Offer) -> Cursor {
        let place = match self {
            Self::Begin => Place::After(String::new()),
            Self::At(own) => Place::At(own),
        };
        Cursor { list: List::Entries, provider: offer.name().to_string(), place }
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

/// Whether the provider gave this cursor itself when it was probed: what it refuses then is no fault of the client's.
fn gave(offer: &Offer, own: &Rest) -> bool {
    match own {
        Rest::Begin => true,
        Rest::At(cursor) => offer.rest.as_ref() == Some(cursor),
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
pub(super) fn visible<'a>(
    catalog: &'a Catalog,
    call: &Call,
    from: Option<&Cursor>,
) -> impl Iterator<Item = &'a Arc<Offer>> {
    let begin = from.map_or(0, |from| {
        catalog.offers().partition_point(|offer| offer.name().as_str() < from.provider.as_str())
    });
    let teams = call.caller.as_ref().map(|caller| caller.teams.clone());
    catalog.offers()[begin..]
        .iter()
        .filter(move |offer| teams.as_ref().is_some_and(|teams| teams.has(offer.provider.team())))
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

/// As below, but for personal lists, whose time is that of the answer which this caller gets.
fn entries_freshness(catalog: &Catalog, call: &Call) -> Freshness {
    let of = |offer: &Offer| match offer.freshness() {
        asked_anew if offer.is_personal() => Freshness { ttl: Duration::MAX, ..asked_anew },
        held => held,
    };
    visible(catalog, call, None).map(|offer| of(offer)).reduce(Freshness::merge).unwrap_or(MOMENTARY)
}

/// What holds where there is nothing: it may differ at any moment.
const MOMENTARY: Freshness = Freshness { ttl: Duration::ZERO, scope: Scope::Everyone };

/// One scope for all pages of a list, and the shortest time.
fn freshness(catalog: &Catalog, call: &Call) -> Freshness {
    visible(catalog, call, None).map(|offer| offer.freshness()).reduce(Freshness::merge).unwrap_or(MOMENTARY)
}
