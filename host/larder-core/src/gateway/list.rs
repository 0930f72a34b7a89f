//! Pages of lists over many providers, ordered by team and provider name. The catalog holds the beginning of each
//! provider's list. A provider is called only when a client requests pages beyond that beginning, and without a filter
//! only once per page. A provider that fails, or that does not respond within a second, is skipped; but if a part of
//! its list was returned, the next page begins with the rest and waits longer.

mod calls;
mod page;

use std::sync::Arc;

use self::calls::{FetchedPage, FirstCalls, ListCallOutcome, PageCalls};
use self::page::{Continuation, CostGuard, PageBuilder, Room, new_page, template_size};
use super::cursor::{Cursor, ListKind, Position};
use super::filter::CompiledFilter;
use super::view::View;
use super::{Error, Filter, Gateway};
use crate::catalog::{Catalog, Offer};
use larder_model::resource::{Call, Entry, Page, Template};
use larder_provider::CallError;

/// A page of entries, and the calls to providers that fill it.
struct EntryPage<'a> {
    view: &'a View,
    page: PageBuilder<'a, Arc<Entry>>,
    calls: &'a PageCalls<'a>,
    first_calls: Option<FirstCalls<'a>>,
}

impl Gateway {
    /// Returns a page of the entries that pass the filter, with at most this many; 0 for no limit.
    pub(super) async fn entry_page(
        &self,
        call: &Arc<Call>,
        cursor: Option<&str>,
        filter: &Filter,
        size: u32,
    ) -> Result<Page<Arc<Entry>>, Error> {
        let view = self.view(call);
        let (from, filter) = decode_cursor(cursor, ListKind::Entries, filter)?;
        let calls = PageCalls::new(call, &filter);
        let offers = view.offers_from(from.as_ref())?;
        Self::refresh_stale_lists(&view);
        let freshness = view.freshness(Catalog::entries_freshness);
        let page = new_page(size, &filter, freshness);
        let mut list = EntryPage {
            view: &view,
            page,
            calls: &calls,
            first_calls: None,
        };
        let mut offers = offers.filter(|offer| filter.allows_provider(offer));
        while let Some(offer) = offers.next() {
            let position = from.as_ref().filter(|from| from.is_in(offer));
            let position = position.map(|from| &from.position);
            let Some(rest) = list.page.add_from_catalog(&view, offer, position) else {
                return Ok(list.page.finish());
            };
            let from_client = position.is_some_and(Position::is_provider_cursor);
            // Boxed because the future is large, and most lists need no calls.
            if let Some(rest) = rest
                && Box::pin(list.extend(offer, rest, from_client, &offers)).await?
            {
                return Ok(list.page.finish());
            }
        }
        list.page.next = None;
        Ok(list.page.finish())
    }

    /// Returns a page of the templates that pass the filter, with at most this many; 0 for no limit. The catalog holds
    /// all of them.
    pub(super) async fn template_page(
        &self,
        call: &Arc<Call>,
        cursor: Option<&str>,
        filter: &Filter,
        size: u32,
    ) -> Result<Page<Arc<Template>>, Error> {
        let view = self.view(call);
        let (from, filter) = decode_cursor(cursor, ListKind::Templates, filter)?;
        let offers = view.offers_from(from.as_ref())?;
        Self::refresh_stale_lists(&view);
        let mut page = new_page(size, &filter, view.freshness(Catalog::templates_freshness));
        for offer in offers.filter(|offer| filter.allows_provider(offer)) {
            let after = from.as_ref().filter(|from| from.is_in(offer));
            let after = after.map_or("", |from| position_text(&from.position));
            if !add_templates(&mut page, &view, offer, after) {
                return Ok(page.finish());
            }
        }
        page.next = None;
        Ok(page.finish())
    }
}

/// Adds the templates of an offer after this one. Returns whether the page has room for more.
fn add_templates<'a>(
    page: &mut PageBuilder<'_, Arc<Template>>,
    view: &View,
    offer: &'a Arc<Offer>,
    mut after: &'a str,
) -> bool {
    let mut cost = CostGuard { offer, bytes: 0 };
    for (position, template) in offer.templates.iter().enumerate() {
        let text = template.uri_template.as_str();
        let is_owned = view
            .template(text)
            .is_some_and(|(owner, owned)| Arc::ptr_eq(owner, offer) && owned == position);
        if !is_owned || text <= after {
            continue;
        }
        let is_match = page.filter.matches_template(template);
        let matched = is_match.then(|| template.wire_size());
        if matched.is_some_and(|bytes| !page.has_room_for(bytes)) || page.has_scanned_enough() {
            page.end_after(ListKind::Templates, offer, after);
            return false;
        }
        after = text;
        match matched {
            Some(bytes) => {
                cost.bytes += bytes;
                page.add(template.clone(), bytes);
            }
            None => page.skipped_bytes += template_size(template),
        }
    }
    true
}

