//! Pages of lists over many providers, ordered by team and provider name. The catalog holds the beginning of
//! each provider's list. A provider is called only when a client pages beyond that: once per page without a
//! filter. A provider that fails is skipped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::cursor::{Cursor, ListKind, Position};
use super::filter::CompiledFilter;
use super::view::View;
use super::{Error, Filter, Gateway};
use crate::catalog::{Catalog, Offer};
use larder_model::policy::Permit;
use larder_model::resource::{Call, Entry, Freshness, Page, Template};
use larder_sandbox::provider::{CallError, ListQuery};

/// A page under construction.
struct PageBuilder<'s, T> {
    items: Vec<T>,
    size: usize,
    filter: &'s CompiledFilter,
    freshness: Freshness,
    /// Bytes of the items that were checked and did not pass the filter.
    skipped_bytes: usize,
    /// Number of calls to providers for this page, and the time that they took.
    calls: u32,
    waited: Duration,
    next: Option<Cursor>,
}

/// Where to continue a list by calling its provider.
#[derive(Debug, PartialEq, Eq)]
struct Continuation {
    /// The provider's own cursor; none for the first page.
    cursor: Option<String>,
    /// Whether the provider receives the filter as a hint.
    with_hints: bool,
}

/// Once a page has waited this long for providers, it ends before the next call. Each slow provider then
/// costs one page, however many there are.
const MAX_PROVIDER_WAIT: Duration = Duration::from_secs(1);
/// Maximum number of provider calls for one page of a filtered list.
const MAX_PROVIDER_CALLS: u32 = 16;
/// Bytes of items that one page may check without a match before it ends, possibly empty.
const MAX_SKIPPED_BYTES: usize = 4 << 20;

impl<T> PageBuilder<'_, T> {
    fn is_full(&self) -> bool {
        self.items.len() >= self.size
    }

    fn has_scanned_enough(&self) -> bool {
        self.skipped_bytes > MAX_SKIPPED_BYTES
    }

    fn may_call_provider(&self) -> bool {
        let too_many = !self.filter.is_empty() && self.calls >= MAX_PROVIDER_CALLS;
        !self.is_full() && !self.has_scanned_enough() && !too_many && self.waited <= MAX_PROVIDER_WAIT
    }
}

impl Gateway {
    /// Returns a page of the entries that pass the filter.
    pub async fn list(
        &self,
        call: &Arc<Call>,
        cursor: Option<&str>,
        filter: &Filter,
    ) -> Result<Page<Arc<Entry>>, Error> {
        let view = self.view(call.caller.as_ref());
        let (from, filter) = decode_cursor(cursor, ListKind::Entries, filter)?;
        let offers = view.offers_from(from.as_ref())?;
        Self::refresh_stale_lists(&view);
        let mut page =
            new_page(self.config.page_size.resources, &filter, view.freshness(Catalog::entries_freshness));
        for offer in offers.filter(|offer| filter.allows_provider(offer)) {
            let position = from.as_ref().filter(|from| from.is_in(offer));
            let position = position.map(|from| &from.position);
            let Some(rest) = page.add_from_catalog(&view, offer, position) else {
                return Ok(page.finish());
            };
            let from_client = position.is_some_and(Position::is_provider_cursor);
            if let Some(rest) = rest
                && self.extend_from_provider(&mut page, call, (&view, offer), rest, from_client).await?
            {
                return Ok(page.finish());
            }
        }
        page.next = None;
        Ok(page.finish())
    }

    /// Calls a provider for entries beyond those in the catalog: once for a page of an unfiltered list, and
    /// until the page is full for a page of a filtered one. Returns whether the page ends here.
    async fn extend_from_provider(
        &self,
        page: &mut PageBuilder<'_, Arc<Entry>>,
        call: &Arc<Call>,
        (view, offer): (&View, &Arc<Offer>),
        mut rest: Continuation,
        mut from_client: bool,
    ) -> Result<bool, Error> {
        loop {
            if !page.may_call_provider() {
                page.next = Some(rest.cursor(offer));
                return Ok(true);
            }
            let started = Instant::now();
            let result = self.fetch_page(call, offer, &rest, page).await;
            page.waited += started.elapsed();
            page.calls += 1;
            match result {
                Ok((entries, next, fresh)) => {
                    page.freshness.ttl = page.freshness.ttl.min(fresh.ttl);
                    page.add_fetched(view, offer, &entries);
                    let with_hints = rest.with_hints;
                    let next = next.map(|cursor| Continuation { cursor: Some(cursor), with_hints });
                    let Some(next) = next.filter(|next| *next != rest) else { return Ok(false) };
                    if page.filter.is_empty() {
                        page.next = Some(next.cursor(offer));
                        return Ok(true);
                    }
                    (rest, from_client) = (next, false);
                }
                // The client sent this cursor, and the provider does not accept it.
                Err(CallError::Invalid(_)) if from_client && !is_probed_cursor(offer, &rest) => {
                    return Err(Error::BadCursor);
                }
                Err(error) => {
                    offer.provider.log_failed_list(&error);
                    page.freshness.ttl = Duration::ZERO;
                    // The catalog's entries were skipped because the provider can filter its list itself. Use
                    // them instead.
                    let catalog_has_entries = rest.cursor.is_none() && !offer.is_personal();
                    return Ok(catalog_has_entries && page.add_entries_after(view, offer, "").is_none());
                }
            }
        }
    }

