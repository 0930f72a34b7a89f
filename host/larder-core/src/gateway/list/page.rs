//! A page of a list while it is filled with entries of the catalog and entries that providers return.

use std::sync::Arc;
use std::time::Duration;

use super::super::cursor::{Cursor, ListKind, Position};
use super::super::filter::CompiledFilter;
use super::super::view::View;
use crate::catalog::Offer;
use crate::gateway::MAX_PAGE_BYTES;
use larder_model::resource::{Entry, Freshness, Page, Template};

/// A page under construction.
pub(super) struct PageBuilder<'s, T> {
    pub(super) items: Vec<T>,
    size: usize,
    /// Bytes of the items.
    bytes: usize,
    pub(super) filter: &'s CompiledFilter,
    pub(super) freshness: Freshness,
    /// Bytes of the items that were checked and are not on the page, and of the steps that decide which team has an
    /// item.
    pub(super) skipped_bytes: usize,
    /// Number of calls to providers for this page.
    pub(super) calls: u32,
    /// The providers whose part of the list is missing.
    pub(super) incomplete: Vec<String>,
    pub(super) next: Option<Cursor>,
}

/// How much still fits into a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) items: usize,
    pub(super) bytes: usize,
}

/// Where to continue a list by calling its provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Continuation {
    /// The provider's own cursor; none for the first page.
    pub(super) cursor: Option<String>,
    /// Whether the provider receives the filter as a hint.
    pub(super) with_hints: bool,
}

/// Maximum number of provider calls for one page of a filtered list.
const MAX_PROVIDER_CALLS: u32 = 16;
/// Bytes of items that one page may check without a match before it ends, possibly empty.
const MAX_SKIPPED_BYTES: usize = 4 << 20;

impl<T> PageBuilder<'_, T> {
    /// How much still fits.
    pub(super) fn room(&self) -> Room {
        Room {
            items: self.size.saturating_sub(self.items.len()),
            bytes: MAX_PAGE_BYTES.saturating_sub(self.bytes),
        }
    }

    /// Whether an item of this size fits. The first item always does, so that each page makes progress.
    pub(super) fn has_room_for(&self, bytes: usize) -> bool {
        self.items.is_empty()
            || self.items.len() < self.size && self.bytes + bytes <= MAX_PAGE_BYTES
    }

    pub(super) fn add(&mut self, item: T, bytes: usize) {
        self.bytes += bytes;
        self.items.push(item);
    }

    pub(super) fn has_scanned_enough(&self) -> bool {
        self.skipped_bytes > MAX_SKIPPED_BYTES
    }

    pub(super) fn may_call_provider(&self) -> bool {
        let too_many = !self.filter.is_empty() && self.calls >= MAX_PROVIDER_CALLS;
        let Room { items, bytes } = self.room();
        items > 0 && bytes > 0 && !self.has_scanned_enough() && !too_many
    }
}

/// Creates an empty page with this maximum size.
pub(super) fn new_page<T>(
    size: u32,
    filter: &CompiledFilter,
    freshness: Freshness,
) -> PageBuilder<'_, T> {
    let size = match size {
        0 => usize::MAX,
        size => size as usize,
    };
    PageBuilder {
        items: Vec::new(),
        size,
        bytes: 0,
        filter,
        freshness,
        skipped_bytes: 0,
        calls: 0,
        incomplete: Vec::new(),
        next: None,
    }
}