impl<'a> EntryPage<'a> {
    /// Calls a provider for entries beyond those in the catalog: once for a page of an unfiltered list, and until the
    /// page is full for a page of a filtered list. Returns whether the page ends here. `following` are the providers
    /// after it.
    async fn extend(
        &mut self,
        offer: &'a Arc<Offer>,
        mut rest: Continuation,
        mut from_client: bool,
        following: &(impl Iterator<Item = &'a Arc<Offer>> + Clone + Send + 'a),
    ) -> Result<bool, Error> {
        let mut is_first = true;
        loop {
            if !self.page.may_call_provider() {
                return Ok(self.end_before(offer, rest));
            }
            self.calls.set_room(self.page.room());
            let begins_page = self.page.items.is_empty() && self.page.calls == 0;
            let fetched = if std::mem::take(&mut is_first) {
                self.first_call(offer, &rest, begins_page, following).await
            } else {
                self.next_call(offer, &rest).await
            };
            self.page.calls += 1;
            let Some(ListCallOutcome { result, room }) = fetched else {
                return Ok(self.end_before(offer, rest));
            };
            match result {
                Ok(found) => {
                    let Some(found) = self.fit(offer, &rest, found, room).await else {
                        return Ok(self.end_before(offer, rest));
                    };
                    let Some(next) = self.add(offer, &rest, found) else {
                        return Ok(false);
                    };
                    if self.page.filter.is_empty() {
                        return Ok(self.end_before(offer, next));
                    }
                    rest = next;
                    from_client = false;
                }
                // The client sent this cursor, and the provider does not accept it.
                Err(CallError::Invalid(_)) if from_client && !is_probed_cursor(offer, &rest) => {
                    return Err(Error::BadCursor);
                }
                // The next page begins with this call, and waits longer for it.
                Err(error) if error.is_late() && rest.cursor.is_some() && !begins_page => {
                    return Ok(self.end_before(offer, rest));
                }
                Err(error) => return Ok(self.skip(offer, &rest, &error)),
            }
        }
    }

    async fn first_call(
        &mut self,
        offer: &'a Arc<Offer>,
        rest: &Continuation,
        begins_page: bool,
        following: &(impl Iterator<Item = &'a Arc<Offer>> + Clone + Send + 'a),
    ) -> Option<ListCallOutcome> {
        if let Some(calls) = &mut self.first_calls
            && let Some(fetched) = calls.next_of(offer).await
        {
            return fetched;
        }
        let first = (offer, rest.clone());
        // If a part of the list was already returned, the rest is not skipped because it takes long.
        let has_own_time = begins_page && rest.cursor.is_some();
        let calls = FirstCalls::new(self.calls, first, has_own_time, following.clone());
        let calls = self.first_calls.insert(calls);
        calls.next_of(offer).await.flatten()
    }

    async fn next_call(&mut self, offer: &Offer, rest: &Continuation) -> Option<ListCallOutcome> {
        let call = self.calls.fetch(offer, rest, false);
        match &mut self.first_calls {
            Some(others) => others.along_with(call).await,
            None => call.await,
        }
    }

    /// Returns the part that a provider returned if it fits into the page. If it is too large even for an empty page,
    /// fewer entries are requested once; a provider may return more nevertheless. `room` is the free space of the page
    /// when the call began.
    async fn fit(
        &mut self,
        offer: &Offer,
        from: &Continuation,
        found: FetchedPage,
        room: Room,
    ) -> Option<FetchedPage> {
        let fitting = self.page.count_fitting(&found.entries);
        let is_late = room != self.page.room() && !fitting.items;
        if fitting.bytes && !is_late {
            return Some(found);
        }
        if is_late || !self.page.items.is_empty() {
            return None;
        }
        self.page.calls += 1;
        let fewer = self
            .calls
            .fetch_at_most(offer, from, fitting.by_bytes.max(1))
            .await;
        let fewer = fewer
            .and_then(|fetched| fetched.result.ok())
            .filter(|fewer| !fewer.entries.is_empty());
        Some(fewer.unwrap_or(found))
    }

    /// Adds what a provider returned. Returns where its list continues.
    fn add(
        &mut self,
        offer: &Arc<Offer>,
        from: &Continuation,
        found: FetchedPage,
    ) -> Option<Continuation> {
        self.page.freshness.ttl = self.page.freshness.ttl.min(found.freshness.ttl);
        self.page.add_fetched(self.view, offer, &found.entries);
        let next = Continuation {
            cursor: Some(found.next?),
            with_hints: from.with_hints,
        };
        (next != *from).then_some(next)
    }

    /// Ends the page before this part of the provider's list.
    fn end_before(&mut self, offer: &Offer, rest: Continuation) -> bool {
        self.page.next = Some(rest.cursor(offer));
        true
    }

    /// Skips the rest of a list, because its provider failed. Returns whether the page ends here.
    fn skip(&mut self, offer: &'a Arc<Offer>, rest: &Continuation, error: &CallError) -> bool {
        offer.provider.log_failed_list(error);
        self.page.omit(offer);
        // The catalog's entries were skipped because the provider can filter its list itself. The provider failed, so
        // they are used.
        let catalog_has_entries = rest.cursor.is_none() && !offer.is_personal();
        catalog_has_entries && self.page.add_entries_after(self.view, offer, "").is_none()
    }
}

/// Whether the provider returned this cursor when it was probed. If the provider rejects it now, the client did not
/// send a wrong cursor.
fn is_probed_cursor(offer: &Offer, own: &Continuation) -> bool {
    own.cursor.is_none() || (!own.with_hints && offer.next_cursor == own.cursor)
}

/// Decodes the cursor, and prepares the filter in it: a list continues with the filter of its first page.
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
