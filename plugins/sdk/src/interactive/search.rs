//! Search in the content of a provider.

use std::time::Instant;

pub use crate::bindings::search::exports::larder::provider::search_provider::{
    Hit, Hits, SearchQuery,
};
use crate::{Entry, Error, Freshness, Query, Result, time_left};

/// The key in the metadata of the last hit that says why hits are missing.
const INCOMPLETE: &str = "dev.larder.search/incomplete";

impl SearchQuery {
    /// Creates a query for tests.
    pub fn new(text: impl Into<String>, limit: u32) -> Self {
        Self {
            text: text.into(),
            limit,
            uri_prefix: None,
            kind: None,
        }
    }

    /// The time at which to stop, so that the hits are returned in time: if the host has to end a search, it has no
    /// hits. See [`Hits::incomplete`].
    pub fn end(&self) -> Instant {
        Instant::now() + time_left() * 3 / 4
    }

    /// Whether an entry matches the hints of this query.
    pub fn wants(&self, entry: &Entry) -> bool {
        let (uri_prefix, kind) = (self.uri_prefix.clone(), self.kind.clone());
        Query {
            uri_prefix,
            kind,
            ..Query::new(self.limit)
        }
        .wants(entry)
    }

    /// Returns the first hits that match the hints of this query, up to its limit.
    ///
    /// ```
    /// # use larder_provider::{Entry, Hit, SearchQuery};
    /// let hits = ["a", "b", "c"].map(|name| Hit::new(Entry::new(format!("note:{name}"), name)));
    /// let query = SearchQuery::new("text", 2);
    /// assert_eq!(query.take(hits).hits.len(), 2);
    /// ```
    pub fn take(&self, best_first: impl IntoIterator<Item = Hit>) -> Hits {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let wanted = best_first.into_iter().filter(|hit| self.wants(&hit.entry));
        wanted.take(limit).collect::<Vec<_>>().into()
    }
}

impl Hit {
    /// Creates a hit: the entry that matches.
    pub fn new(entry: Entry) -> Self {
        Self {
            entry,
            excerpt: None,
        }
    }

    /// Sets a passage that shows why the entry matches.
    pub fn excerpt(mut self, excerpt: impl Into<String>) -> Self {
        self.excerpt = Some(excerpt.into());
        self
    }
}

impl Hits {
    /// Sets how long these hits may be cached, and for which callers. Without this, the hits are not cached.
    pub fn freshness(mut self, freshness: Freshness) -> Self {
        self.freshness = Some(freshness);
        self
    }

    /// Records that hits are missing, and why, for example because the time was over. If there are no hits, this is the
    /// error [`Error::Unavailable`], because a caller must be able to distinguish this from a complete search without
    /// hits.
    ///
    /// ```
    /// # use larder_provider::{Entry, Error, Hit, Hits};
    /// let found = || vec![Hit::new(Entry::new("note:7", "7"))];
    /// assert_eq!(Hits::from(found()).incomplete("the time is over").map(|hits| hits.hits.len()), Ok(1));
    /// assert!(matches!(Hits::default().incomplete("the time is over"), Err(Error::Unavailable(_))));
    /// ```
    pub fn incomplete(mut self, why: &str) -> Result<Self> {
        let Some(last) = self.hits.last_mut() else {
            return Err(Error::Unavailable(format!(
                "the search is not complete: {why}"
            )));
        };
        let details = last.entry.details.get_or_insert_default();
        details.metadata.push((
            INCOMPLETE.to_owned(),
            serde_json::Value::from(why).to_string(),
        ));
        self.freshness = None;
        Ok(self)
    }
}

impl Default for Hits {
    fn default() -> Self {
        Vec::new().into()
    }
}

/// Hits with the best first.
impl From<Vec<Hit>> for Hits {
    fn from(hits: Vec<Hit>) -> Self {
        Self {
            hits,
            freshness: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Details;

    #[test]
    fn hints_filter_before_the_limit_applies() {
        let kinds = ["even", "odd", "even", "odd"];
        let entry = |(n, kind)| Entry::new(format!("n:{n}"), "").details(Details::kind(kind));
        let check = |query: SearchQuery, expected: &[&str]| {
            let hits = query.take(
                kinds
                    .into_iter()
                    .enumerate()
                    .map(|found| Hit::new(entry(found))),
            );
            let uris: Vec<String> = hits.hits.into_iter().map(|hit| hit.entry.uri).collect();
            assert_eq!(uris, expected, "{query:?}");
        };
        check(SearchQuery::new("", 2), &["n:0", "n:1"]);
        check(
            SearchQuery {
                kind: Some("odd".into()),
                ..SearchQuery::new("", 2)
            },
            &["n:1", "n:3"],
        );
        check(
            SearchQuery {
                uri_prefix: Some("n:3".into()),
                ..SearchQuery::new("", 2)
            },
            &["n:3"],
        );
        check(SearchQuery::new("", 0), &[]);
    }
}
