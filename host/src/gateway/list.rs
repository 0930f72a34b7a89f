//! Pages over many providers, in the order of their teams and names. What the catalog holds is data; only where a
//! client walks beyond it is a provider asked, once a page, and one that does not answer is passed over.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::cursor::{Cursor, List, Place};
use super::filter::Sieve;
use super::view::View;
use super::{Error, Filter, Gateway};
use crate::catalog::{Catalog, Offer};
use crate::policy::Permit;
use crate::provider::{CallError, ListQuery};
use crate::resource::{Call, Entry, Freshness, Page, Template};

/// A page that is being filled.
struct Filling<'s, T> {
    items: Vec<T>,
    size: usize,
    sieve: &'s Sieve,
    freshness: Freshness,
    /// Bytes of what was looked at and not taken.
    effort: usize,
    /// How often a provider was asked for more, and how long that took.
    asked: u32,
    waited: Duration,
    last: Option<Cursor>,
}

/// Where a provider is asked for more.
#[derive(Debug, PartialEq, Eq)]
struct Rest {
    /// Its own cursor; none for the beginning.
    cursor: Option<String>,
    /// Whether it is told what is wanted.
    hinted: bool,
}

/// When one page has waited for providers as long as this, it ends before the next that would have to be asked:
/// each slow provider costs one page, however many there are.
const PATIENCE: Duration = Duration::from_secs(1);
/// As often are providers asked for one page of what a filter takes.
const CALLS: u32 = 16;
/// Bytes that one page looks at in vain before it ends, which may be empty then.
const EFFORT: usize = 4 << 20;

impl<T> Filling<'_, T> {
    fn is_full(&self) -> bool {
        self.items.len() >= self.size
    }

    fn is_tired(&self) -> bool {
        self.effort > EFFORT
    }

    fn may_ask(&self) -> bool {
        let often = !self.sieve.is_open() && self.asked >= CALLS;
        !self.is_full() && !self.is_tired() && !often && self.waited <= PATIENCE
    }
}

impl Gateway {
    /// A page of the entries that a filter takes.
    pub async fn list(
        &self,
        call: &Arc<Call>,
        cursor: Option<&str>,
        filter: &Filter,
    ) -> Result<Page<Arc<Entry>>, Error> {
        let view = self.view(call.caller.as_ref());
        let (from, sieve) = start(cursor, List::Entries, filter)?;
        let offers = view.offers_from(from.as_ref())?;
        Self::refresh(&view);
        let mut page =
            filling(self.config.page_size.resources, &sieve, view.freshness(Catalog::entries_freshness));
        for offer in offers.filter(|offer| sieve.takes_from(offer)) {
            let place = from.as_ref().filter(|from| from.is_in(offer));
            let place = place.map(|from| &from.place);
            let Some(rest) = page.hold(&view, offer, place) else {
                return Ok(page.end());
            };
            let clients = place.is_some_and(Place::is_own);
            if let Some(rest) = rest
                && self.ask_on(&mut page, call, (&view, offer), rest, clients).await?
            {
                return Ok(page.end());
            }
        }
        page.last = None;
        Ok(page.end())
    }

    /// Asks a provider for what the catalog does not hold of its list: once for a page of everything, and until
    /// the page is full for one of what a filter takes. Says whether the page ends here.
    async fn ask_on(
        &self,
        page: &mut Filling<'_, Arc<Entry>>,
        call: &Arc<Call>,
        (view, offer): (&View, &Arc<Offer>),
        mut rest: Rest,
        mut clients: bool,
    ) -> Result<bool, Error> {
        loop {
            if !page.may_ask() {
                page.last = Some(rest.cursor(offer));
                return Ok(true);
            }
            let began = Instant::now();
            let answer = self.rest(call, offer, &rest, page).await;
            page.waited += began.elapsed();
            page.asked += 1;
            match answer {
                Ok((entries, next, fresh)) => {
                    page.freshness.ttl = page.freshness.ttl.min(fresh.ttl);
                    page.take(view, offer, &entries);
                    let next = next.map(|cursor| Rest { cursor: Some(cursor), hinted: rest.hinted });
                    let Some(next) = next.filter(|next| *next != rest) else { return Ok(false) };
                    if page.sieve.is_open() {
                        page.last = Some(next.cursor(offer));
                        return Ok(true);
                    }
                    (rest, clients) = (next, false);
                }
                // The cursor came from the client, and its provider does not know it.
                Err(CallError::Invalid(_)) if clients && !gave(offer, &rest) => return Err(Error::BadCursor),
                Err(error) => {
                    let (team, provider) = (offer.provider.team().named(), offer.name());
                    tracing::warn!(team, %provider, %error, "the rest of its list is left out of a page");
                    page.freshness.ttl = Duration::ZERO;
                    // What was passed over for a narrower list is better than nothing.
                    let spare = rest.cursor.is_none() && !offer.is_personal();
                    return Ok(spare && page.hold_from(view, offer, "").is_none());
                }
            }
        }
    }

