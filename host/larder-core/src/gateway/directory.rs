//! Folders of URIs: the direct children of a folder, from the lists in the catalog. Providers are not called. A page
//! takes one search for each child and provider, no matter how many entries are below the children.

use std::sync::Arc;

use super::audit_record::written;
use super::cursor::{Cursor, ListKind, Position};
use super::view::{Ownership, View};
use super::{Error, Filter, Gateway, MAX_PAGE_BYTES};
use crate::catalog::{Catalog, Offer};
use larder_model::name::TeamName;
use larder_model::resource::{Call, Entry, Page};
use larder_model::uri::Uri;
use larder_skills::directory::{Child, Children, DIRECTORY_TYPE, Directory};

/// Maximum number of entries of one provider that are compared with the lists of others, for one page.
const MAX_COMPARED: usize = 10_000;

/// The children in the entries of one provider.
struct OfferChildren<'a> {
    offer: &'a Arc<Offer>,
    ownership: Ownership<'a>,
    children: Children<'a, 'a>,
    /// The next child that the caller sees.
    next: Option<Child<'a>>,
    compared: usize,
}

impl Gateway {
    /// Returns a page of the children of a folder.
    pub async fn directory(
        &self,
        call: &Arc<Call>,
        uri: &Uri,
        cursor: Option<&str>,
    ) -> Result<Page<Arc<Entry>>, Error> {
        let record = self
            .begin_record("list-directory", call, Some(uri.as_str()))
            .await?;
        let result = self.directory_page(call, uri, cursor);
        written(record.end_with_items(&result, |page| page.items.len())).await?;
        result
    }

    fn directory_page(
        &self,
        call: &Arc<Call>,
        uri: &Uri,
        cursor: Option<&str>,
    ) -> Result<Page<Arc<Entry>>, Error> {
        let view = self.view(call.caller.as_ref());
        Self::refresh_stale_lists(&view);
        let directory = Directory::new(uri.as_str());
        let after = decode_cursor(cursor, &directory)?;
        let mut children = children(&view, &directory, after.as_deref());
        if children.is_empty() && after.is_none() && !is_empty_folder(&view, uri) {
            let no_directory = Error::NoDirectory {
                uri: uri.to_string(),
            };
            return Err(view.unknown_uri(uri.as_str(), no_directory));
        }
        let mut page = Page {
            items: Vec::new(),
            next: None,
            freshness: view.freshness(Catalog::entries_freshness),
            incomplete: Vec::new(),
        };
        self.fill(&view, &directory, &mut children, &mut page);
        let cut = children.iter().filter(|one| one.compared > MAX_COMPARED);
        page.incomplete = cut.map(|one| one.offer.full_name()).collect();
        Ok(page)
    }

    /// Adds children in the order of their keys, as long as they fit. The first one always fits, so that each page makes
    /// progress.
    fn fill(
        &self,
        view: &View,
        directory: &Directory,
        children: &mut [OfferChildren<'_>],
        page: &mut Page<Arc<Entry>>,
    ) {
        let size = match self.page_size().resources {
            0 => usize::MAX,
            size => size as usize,
        };
        let mut bytes = 0;
        let mut last = None;
        while let Some((offer, child)) = take_first(children) {
            if last == Some(child.key) {
                // A folder with entries of several providers is listed once.
                continue;
            }
            let of_skill = child
                .entries
                .first()
                .and_then(|own| view.skill_entry(&own.uri));
            let of_skill = of_skill
                .filter(|entry| entry.uri.as_str() == child.key)
                .cloned();
            let Some(entry) = of_skill.or_else(|| child.entry()) else {
                continue;
            };
            let more = entry.wire_size();
            let is_full = page.items.len() >= size || bytes + more > MAX_PAGE_BYTES;
            if let Some(last) = last.filter(|_| is_full) {
                page.next = Some(encode_cursor(directory, last));
                return;
            }
            bytes += more;
            offer.provider.charge_bytes(more);
            page.items.push(entry);
            last = Some(child.key);
        }
    }
}

/// Returns the children that each provider has after this key: in its list, and in its skills beyond the catalog.
fn children<'a>(
    view: &'a View,
    directory: &'a Directory,
    after: Option<&str>,
) -> Vec<OfferChildren<'a>> {
    let mut all = Vec::new();
    for team in view.teams() {
        let public = team.offers().iter().filter(|offer| !offer.is_personal());
        for offer in public {
            let Some(ownership) = view.ownership(offer) else {
                continue;
            };
            for entries in [&offer.entries[..], team.unlisted_skill_files(offer)] {
                let mut children = OfferChildren {
                    offer,
                    ownership,
                    children: directory.children(entries, after),
                    next: None,
                    compared: 0,
                };
                children.advance();
                if children.next.is_some() {
                    all.push(children);
                }
            }
        }
    }
    all
}

/// Takes the child with the smallest key.
fn take_first<'a>(children: &mut [OfferChildren<'a>]) -> Option<(&'a Arc<Offer>, Child<'a>)> {
    let with_next = children.iter_mut().filter(|one| one.next.is_some());
    let first = with_next.min_by_key(|one| one.next.as_ref().map(|child| child.key))?;
    let child = first.next.take()?;
    first.advance();
    Some((first.offer, child))
}

impl OfferChildren<'_> {
    /// Goes to the next child that the caller sees.
    fn advance(&mut self) {
        self.next = loop {
            let Some(child) = self.children.next() else {
                break None;
            };
            if self.ownership.has_no_collisions() || self.has_visible_entry(&child) {
                break Some(child);
            }
            if self.compared > MAX_COMPARED {
                break None;
            }
        };
    }

    fn has_visible_entry(&mut self, child: &Child<'_>) -> bool {
        let rest = MAX_COMPARED.saturating_sub(self.compared) + 1;
        let mut compared = 0;
        let is_visible = child.entries.iter().take(rest).any(|entry| {
            compared += 1;
            self.ownership.includes(&entry.uri, &mut compared)
        });
        self.compared += compared;
        is_visible
    }
}

/// Whether a provider lists a folder at this URI, which has no entries.
fn is_empty_folder(view: &View, uri: &Uri) -> bool {
    let Some(offer) = view.by_uri(uri) else {
        return false;
    };
    let found = offer.entries.binary_search_by(|entry| entry.uri.cmp(uri));
    found.is_ok_and(|at| offer.entries[at].mime_type.as_deref() == Some(DIRECTORY_TYPE))
}

fn filter_of(directory: &Directory) -> Filter {
    Filter {
        uri_prefix: Some(directory.prefix().to_owned()),
        ..Filter::default()
    }
}

fn encode_cursor(directory: &Directory, last: &str) -> String {
    Cursor {
        list: ListKind::Directory,
        team: TeamName::default_team().to_string(),
        provider: String::new(),
        filter: filter_of(directory),
        position: Position::After(last.to_owned()),
    }
    .encode()
}

/// Returns the key of the last child before the page.
fn decode_cursor(cursor: Option<&str>, directory: &Directory) -> Result<Option<String>, Error> {
    let Some(text) = cursor else {
        return Ok(None);
    };
    let cursor = Cursor::decode(text, ListKind::Directory).ok_or(Error::BadCursor)?;
    if cursor.filter != filter_of(directory) {
        return Err(Error::FilterMismatch);
    }
    match cursor.position {
        Position::After(key) if key.starts_with(directory.prefix()) => Ok(Some(key)),
        _ => Err(Error::BadCursor),
    }
}
