//! Search in everything that a caller may read. Three kinds of sources are ranked separately and then merged by rank:
//! providers that can search, the full-text indexes of the teams, and the lists of all other providers.

mod calls;
mod candidate;
mod index;
mod merge;
mod ranking;
mod turn;
mod weight;

use std::sync::Arc;

use self::calls::SearchCalls;
use self::ranking::{MergedRanking, Ranking};
use super::audit_record::written;
use super::cursor::{Cursor, ListKind, Position};
use super::filter::CompiledFilter;
use super::{Error, Filter, Gateway, MAX_PAGE_BYTES};
use larder_model::resource::{Call, Entry};
use larder_model::search::SearchQuery;
use larder_model::size;

/// Maximum number of results of a search on all pages together, and of results from one source.
const MAX_RESULTS: u32 = 100;
/// Maximum size in bytes of the text to search for, and of each condition.
const MAX_TEXT: usize = 1 << 10;

/// A page of the results of a search.
#[derive(Debug)]
pub struct SearchPage {
    /// The results, best first.
    pub results: Vec<SearchHit>,
    /// The cursor of the next page; none at the end.
    pub next: Option<String>,
    /// The results that are missing: the providers that did not answer, or did not answer in time.
    pub incomplete: Vec<String>,
}

/// A resource that a search found.
#[derive(Debug, Clone)]
pub struct SearchHit {
    /// The entry of the resource.
    pub entry: Arc<Entry>,
    /// A passage that shows why the resource was found.
    pub excerpt: Option<String>,
}

impl Gateway {
    /// Searches in everything that the caller may read. Returns at most `query.limit` results, beginning at the cursor.
    pub async fn search(
        &self,
        call: &Arc<Call>,
        query: &SearchQuery,
        cursor: Option<&str>,
    ) -> Result<SearchPage, Error> {
        let record = self.begin_record("search", call, None).await?;
        let result = Box::pin(self.search_page(call, query, cursor)).await;
        written(record.end_with_items(&result, |page| page.results.len())).await?;
        result
    }

    async fn search_page(
        &self,
        call: &Arc<Call>,
        query: &SearchQuery,
        cursor: Option<&str>,
    ) -> Result<SearchPage, Error> {
        check(query)?;
        let start = cursor.map_or(Ok(0), |text| decode_cursor(text, query))?;
        let view = Arc::new(self.view(call));
        Self::refresh_stale_lists(&view);
        // All pages of a search are cut from the same ranking, so the ranking does not depend on the size of the page.
        let whole = SearchQuery {
            limit: MAX_RESULTS,
            ..query.clone()
        };
        let time = self.state.load().config.search_timeout;
        let calls = SearchCalls::new(call, &whole, self.memory(), time);
        let of_indexes = self.search_indexes(&view, &query.text, time);
        let (answers, matches) = tokio::join!(calls.run(&view), of_indexes);
        let filter = CompiledFilter::new(Filter {
            text: None,
            ..filter_of(query)
        });
        let ranking = Ranking::new(view, &query.text, filter, answers);
        let ranking = self.rank(ranking, matches, time).await;
        let merge = move || ranking.merge();
        let merged = self.low_priority_threads.run(merge).await;
        Ok(page(merged, start, query))
    }
}

/// Rejects a query that cannot be answered.
fn check(query: &SearchQuery) -> Result<(), Error> {
    let SearchQuery {
        text,
        uri_prefix,
        kind,
        ..
    } = query;
    let invalid = |message: String| Err(Error::InvalidArguments { message });
    if text.trim().is_empty() {
        return invalid("the text to search for is empty: give some words".into());
    }
    let conditions = [uri_prefix.as_ref(), kind.as_ref(), Some(text)];
    let mut texts = conditions.into_iter().flatten();
    if texts.any(|text| text.len() > MAX_TEXT) {
        let max = size::show(MAX_TEXT as u64);
        return invalid(format!(
            "the text to search for, a prefix or a kind has more than {max}"
        ));
    }
    Ok(())
}

/// Returns as many results from this position on as fit into a page. Charges the results to their providers.
fn page(merged: MergedRanking, start: usize, query: &SearchQuery) -> SearchPage {
    let size = query.limit.clamp(1, MAX_RESULTS) as usize;
    let total = merged.candidates.len().min(MAX_RESULTS as usize);
    let mut results = Vec::new();
    let mut bytes = 0;
    for candidate in merged
        .candidates
        .into_iter()
        .take(total)
        .skip(start)
        .take(size)
    {
        let more = candidate.wire_size();
        // The first result always fits, so that each page makes progress.
        if !results.is_empty() && bytes + more > MAX_PAGE_BYTES {
            break;
        }
        bytes += more;
        candidate.offer.provider.charge_bytes(more);
        results.push(SearchHit {
            entry: candidate.entry,
            excerpt: candidate.excerpt,
        });
    }
    let end = start + results.len();
    let next = (end < total && !results.is_empty()).then(|| encode_cursor(end, query));
    SearchPage {
        results,
        next,
        incomplete: merged.incomplete,
    }
}

/// The conditions of a query, which its cursors contain.
fn filter_of(query: &SearchQuery) -> Filter {
    let SearchQuery {
        text,
        uri_prefix,
        kind,
        limit: _,
    } = query.clone();
    Filter {
        text: Some(text),
        uri_prefix,
        kind,
        ..Filter::default()
    }
}

fn encode_cursor(end: usize, query: &SearchQuery) -> String {
    Cursor::after(ListKind::Search, filter_of(query), end.to_string()).encode()
}

/// Returns the number of results before the page.
fn decode_cursor(text: &str, query: &SearchQuery) -> Result<usize, Error> {
    let cursor = Cursor::decode_for(text, ListKind::Search, &filter_of(query))?;
    match cursor.position {
        Position::After(end) => end.parse().map_err(|_| Error::BadCursor),
        _ => Err(Error::BadCursor),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_belongs_to_its_query() {
        let query = SearchQuery {
            text: "a".into(),
            ..SearchQuery::default()
        };
        let cursor = encode_cursor(20, &query);
        assert_eq!(decode_cursor(&cursor, &query), Ok(20));
        assert_eq!(
            decode_cursor(
                &cursor,
                &SearchQuery {
                    limit: 5,
                    ..query.clone()
                }
            ),
            Ok(20)
        );
        let other = SearchQuery {
            text: "b".into(),
            ..query.clone()
        };
        assert_eq!(decode_cursor(&cursor, &other), Err(Error::FilterMismatch));
        assert_eq!(decode_cursor("x", &query), Err(Error::BadCursor));
    }

    #[test]
    fn rejects_queries_that_are_empty_or_too_long() {
        let query = |text: &str| SearchQuery {
            text: text.into(),
            ..SearchQuery::default()
        };
        assert!(check(&query("a")).is_ok());
        assert!(
            check(&query(" \n"))
                .unwrap_err()
                .to_string()
                .contains("is empty")
        );
        assert!(
            check(&query(&"x".repeat(1_025)))
                .unwrap_err()
                .to_string()
                .contains("more than 1 KiB")
        );
    }
}