    /// A page of the templates that a filter takes. The catalog holds all of them.
    pub async fn templates(
        &self,
        call: &Arc<Call>,
        cursor: Option<&str>,
        filter: &Filter,
    ) -> Result<Page<Arc<Template>>, Error> {
        let view = self.view(call.caller.as_ref());
        let (from, sieve) = start(cursor, List::Templates, filter)?;
        let offers = view.offers_from(from.as_ref())?;
        Self::refresh(&view);
        let mut page =
            filling(self.config.page_size.templates, &sieve, view.freshness(Catalog::templates_freshness));
        for offer in offers.filter(|offer| sieve.takes_from(offer)) {
            let after = from.as_ref().filter(|from| from.is_in(offer));
            let mut after = after.map_or("", |from| text_of(&from.place));
            let mut bill = Bill { offer, bytes: 0 };
            for (place, template) in offer.templates.iter().enumerate() {
                let text = template.pattern.as_str();
                let is_kept = view
                    .template(text)
                    .is_some_and(|(keeper, kept)| Arc::ptr_eq(keeper, offer) && kept == place);
                if !is_kept || text <= after {
                    continue;
                }
                let is_wanted = sieve.takes_template(template);
                if is_wanted && page.is_full() || page.is_tired() {
                    page.stop(List::Templates, offer, after);
                    return Ok(page.end());
                }
                after = text;
                match is_wanted {
                    true => {
                        bill.bytes += of_template(template);
                        page.items.push(template.clone());
                    }
                    false => page.effort += of_template(template),
                }
            }
        }
        page.last = None;
        Ok(page.end())
    }

    /// A part of what the catalog does not hold of a list, as this caller may see it.
    async fn rest<T>(
        &self,
        call: &Arc<Call>,
        offer: &Offer,
        from: &Rest,
        page: &Filling<'_, T>,
    ) -> Result<(Vec<Arc<Entry>>, Option<String>, Freshness), CallError> {
        let Ok(permit) = Permit::ask(call, offer.provider.team()) else {
            return Err(CallError::NotFound);
        };
        let most = offer.provider.grant().limits.page;
        let limit = u32::try_from(page.size - page.items.len()).unwrap_or(most).min(most);
        let query = ListQuery { cursor: from.cursor.clone(), limit, ..ListQuery::default() };
        let query = if from.hinted { page.sieve.hint(query) } else { query };
        let listed = offer.provider.list(permit, query).await?;
        for note in &listed.left_out {
            tracing::warn!(team = offer.provider.team().named(), provider = %offer.name(), note, "left out of a list");
        }
        let entries = listed.items.into_iter().map(Arc::new).collect();
        Ok((entries, listed.next, listed.freshness.unwrap_or(Freshness::UNKNOWN)))
    }
}

/// A page of at most so many items, with nothing on it yet.
fn filling<T>(size: u32, sieve: &Sieve, freshness: Freshness) -> Filling<'_, T> {
    let size = match size {
        0 => usize::MAX,
        size => size as usize,
    };
    let (items, waited) = (Vec::new(), Duration::ZERO);
    Filling { items, size, sieve, freshness, effort: 0, asked: 0, waited, last: None }
}

