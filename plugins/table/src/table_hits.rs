//! The hits of a search in the tables of a database so far. A search has little time, so it begins with the parts that
//! cost the least, and returns the hits so far when the time is over.

use std::collections::HashSet;

use larder_provider::{Details, Entry, Hit, Hits, Result, SearchQuery, warn};

use crate::address::is_addressable;
use crate::{excerpt, named};

/// Maximum number of words of a search; further words are ignored.
const MAX_WORDS: usize = 8;
/// Why hits are missing if the time was over.
pub const TIME_IS_OVER: &str = "the time was over before all rows were read";

/// The hits in tables. Each row is contained once, and rows that were added first are the best.
pub struct TableHits<'a> {
    words: Vec<&'a str>,
    hits: Vec<Hit>,
    uris: HashSet<String>,
    /// Why hits are missing.
    missing: Option<String>,
}

impl<'a> TableHits<'a> {
    /// Starts a search with the entries whose texts contain all words.
    pub fn new(words: Vec<&'a str>, entries: Vec<Entry>) -> Self {
        Self {
            hits: named(entries, &words),
            words,
            uris: HashSet::new(),
            missing: None,
        }
    }

    /// The words that are searched for.
    pub fn words(&self) -> &[&'a str] {
        &self.words
    }

    /// Whether there are no hits.
    pub fn is_empty(&self) -> bool {
        self.hits.is_empty()
    }

    /// Adds rows that were not found before.
    pub fn add(&mut self, hits: Vec<Hit>) {
        let new = hits
            .into_iter()
            .filter(|hit| self.uris.insert(hit.entry.uri.clone()));
        self.hits.extend(new);
    }

    /// Adds the rows of several tables. Rows of the tables with the fewest hits come first, because these are the most
    /// specific.
    pub fn add_tables(&mut self, mut tables: Vec<Vec<Hit>>) {
        tables.sort_by_key(Vec::len);
        for hits in tables {
            self.add(hits);
        }
    }

    /// A row with this key and this text. `None` if the row has no address.
    pub fn row(
        &self,
        table: &str,
        key: &str,
        text: &str,
        uri: impl FnOnce() -> String,
    ) -> Option<Hit> {
        if !is_addressable(key) {
            return None;
        }
        let entry = Entry::new(uri(), format!("{table} {key}"));
        let entry = entry.mime("application/json").details(Details::kind("row"));
        Some(Hit::new(entry).excerpt(excerpt(text, self.words.first().unwrap_or(&""))))
    }

    /// Notes that hits are missing. The first reason is kept.
    pub fn miss(&mut self, why: String) {
        if self.missing.is_none() {
            warn!("a search is not complete: {why}");
            self.missing = Some(why);
        }
    }

    /// Notes that a table cannot be searched.
    pub fn miss_table(&mut self, table: &str, why: &impl std::fmt::Display) {
        self.miss(format!("the table `{table}` cannot be searched: {why}"));
    }

    /// The hits that match the hints of the query.
    pub fn hits(self, query: &SearchQuery) -> Result<Hits> {
        let hits = query.take(self.hits);
        match self.missing {
            Some(why) => hits.incomplete(&why),
            None => Ok(hits),
        }
    }
}

/// The words of a query.
pub fn words(query: &SearchQuery) -> Vec<&str> {
    query.text.split_whitespace().take(MAX_WORDS).collect()
}
