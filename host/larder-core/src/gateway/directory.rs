//! Folders of URIs: the direct children of a folder, from the lists in the catalog. A page takes one search for each
//! child and provider, no matter how many entries are below the children. A provider that lists folders itself is called
//! for a folder whose children the catalog does not hold.

use std::sync::Arc;

use super::audit_record::{AuditRecord, written};
use super::cursor::{Cursor, ListKind, Position};
use super::view::{Ownership, View};
use super::{Error, Filter, Gateway, MAX_PAGE_BYTES};
use crate::catalog::{Catalog, Offer};
use larder_model::resource::{Call, Entry, Freshness, Page};
use larder_model::uri::Uri;
use larder_provider::CallError;
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
        let mut record = self
            .begin_record("list-directory", call, Some(uri.as_str()))
            .await?;
        let result = self.directory_page(call, uri, cursor, &mut record).await;
        written(record.end_with_items(&result, |page| page.items.len())).await?;
        result
    }

    async fn directory_page(
        &self,
        call: &Arc<Call>,
        uri: &Uri,
        cursor: Option<&str>,
        record: &mut AuditRecord<'_>,
    ) -> Result<Page<Arc<Entry>>, Error> {
        let view = self.view(call);
        Self::refresh_stale_lists(&view);
        let directory = Directory::new(uri.as_str());
        let cursor = decode_cursor(cursor, &directory)?;
        if let Some(offer) = folder_provider(&view, &directory, cursor.as_ref())? {
            record.set_provider(offer);
            let page = provider_page(&view, call, offer, &directory, cursor.as_ref()).await;
            if let Some(page) = page.transpose() {
                return page;
            }
        }
        let after = match cursor.map(|cursor| cursor.position) {
            None => None,
            Some(Position::After(key)) => Some(key),
            // The provider does not have the folder any more, or the caller may not call the provider.
            Some(Position::At(_) | Position::AtHinted(_)) => return Err(Error::BadCursor),
        };
        self.catalog_page(&view, &directory, uri, after.as_deref())
    }

    /// Returns a page of the children that the catalog holds.
    fn catalog_page(
        &self,
        view: &View,
        directory: &Directory,
        uri: &Uri,
        after: Option<&str>,
    ) -> Result<Page<Arc<Entry>>, Error> {
        let mut children = children(view, directory, after);
        if children.is_empty() && after.is_none() && !is_empty_folder(view, uri) {
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
        self.fill(view, directory, &mut children, &mut page);
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
        let size = self.max_items();
        let mut bytes = 0;
        let mut last = None;
        while let Some((offer, child)) = take_first(children) {
            if last == Some(child.key) {
                // A folder with entries of several providers is listed once.
                continue;
            }
            let Some(entry) = entry(view, &child) else {
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

/// Returns the entry of a child. A `SKILL.md` has the entry of its skill.
fn entry(view: &View, child: &Child<'_>) -> Option<Arc<Entry>> {
    let first = child.entries.first();
    let of_skill = first.and_then(|own| view.skill_entry(&own.uri));
    let of_skill = of_skill.filter(|entry| entry.uri.as_str() == child.key);
    of_skill.cloned().or_else(|| child.entry())
}

/// Returns the provider that is asked for the children of a folder: the first one that lists folders itself, to which
/// the folder belongs, and whose children the catalog does not hold. A cursor names the provider.
fn folder_provider<'a>(
    view: &'a View,
    directory: &Directory,
    cursor: Option<&Cursor>,
) -> Result<Option<&'a Arc<Offer>>, Error> {
    let lists_folders = |offer: &&Arc<Offer>| offer.provider.interfaces().directories;
    let mut candidates = view.offers().filter(lists_folders);
    let Some(cursor) = cursor else {
        let Ok(folder) = Uri::parse(directory.prefix()) else {
            return Ok(None);
        };
        return Ok(candidates
            .find(|offer| !is_in_catalog(offer, directory) && view.owns(offer, &folder, &mut 0)));
    };
    if let Position::After(_) = cursor.position {
        return Ok(None);
    }
    let named = candidates.find(|offer| cursor.is_in(offer));
    named.map(Some).ok_or(Error::BadCursor)
}

/// Whether the catalog holds the children of a folder.
fn is_in_catalog(offer: &Offer, directory: &Directory) -> bool {
    let is_held = offer.next_cursor.is_none() && !offer.is_personal();
    is_held && directory.children(&offer.entries, None).next().is_some()
}

/// Returns a page of the children that a provider lists itself. Returns `None` if the provider has no such folder.
async fn provider_page(
    view: &View,
    call: &Arc<Call>,
    offer: &Arc<Offer>,
    directory: &Directory,
    cursor: Option<&Cursor>,
) -> Result<Option<Page<Arc<Entry>>>, Error> {
    let Ok(permit) = offer.permit(call) else {
        return Ok(None);
    };
    let own_cursor = cursor.and_then(own_cursor);
    let uri = directory.prefix();
    let failed = |error| Error::from_call(offer, uri, None, error);
    offer.provider.check_byte_quota().map_err(failed)?;
    let listed = offer.provider.list_directory(permit, uri, own_cursor);
    let listed = match listed.await {
        Err(CallError::NotFound) => return Ok(None),
        listed => listed.map_err(failed)?,
    };
    offer.provider.log_omitted(&listed.omitted);
    let mut entries: Vec<_> = listed.items.into_iter().map(Arc::new).collect();
    entries.sort_by(|a, b| a.uri.cmp(&b.uri));
    let children = directory.children(&entries, None);
    let own = children.filter(|child| {
        let first = child.entries.first();
        first.is_some_and(|entry| view.owns(offer, &entry.uri, &mut 0))
    });
    let items: Vec<_> = own.filter_map(|child| entry(view, &child)).collect();
    let bytes = items.iter().map(|entry| entry.wire_size()).sum();
    offer.provider.charge_bytes(bytes);
    let freshness = listed.freshness.unwrap_or(Freshness::UNKNOWN);
    Ok(Some(Page {
        items,
        next: listed
            .next
            .map(|next| provider_cursor(directory, offer, next)),
        freshness: freshness.merge(view.max_freshness()),
        incomplete: Vec::new(),
    }))
}

fn own_cursor(cursor: &Cursor) -> Option<String> {
    match &cursor.position {
        Position::At(own) => Some(own.clone()),
        Position::After(_) | Position::AtHinted(_) => None,
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
                let children = directory.children(entries, after);
                let children = OfferChildren::new(offer, ownership, children);
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

impl<'a> OfferChildren<'a> {
    fn new(offer: &'a Arc<Offer>, ownership: Ownership<'a>, children: Children<'a, 'a>) -> Self {
        let mut all = Self {
            offer,
            ownership,
            children,
            next: None,
            compared: 0,
        };
        all.advance();
        all
    }

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
    view.by_uri(uri)
        .and_then(|offer| offer.listed_entry(uri))
        .is_some_and(|entry| entry.mime_type.as_deref() == Some(DIRECTORY_TYPE))
}

fn filter_of(directory: &Directory) -> Filter {
    Filter {
        uri_prefix: Some(directory.prefix().to_owned()),
        ..Filter::default()
    }
}

fn encode_cursor(directory: &Directory, last: &str) -> String {
    let filter = filter_of(directory);
    Cursor::after(ListKind::Directory, filter, last.to_owned()).encode()
}

/// The cursor of the next page of a provider that lists the folder itself.
fn provider_cursor(directory: &Directory, offer: &Offer, next: String) -> String {
    Cursor {
        filter: filter_of(directory),
        ..Cursor::new(ListKind::Directory, offer, Position::At(next))
    }
    .encode()
}

/// Returns a cursor of this folder.
fn decode_cursor(cursor: Option<&str>, directory: &Directory) -> Result<Option<Cursor>, Error> {
    let Some(text) = cursor else {
        return Ok(None);
    };
    let cursor = Cursor::decode_for(text, ListKind::Directory, &filter_of(directory))?;
    if !may_be_in(directory, &cursor.position) {
        return Err(Error::BadCursor);
    }
    Ok(Some(cursor))
}

/// Whether a cursor of a folder may have this position.
fn may_be_in(directory: &Directory, position: &Position) -> bool {
    match position {
        Position::After(key) => key.starts_with(directory.prefix()),
        Position::At(_) => true,
        Position::AtHinted(_) => false,
    }
}