impl PageBuilder<'_, Arc<Entry>> {
    /// Adds the entries of an offer that the catalog holds, from this position on. Returns `None` if the page is full
    /// before the end of these entries. Otherwise returns where a call of the provider continues the list, if the list
    /// continues there. A personal list is never taken from the catalog, because the catalog has the entries that the
    /// provider returned to the server itself. If a list is longer than what the catalog holds and the provider
    /// understands the filter, the provider is called from the beginning of its list.
    pub(super) fn add_from_catalog(
        &mut self,
        view: &View,
        offer: &Arc<Offer>,
        position: Option<&Position>,
    ) -> Option<Option<Continuation>> {
        let at = |cursor: &String, with_hints| {
            Some(Some(Continuation {
                cursor: Some(cursor.clone()),
                with_hints,
            }))
        };
        let with_hints = self.filter.has_hints();
        match position {
            Some(Position::At(own)) => at(own, false),
            Some(Position::AtHinted(own)) => at(own, true),
            Some(Position::After(after)) if !after.is_empty() && !offer.is_personal() => {
                self.add_entries_after(view, offer, after)
            }
            _ if offer.is_personal() || (with_hints && offer.next_cursor.is_some()) => {
                Some(Some(Continuation {
                    cursor: None,
                    with_hints,
                }))
            }
            _ => self.add_entries_after(view, offer, ""),
        }
    }

    pub(super) fn add_entries_after<'a>(
        &mut self,
        view: &'a View,
        offer: &'a Arc<Offer>,
        mut after: &'a str,
    ) -> Option<Option<Continuation>> {
        let mut cost = CostGuard { offer, bytes: 0 };
        // The search is skipped for the first page, which can have entries of a thousand lists.
        let begin = match after {
            "" => 0,
            after => offer
                .entries
                .partition_point(|entry| entry.uri.as_str() <= after),
        };
        let Some(ownership) = view.ownership(offer) else {
            return Some(None);
        };
        let has_no_collisions = ownership.has_no_collisions();
        let entries = &offer.entries[begin..];
        for (at, entry) in entries.iter().enumerate() {
            let is_full = self.has_scanned_enough();
            let is_owned = !is_full
                && (has_no_collisions
                    || is_first(entries, at)
                        && ownership.includes(&entry.uri, &mut self.skipped_bytes));
            let matched = (is_owned && self.filter.matches(entry)).then(|| entry.wire_size());
            if is_full || matched.is_some_and(|bytes| !self.has_room_for(bytes)) {
                self.end_after(ListKind::Entries, offer, after);
                return None;
            }
            after = entry.uri.as_str();
            match matched {
                Some(bytes) => {
                    cost.bytes += bytes;
                    self.add(entry.clone(), bytes);
                }
                None => self.skipped_bytes += entry_size(entry),
            }
        }
        Some(offer.next_cursor.clone().map(|cursor| Continuation {
            cursor: Some(cursor),
            with_hints: false,
        }))
    }

    /// Returns how many of these entries fit. Entries that do not pass the filter are not counted.
    pub(super) fn count_fitting(&self, entries: &[Arc<Entry>]) -> PageFit {
        let room = self.room();
        let mut items = 0;
        let mut bytes = 0;
        let mut by_bytes = 0;
        for entry in entries {
            if self.filter.matches(entry) {
                items += 1;
                bytes += entry.wire_size();
            }
            by_bytes += usize::from(bytes <= room.bytes);
        }
        PageFit {
            items: items <= room.items,
            bytes: bytes <= room.bytes,
            by_bytes,
        }
    }

    /// Records that the rest of the provider's list is missing. The client may send the request again soon.
    pub(super) fn omit(&mut self, offer: &Offer) {
        self.incomplete.push(offer.full_name());
        self.freshness.ttl = Duration::ZERO;
    }

    pub(super) fn add_fetched(&mut self, view: &View, offer: &Arc<Offer>, entries: &[Arc<Entry>]) {
        let mut cost = CostGuard { offer, bytes: 0 };
        let Some(ownership) = view.ownership(offer) else {
            return;
        };
        for (at, entry) in entries.iter().enumerate() {
            if !is_first(entries, at) || !ownership.includes(&entry.uri, &mut self.skipped_bytes) {
                continue;
            }
            if self.filter.matches(entry) {
                let bytes = entry.wire_size();
                cost.bytes += bytes;
                self.add(entry.clone(), bytes);
            } else {
                self.skipped_bytes += entry_size(entry)
            }
        }
    }
}

/// Whether the entries of a provider's page fit into a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageFit {
    /// Whether the number of items fits.
    pub(super) items: bool,
    /// Whether the bytes of the items fit.
    pub(super) bytes: bool,
    /// How many of the first entries fit by their bytes.
    pub(super) by_bytes: usize,
}

/// Counts the bytes of one provider on a page. Charges these bytes when it is dropped.
pub(super) struct CostGuard<'a> {
    pub(super) offer: &'a Offer,
    pub(super) bytes: usize,
}

impl Drop for CostGuard<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.offer.provider.charge_bytes(self.bytes);
        }
    }
}

fn entry_size(entry: &Entry) -> usize {
    checked_size(
        entry.uri.as_str(),
        [
            Some(&entry.name),
            entry.title.as_ref(),
            entry.description.as_ref(),
        ],
    )
}

pub(super) fn template_size(template: &Template) -> usize {
    checked_size(
        template.uri_template.as_str(),
        [
            Some(&template.name),
            template.title.as_ref(),
            template.description.as_ref(),
        ],
    )
}

/// Approximate number of bytes that the filter has to check for an item.
fn checked_size(uri: &str, texts: [Option<&String>; 3]) -> usize {
    64 + uri.len() + texts.into_iter().flatten().map(String::len).sum::<usize>()
}

impl Continuation {
    /// Returns the position at which a list from its beginning first calls the provider. `None` if the catalog has the
    /// whole list.
    pub(super) fn first_of(offer: &Offer, filter: &CompiledFilter) -> Option<Self> {
        let with_hints = filter.has_hints();
        match &offer.next_cursor {
            _ if offer.is_personal() => Some(Self {
                cursor: None,
                with_hints,
            }),
            Some(_) if with_hints => Some(Self {
                cursor: None,
                with_hints,
            }),
            next => next.clone().map(|cursor| Self {
                cursor: Some(cursor),
                with_hints: false,
            }),
        }
    }

    pub(super) fn cursor(self, offer: &Offer) -> Cursor {
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
    pub(super) fn end_after(&mut self, list: ListKind, offer: &Offer, after: &str) {
        self.next = Some(Cursor::new(list, offer, Position::After(after.to_owned())));
    }

    pub(super) fn finish(self) -> Page<T> {
        let filter = || self.filter.filter().clone();
        let next = self.next.map(|next| {
            Cursor {
                filter: filter(),
                ..next
            }
            .encode()
        });
        Page {
            items: self.items,
            next,
            freshness: self.freshness,
            incomplete: self.incomplete,
        }
    }
}

/// Whether an entry is the first one with its URI.
fn is_first(entries: &[Arc<Entry>], at: usize) -> bool {
    at == 0 || entries[at - 1].uri != entries[at].uri
}