impl Filling<'_, Arc<Entry>> {
    /// Takes what the catalog holds of an offer, from this place in it. None if that was more than the page
    /// takes; else what is left to ask the provider for. Of a personal list the catalog holds nothing: its
    /// entries there are what the host was shown. Of one that goes on, the provider itself finds what is wanted
    /// sooner, if it can be told.
    fn hold(&mut self, view: &View, offer: &Arc<Offer>, place: Option<&Place>) -> Option<Option<Rest>> {
        let ask = |cursor: &String, hinted| Some(Some(Rest { cursor: Some(cursor.clone()), hinted }));
        let hinted = self.sieve.has_hints();
        match place {
            Some(Place::At(own)) => ask(own, false),
            Some(Place::Narrowed(own)) => ask(own, true),
            Some(Place::After(after)) if !after.is_empty() && !offer.is_personal() => {
                self.hold_from(view, offer, after)
            }
            _ if offer.is_personal() || (hinted && offer.rest.is_some()) => {
                Some(Some(Rest { cursor: None, hinted }))
            }
            _ => self.hold_from(view, offer, ""),
        }
    }

    fn hold_from<'a>(
        &mut self,
        view: &'a View,
        offer: &'a Arc<Offer>,
        mut after: &'a str,
    ) -> Option<Option<Rest>> {
        let mut bill = Bill { offer, bytes: 0 };
        // From the beginning there is nothing to look for, in each of a thousand lists.
        let begin = match after {
            "" => 0,
            after => offer.entries.partition_point(|entry| entry.uri.as_str() <= after),
        };
        let (is_undisputed, entries) = (view.is_undisputed(), &offer.entries[begin..]);
        let shown = shown(view, offer, entries, is_undisputed);
        for entry in shown {
            let is_wanted = self.sieve.takes(entry);
            if is_wanted && self.is_full() || self.is_tired() {
                self.stop(List::Entries, offer, after);
                return None;
            }
            after = entry.uri.as_str();
            match is_wanted {
                true => {
                    bill.bytes += of_entry(entry);
                    self.items.push(entry.clone());
                }
                false => self.effort += of_entry(entry),
            }
        }
        Some(offer.rest.clone().map(|cursor| Rest { cursor: Some(cursor), hinted: false }))
    }

    fn take(&mut self, view: &View, offer: &Arc<Offer>, entries: &[Arc<Entry>]) {
        let mut bill = Bill { offer, bytes: 0 };
        for entry in shown(view, offer, entries, false) {
            match self.sieve.takes(entry) {
                true => {
                    bill.bytes += of_entry(entry);
                    self.items.push(entry.clone());
                }
                false => self.effort += of_entry(entry),
            }
        }
    }
}

/// What of a page comes from one provider. It is charged when this is dropped.
struct Bill<'a> {
    offer: &'a Offer,
    bytes: usize,
}

impl Drop for Bill<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.offer.provider.gave(self.bytes);
        }
    }
}

fn of_entry(entry: &Entry) -> usize {
    weight(entry.uri.as_str(), [Some(&entry.name), entry.title.as_ref(), entry.description.as_ref()])
}

fn of_template(template: &Template) -> usize {
    let Template { pattern, name, title, description, .. } = template;
    weight(pattern.as_str(), [Some(name), title.as_ref(), description.as_ref()])
}

/// About as much as has to be looked at to refuse something.
fn weight(uri: &str, texts: [Option<&String>; 3]) -> usize {
    64 + uri.len() + texts.into_iter().flatten().map(String::len).sum::<usize>()
}

impl Rest {
    fn cursor(self, offer: &Offer) -> Cursor {
        let place = match (self.cursor, self.hinted) {
            (None, _) => Place::After(String::new()),
            (Some(own), false) => Place::At(own),
            (Some(own), true) => Place::Narrowed(own),
        };
        Cursor::new(List::Entries, offer, place)
    }
}

impl<T> Filling<'_, T> {
    /// The page ends behind this URI or template.
    fn stop(&mut self, list: List, offer: &Offer, after: &str) {
        self.last = Some(Cursor::new(list, offer, Place::After(after.to_owned())));
    }

    fn end(self) -> Page<T> {
        let filter = || self.sieve.filter().clone();
        let next = self.last.map(|last| Cursor { filter: filter(), ..last }.write());
        Page { items: self.items, next, freshness: self.freshness }
    }
}

/// Whether the provider gave this cursor itself when it was probed: what it refuses then is no fault of the client's.
fn gave(offer: &Offer, own: &Rest) -> bool {
    own.cursor.is_none() || (!own.hinted && offer.rest == own.cursor)
}

/// Where the page begins, and what it takes: the cursor goes on with its own filter.
fn start(cursor: Option<&str>, list: List, filter: &Filter) -> Result<(Option<Cursor>, Sieve), Error> {
    let Some(text) = cursor else {
        return Ok((None, Sieve::new(filter.clone())));
    };
    let cursor = Cursor::read(text, list).ok_or(Error::BadCursor)?;
    if !filter.is_open() && *filter != cursor.filter {
        return Err(Error::OtherFilter);
    }
    let sieve = Sieve::new(cursor.filter.clone());
    Ok((Some(cursor), sieve))
}

fn text_of(place: &Place) -> &str {
    let (Place::After(text) | Place::At(text) | Place::Narrowed(text)) = place;
    text
}

/// The entries that this offer keeps; the first of those with the same URI. All of them, if that is known.
fn shown<'a>(
    view: &'a View,
    offer: &'a Arc<Offer>,
    entries: &'a [Arc<Entry>],
    all: bool,
) -> impl Iterator<Item = &'a Arc<Entry>> {
    entries.iter().enumerate().filter_map(move |(at, entry)| {
        if all {
            return Some(entry);
        }
        let is_kept = view.by_uri(entry.uri.as_str()).is_none_or(|keeper| Arc::ptr_eq(keeper, offer));
        let is_first = at == 0 || entries[at - 1].uri != entry.uri;
        (is_kept && is_first).then_some(entry)
    })
}
