//! Search: if a resource has a search, with the API, and otherwise in the pages of its list. A search has little time,
//! so the hits so far are returned when the time is over.

use std::time::Instant;

use larder_provider::{Entry, Hit, Hits, Result, SearchQuery, warn};

use crate::Api;
use crate::list::List;
use crate::resource::Resource;

/// The maximum number of pages of one list.
const MAX_PAGES: usize = 100;

struct Search<'a> {
    api: &'a Api,
    query: &'a SearchQuery,
    /// In lower case.
    words: Vec<String>,
    end: Instant,
    /// Why hits are missing.
    missing: Option<String>,
}

/// A list that is searched page by page.
struct Walk<'a> {
    resource: &'a Resource,
    list: &'a List,
    token: Option<String>,
    is_done: bool,
    found: Vec<Entry>,
}

impl Api {
    /// The hits in single resources, from searches of the API, and in lists without a search.
    pub(crate) fn hits(&self, query: &SearchQuery) -> Result<Hits> {
        let words = query
            .text
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        let mut search = Search {
            api: self,
            query,
            words,
            end: query.end(),
            missing: None,
        };
        let mut found = vec![search.single_resources()];
        found.extend(search.searches_of_api());
        found.extend(search.lists());
        let hits = query.take(alternate(found).into_iter().map(hit));
        match search.missing {
            Some(why) => hits.incomplete(&why),
            None => Ok(hits),
        }
    }
}

impl Search<'_> {
    fn single_resources(&self) -> Vec<Entry> {
        let single = self
            .api
            .resources
            .iter()
            .filter(|resource| resource.is_single());
        self.by_rank(single.map(Resource::entry).collect())
    }

    /// The results of the API for each resource that has a search. One that fails takes away only itself.
    fn searches_of_api(&mut self) -> Vec<Vec<Entry>> {
        let mut found = Vec::new();
        for resource in &self.api.resources {
            let Some(search) = &resource.search else {
                continue;
            };
            match search.page(None, &self.query.text, &self.api.settings) {
                Ok(page) => {
                    let entries = page
                        .items
                        .iter()
                        .filter_map(|item| search.entry(item, resource.mime_type()));
                    found.push(entries.collect());
                }
                Err(error) => self.miss(format!(
                    "the search of `{}` failed: {error}",
                    resource.uri.as_str()
                )),
            }
        }
        found
    }

    /// The entries of the other lists that contain all words. The lists are read in turn, so that a long list does not
    /// use up the time of the others.
    fn lists(&mut self) -> Vec<Vec<Entry>> {
        let lists = self
            .api
            .lists()
            .filter(|(resource, _)| resource.search.is_none());
        let mut walks: Vec<Walk<'_>> = lists
            .map(|(resource, list)| Walk::new(resource, list))
            .collect();
        for _ in 0..MAX_PAGES {
            for walk in walks.iter_mut().filter(|walk| !walk.is_done) {
                self.next_page(walk);
            }
        }
        if walks.iter().any(|walk| !walk.is_done) {
            self.miss("not all pages of the lists were read".to_owned());
        }
        walks
            .into_iter()
            .map(|walk| self.by_rank(walk.found))
            .collect()
    }

    fn next_page(&mut self, walk: &mut Walk<'_>) {
        if Instant::now() >= self.end {
            return;
        }
        match walk
            .list
            .page(walk.token.as_deref(), "", &self.api.settings)
        {
            Ok(page) => {
                let mime_type = walk.resource.mime_type();
                let entries = page
                    .items
                    .iter()
                    .filter_map(|item| walk.list.entry(item, mime_type));
                walk.found
                    .extend(entries.filter(|entry| self.contains_all(&all_texts(entry))));
                walk.is_done = page.next.is_none();
                walk.token = page.next;
            }
            Err(error) => {
                walk.is_done = true;
                self.miss(format!(
                    "`{}` cannot be searched: {error}",
                    walk.resource.uri.as_str()
                ));
            }
        }
    }

    /// The entries that contain all words. Entries with the words in their names and titles come first.
    fn by_rank(&self, entries: Vec<Entry>) -> Vec<Entry> {
        let matching = entries
            .into_iter()
            .filter(|entry| self.contains_all(&all_texts(entry)));
        let (mut first, others): (Vec<_>, Vec<_>) =
            matching.partition(|entry| self.contains_all(&names(entry)));
        first.extend(others);
        first
    }

    fn contains_all(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        !self.words.is_empty() && self.words.iter().all(|word| text.contains(word))
    }

    fn miss(&mut self, why: String) {
        if self.missing.is_none() {
            warn!("a search is not complete: {why}");
            self.missing = Some(why);
        }
    }
}

impl<'a> Walk<'a> {
    fn new(resource: &'a Resource, list: &'a List) -> Self {
        Self {
            resource,
            list,
            token: None,
            is_done: false,
            found: Vec::new(),
        }
    }
}

fn names(entry: &Entry) -> String {
    format!(
        "{} {}",
        entry.name,
        entry.title.as_deref().unwrap_or_default()
    )
}

fn all_texts(entry: &Entry) -> String {
    format!(
        "{} {} {}",
        names(entry),
        entry.description.as_deref().unwrap_or_default(),
        entry.uri
    )
}

fn hit(entry: Entry) -> Hit {
    let excerpt = entry.description.clone();
    Hit {
        excerpt,
        ..Hit::new(entry)
    }
}

/// Merges ranked lists: the first of each, then the second of each.
fn alternate<T>(lists: Vec<Vec<T>>) -> Vec<T> {
    let longest = lists.iter().map(Vec::len).max().unwrap_or_default();
    let mut lists: Vec<_> = lists.into_iter().map(Vec::into_iter).collect();
    (0..longest)
        .flat_map(|_| {
            lists
                .iter_mut()
                .filter_map(Iterator::next)
                .collect::<Vec<_>>()
        })
        .collect()
}
