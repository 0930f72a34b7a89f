//! Lists of several pages.

use std::collections::HashSet;

use futures_util::future::BoxFuture;

use super::CallError;
use larder_model::resource::{Freshness, Scope};
use larder_model::size;

/// Maximum number of pages of one list that are requested after the first.
const MAX_PAGES: usize = 64;

/// One page of a list of a provider.
#[derive(Debug)]
pub struct ListPage<T> {
    /// The entries or templates.
    pub items: Vec<T>,
    /// The provider's cursor for the next page.
    pub next: Option<String>,
    /// How long the page may be reused; none if the provider did not declare it.
    pub freshness: Option<Freshness>,
    /// What was omitted or changed, and why.
    pub omitted: Vec<String>,
    /// Names of files that the provider could not read, because they are not UTF-8.
    pub unreadable_names: u64,
    /// Bytes of text in the items.
    pub bytes: u64,
}

/// A request for a page of a provider's list.
#[derive(Debug, Clone, Default)]
pub struct ListQuery {
    /// The cursor of the page; none for the first page.
    pub cursor: Option<String>,
    /// The desired number of entries.
    pub limit: u32,
    /// Hint: only entries whose URIs have this prefix are needed.
    pub uri_prefix: Option<String>,
    /// Hint: only entries of this kind are needed.
    pub kind: Option<String>,
}

impl<T> ListPage<T> {
    /// A list without items.
    pub fn empty() -> Self {
        Self {
            items: vec![],
            next: None,
            freshness: None,
            omitted: vec![],
            unreadable_names: 0,
            bytes: 0,
        }
    }

    /// Adds a note about what was omitted.
    pub fn with_note(mut self, note: &str) -> Self {
        self.omitted.push(note.to_owned());
        self
    }

    /// Removes all items if the list depends on the caller. All clients see the same tools and prompts, because an
    /// operator approves them.
    pub fn without_personal(mut self, what: &str) -> Self {
        if self
            .freshness
            .is_some_and(|freshness| freshness.scope == Scope::Caller)
        {
            self.items.clear();
            self.omitted.push(format!(
                "all {what}: the list depends on the caller, which is not supported"
            ));
        }
        self
    }

    /// Removes items that have the same name as an earlier item. Each page already has no duplicates.
    pub fn keep_unique(&mut self, name: impl Fn(&T) -> String, what: &str) {
        let mut names = HashSet::new();
        let before = self.items.len();
        self.items.retain(|item| names.insert(name(item)));
        match before - self.items.len() {
            0 => {}
            1 => self
                .omitted
                .push(format!("a second {what} of the same name on another page")),
            more => self
                .omitted
                .push(format!("{more} {what}s of names that are on another page")),
        }
    }

    /// Adds the names that the provider could not read to the omissions.
    pub fn report_unreadable_names(&mut self) {
        let (names, them) = match self.unreadable_names {
            0 => return,
            1 => ("a file whose name is".to_owned(), "it"),
            more => (format!("{more} files whose names are"), "them"),
        };
        self.omitted.push(format!(
            "{names} not UTF-8, which WASI does not support: rename {them}"
        ));
    }

    /// Removes the items after the first `count`, and reports that there are more.
    pub fn cut(&mut self, count: u32, what: &str) {
        let has_more = self.next.take().is_some() || self.items.len() > count as usize;
        self.items.truncate(count as usize);
        if has_more {
            self.omitted.push(format!(
                "{what} beyond the first {count} (`limits.catalog_entries`)"
            ));
        }
    }
}

/// Requests pages until there are `enough` items, the list ends, or a limit is reached.
pub async fn fetch_pages<'a, T>(
    enough: u32,
    max_bytes: u64,
    mut page: impl FnMut(Option<String>, u32) -> BoxFuture<'a, Result<ListPage<T>, CallError>>,
) -> Result<ListPage<T>, CallError> {
    let mut all = page(None, 0).await?;
    for _ in 0..MAX_PAGES {
        let have = u32::try_from(all.items.len()).unwrap_or(u32::MAX);
        if all.next.is_none() || have >= enough {
            return Ok(all);
        }
        let more = page(all.next.clone(), have).await?;
        if more.next.is_some() && more.next == all.next {
            all.omitted
                .push("the rest of a list whose cursor does not change".into());
            all.next = None;
            return Ok(all);
        }
        // Each page may have the same unreadable names.
        all.unreadable_names = all.unreadable_names.max(more.unreadable_names);
        all.bytes += more.bytes;
        if all.bytes > max_bytes {
            all.omitted.push(format!(
                "the rest of a list that has more than {} (`limits.result`)",
                size::show(max_bytes)
            ));
            all.next = None;
            return Ok(all);
        }
        all.items.extend(more.items);
        all.next = more.next;
        all.omitted.extend(more.omitted);
        all.freshness = match (all.freshness, more.freshness) {
            (Some(one), Some(other)) => Some(one.merge(other)),
            (one, other) => one.or(other),
        };
    }
    Ok(all)
}