    /// Returns a page of the templates that pass the filter. The catalog holds all of them.
    pub async fn templates(
        &self,
        call: &Arc<Call>,
        cursor: Option<&str>,
        filter: &Filter,
    ) -> Result<Page<Arc<Template>>, Error> {
        let view = self.view(call.caller.as_ref());
        let (from, filter) = decode_cursor(cursor, ListKind::Templates, filter)?;
        let offers = view.offers_from(from.as_ref())?;
        Self::refresh_stale_lists(&view);
        let mut page =
            new_page(self.config.page_size.templates, &filter, view.freshness(Catalog::templates_freshness));
        for offer in offers.filter(|offer| filter.allows_provider(offer)) {
            let after = from.as_ref().filter(|from| from.is_in(offer));
            let mut after = after.map_or("", |from| position_text(&from.position));
            let mut cost = CostGuard { offer, bytes: 0 };
            for (position, template) in offer.templates.iter().enumerate() {
                let text = template.uri_template.as_str();
                let is_owned = view
                    .template(text)
                    .is_some_and(|(owner, owned)| Arc::ptr_eq(owner, offer) && owned == position);
                if !is_owned || text <= after {
                    continue;
                }
                let is_match = filter.matches_template(template);
                if is_match && page.is_full() || page.has_scanned_enough() {
                    page.end_after(ListKind::Templates, offer, after);
                    return Ok(page.finish());
                }
                after = text;
                match is_match {
                    true => {
                        cost.bytes += template_size(template);
                        page.items.push(template.clone());
                    }
                    false => page.skipped_bytes += template_size(template),
                }
            }
        }
        page.next = None;
        Ok(page.finish())
    }

    /// Fetches a part of the list that the catalog does not hold, as this caller may see it.
    async fn fetch_page<T>(
        &self,
        call: &Arc<Call>,
        offer: &Offer,
        from: &Continuation,
        page: &PageBuilder<'_, T>,
    ) -> Result<(Vec<Arc<Entry>>, Option<String>, Freshness), CallError> {
        let Ok(permit) = Permit::for_team(call, offer.provider.team()) else {
            return Err(CallError::NotFound);
        };
        let max = offer.provider.grant().limits.page_entries;
        let limit = u32::try_from(page.size - page.items.len()).unwrap_or(max).min(max);
        let query = ListQuery { cursor: from.cursor.clone(), limit, ..ListQuery::default() };
        let query = if from.with_hints { page.filter.add_hints(query) } else { query };
        let listed = offer.provider.list(permit, query).await?;
        offer.provider.log_omitted(&listed.omitted);
        let entries = listed.items.into_iter().map(Arc::new).collect();
        Ok((entries, listed.next, listed.freshness.unwrap_or(Freshness::UNKNOWN)))
    }
}

/// Creates an empty page with this maximum size.
fn new_page<T>(size: u32, filter: &CompiledFilter, freshness: Freshness) -> PageBuilder<'_, T> {
    let size = match size {
        0 => usize::MAX,
        size => size as usize,
    };
    let (items, waited) = (Vec::new(), Duration::ZERO);
    PageBuilder { items, size, filter, freshness, skipped_bytes: 0, calls: 0, waited, next: None }
}

impl PageBuilder<'_, Arc<Entry>> {
    /// Adds the entries of an offer that the catalog holds, from this position on. Returns `None` if the page
    /// is full before their end; otherwise where to continue by calling the provider, if the list continues
    /// there. A personal list is never taken from the catalog, whose entries are those that the provider
    /// returned to the server itself. If a list is longer than what the catalog holds and the provider
    /// understands the filter, the provider is called from the beginning of its list.
    fn add_from_catalog(
        &mut self,
        view: &View,
        offer: &Arc<Offer>,
        position: Option<&Position>,
    ) -> Option<Option<Continuation>> {
        let at = |cursor: &String, with_hints| {
            Some(Some(Continuation { cursor: Some(cursor.clone()), with_hints }))
        };
        let with_hints = self.filter.has_hints();
        match position {
            Some(Position::At(own)) => at(own, false),
            Some(Position::AtHinted(own)) => at(own, true),
            Some(Position::After(after)) if !after.is_empty() && !offer.is_personal() => {
                self.add_entries_after(view, offer, after)
            }
            _ if offer.is_personal() || (with_hints && offer.next_cursor.is_some()) => {
                Some(Some(Continuation { cursor: None, with_hints }))
            }
            _ => self.add_entries_after(view, offer, ""),
        }
    }

    fn add_entries_after<'a>(
        &mut self,
        view: &'a View,
        offer: &'a Arc<Offer>,
        mut after: &'a str,
    ) -> Option<Option<Continuation>> {
        let mut cost = CostGuard { offer, bytes: 0 };
        // The search is skipped for the first page, which can concern a thousand lists.
        let begin = match after {
            "" => 0,
            after => offer.entries.partition_point(|entry| entry.uri.as_str() <= after),
        };
        let (has_no_collisions, entries) = (view.has_no_collisions(), &offer.entries[begin..]);
        for entry in owned_entries(view, offer, entries, has_no_collisions) {
            let is_match = self.filter.matches(entry);
            if is_match && self.is_full() || self.has_scanned_enough() {
                self.end_after(ListKind::Entries, offer, after);
                return None;
            }
            after = entry.uri.as_str();
            match is_match {
                true => {
                    cost.bytes += entry_size(entry);
                    self.items.push(entry.clone());
                }
                false => self.skipped_bytes += entry_size(entry),
            }
        }
        Some(offer.next_cursor.clone().map(|cursor| Continuation { cursor: Some(cursor), with_hints: false }))
    }

    fn add_fetched(&mut self, view: &View, offer: &Arc<Offer>, entries: &[Arc<Entry>]) {
        let mut cost = CostGuard { offer, bytes: 0 };
        for entry in owned_entries(view, offer, entries, false) {
            match self.filter.matches(entry) {
                true => {
                    cost.bytes += entry_size(entry);
                    self.items.push(entry.clone());
                }
                false => self.skipped_bytes += entry_size(entry),
            }
        }
    }
}

