//! The list of a provider, page by page: the first page is what the catalog holds, and the provider lists the others. So
//! the index is not limited to the entries of the catalog, and only one page is in memory.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Turn;
use crate::catalog::Offer;
use crate::host_reads::{self, MAX_PAGES, PAUSE_FACTOR};
use larder_model::resource::Entry;
use larder_model::text_index::{self, KnownDocument};
use larder_model::uri::Uri;
use larder_provider::CallError;

/// A list of which some pages may be left.
#[derive(Debug)]
pub(super) struct ListPages {
    /// The stored documents that were not listed so far.
    pub(super) unlisted: HashMap<Uri, KnownDocument>,
    next: NextPage,
    /// Number of entries in the pages so far.
    entries: usize,
    pages: u32,
    /// How long the calls of the provider took.
    spent: Duration,
}

#[derive(Debug, Clone)]
enum NextPage {
    Catalog,
    /// The provider continues its list at this cursor.
    Cursor(String),
    End,
}

/// One page of a list.
pub(super) struct Page {
    /// The entries that belong to the provider.
    pub(super) entries: Vec<Arc<Entry>>,
    /// The versions that the provider returned for these entries.
    pub(super) versions: HashMap<Uri, String>,
}

impl ListPages {
    /// Begins a list. `known` are the stored documents of the provider.
    pub(super) fn new(known: HashMap<Uri, KnownDocument>) -> Self {
        Self {
            unlisted: known,
            next: NextPage::Catalog,
            entries: 0,
            pages: 0,
            spent: Duration::ZERO,
        }
    }

    /// Returns the next page. After an error, the next attempt returns the same page.
    pub(super) async fn next_page(&mut self, turn: &Turn<'_>) -> Result<Page, CallError> {
        let start = Instant::now();
        let page = self.fetch(turn).await;
        self.spent += start.elapsed();
        page
    }

    async fn fetch(&mut self, turn: &Turn<'_>) -> Result<Page, CallError> {
        let (entries, next) = match self.next.clone() {
            NextPage::Catalog => (catalog_entries(turn), turn.offer.next_cursor.clone()),
            NextPage::Cursor(cursor) => {
                let page = host_reads::later_entries(turn.catalog, turn.offer, cursor).await?;
                (page.entries, page.next)
            }
            NextPage::End => (Vec::new(), None),
        };
        let uris: Vec<_> = entries.iter().map(|entry| entry.uri.clone()).collect();
        let versions = host_reads::versions(turn.offer, &uris).await?;
        self.entries += entries.len();
        self.pages += 1;
        self.next = next.map_or(NextPage::End, NextPage::Cursor);
        Ok(Page { entries, versions })
    }

    /// Whether no page is left.
    pub(super) fn is_complete(&self) -> bool {
        matches!(self.next, NextPage::End)
    }

    /// Whether no more entries of this list can be in the index.
    pub(super) fn is_too_long(&self) -> bool {
        self.entries as u64 >= text_index::MAX_DOCUMENTS || self.pages >= MAX_PAGES
    }

    /// How long the provider is not called for its list after the list ended.
    pub(super) fn pause(&self, offer: &Offer) -> Duration {
        match offer.next_cursor {
            Some(_) => self.spent * PAUSE_FACTOR,
            None => Duration::ZERO,
        }
    }
}

/// The entries of the catalog that belong to the provider.
fn catalog_entries(turn: &Turn<'_>) -> Vec<Arc<Entry>> {
    let is_own = |entry: &&Arc<Entry>| {
        let owner = turn.catalog.by_uri(entry.uri.as_str());
        owner.is_some_and(|owner| Arc::ptr_eq(owner, turn.offer))
    };
    turn.offer.entries.iter().filter(is_own).cloned().collect()
}