/// Counts the bytes of one provider on a page, and charges them when it is dropped.
struct CostGuard<'a> {
    offer: &'a Offer,
    bytes: usize,
}

impl Drop for CostGuard<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.offer.provider.charge_bytes(self.bytes);
        }
    }
}

fn entry_size(entry: &Entry) -> usize {
    checked_size(entry.uri.as_str(), [Some(&entry.name), entry.title.as_ref(), entry.description.as_ref()])
}

fn template_size(template: &Template) -> usize {
    let Template { uri_template, name, title, description, .. } = template;
    checked_size(uri_template.as_str(), [Some(name), title.as_ref(), description.as_ref()])
}

/// Approximate number of bytes that the filter has to check for an item.
fn checked_size(uri: &str, texts: [Option<&String>; 3]) -> usize {
    64 + uri.len() + texts.into_iter().flatten().map(String::len).sum::<usize>()
}

impl Continuation {
    fn cursor(self, offer: &Offer) -> Cursor {
        let position = match (self.cursor, self.with_hints) {
            (None, _) => Position::After(String::new()),
            (Some(own), false) => Position::At(own),
            (Some(own), true) => Position::AtHinted(own),
        };
        Cursor::new(ListKind::Entries, offer, position)
    }
}

impl<T> PageBuilder<'_, T> {
    /// Ends the page after this URI or template.
    fn end_after(&mut self, list: ListKind, offer: &Offer, after: &str) {
        self.next = Some(Cursor::new(list, offer, Position::After(after.to_owned())));
    }

    fn finish(self) -> Page<T> {
        let filter = || self.filter.filter().clone();
        let next = self.next.map(|next| Cursor { filter: filter(), ..next }.encode());
        Page { items: self.items, next, freshness: self.freshness }
    }
}

/// Whether the provider returned this cursor when it was probed. If it rejects that cursor, the client is not
/// at fault.
fn is_probed_cursor(offer: &Offer, own: &Continuation) -> bool {
    own.cursor.is_none() || (!own.with_hints && offer.next_cursor == own.cursor)
}

/// Decodes the cursor, and prepares its filter: a list continues with the filter that it started with.
fn decode_cursor(
    cursor: Option<&str>,
    list: ListKind,
    filter: &Filter,
) -> Result<(Option<Cursor>, CompiledFilter), Error> {
    let Some(text) = cursor else {
        return Ok((None, CompiledFilter::new(filter.clone())));
    };
    let cursor = Cursor::decode(text, list).ok_or(Error::BadCursor)?;
    if !filter.is_empty() && *filter != cursor.filter {
        return Err(Error::FilterMismatch);
    }
    let filter = CompiledFilter::new(cursor.filter.clone());
    Ok((Some(cursor), filter))
}

fn position_text(position: &Position) -> &str {
    let (Position::After(text) | Position::At(text) | Position::AtHinted(text)) = position;
    text
}

/// Returns the entries that this offer owns, without duplicate URIs. Without collisions in the catalogs, that
/// is all of them.
fn owned_entries<'a>(
    view: &'a View,
    offer: &'a Arc<Offer>,
    entries: &'a [Arc<Entry>],
    has_no_collisions: bool,
) -> impl Iterator<Item = &'a Arc<Entry>> {
    entries.iter().enumerate().filter_map(move |(at, entry)| {
        if has_no_collisions {
            return Some(entry);
        }
        let is_owned = view.by_uri(entry.uri.as_str()).is_none_or(|owner| Arc::ptr_eq(owner, offer));
        let is_first = at == 0 || entries[at - 1].uri != entry.uri;
        (is_owned && is_first).then_some(entry)
    })
}
