//! Pages of lists, and completions.

use std::borrow::Borrow;
use std::time::{Duration, Instant};

pub use crate::bindings::completions::exports::larder::provider::completion_provider::Completion;
pub use crate::bindings::exports::larder::provider::resource_provider::{EntryPage, TemplatePage};
use crate::{Entry, Freshness, Query, Template};

/// The maximum number of values in a completion, as specified by MCP.
const MAX_SUGGESTIONS: usize = 100;
/// A page ends when its iterator has taken this long since its first entry. The host gives a list for which a
/// client waits at least half a second.
const MAX_PAGE_TIME: Duration = Duration::from_millis(250);

/// Returns one page of a list that is **sorted by URI**: the entries after the query's cursor that match its
/// hints, up to its limit.
///
/// The cursor is the last URI of the previous page. If the list changes between two pages, entries that are in the list
/// all the time are neither repeated nor lost. Takes entries by value (`paginate(walk(), query)`) or by reference
/// (`paginate(&self.entries, query)`). An iterator is consumed only as far as the page needs it. If the iterator is
/// slow, the page ends early, so that the host does not skip the list because it is too late.
///
/// ```
/// # use larder_provider::{Entry, Query, paginate};
/// let entries = [Entry::new("n:a", "a"), Entry::new("n:b", "b"), Entry::new("n:c", "c")];
/// let mut query = Query::new(2);
/// let page = paginate(&entries, &query);
/// assert_eq!((page.entries.len(), page.next_cursor.as_deref()), (2, Some("n:b")));
///
/// query.cursor = page.next_cursor;
/// let page = paginate(&entries, &query);
/// assert_eq!((page.entries.len(), page.next_cursor), (1, None));
/// ```
pub fn paginate<I>(sorted: I, query: &Query) -> EntryPage
where
    I: IntoIterator,
    I::Item: Borrow<Entry> + Into<Entry>,
{
    paginate_with_clock(sorted, query, Instant::now)
}

/// Returns one page of a long list that is **sorted by URI**, as [`paginate`] does. Each page is a call of its own, and
/// an iterator has to create all entries before the cursor again. So this function calls `entries_after` with the
/// cursor, or `None` for the first page. It returns the entries after this URI, and possibly earlier ones.
///
/// ```
/// # use larder_provider::{Entry, Query, paginate_from};
/// let numbers = |after: Option<&str>| {
///     let first = after.map_or(0, |uri| uri[2..].parse().unwrap_or(0));
///     (first..50_000).map(|n| Entry::new(format!("n:{n:05}"), "a number"))
/// };
/// let mut query = Query::new(2);
/// query.cursor = Some("n:40000".into());
/// let page = paginate_from(numbers, &query);
/// assert_eq!(page.next_cursor.as_deref(), Some("n:40002"));
/// ```
pub fn paginate_from<'q, I>(
    entries_after: impl FnOnce(Option<&'q str>) -> I,
    query: &'q Query,
) -> EntryPage
where
    I: IntoIterator,
    I::Item: Borrow<Entry> + Into<Entry>,
{
    paginate(entries_after(query.cursor.as_deref()), query)
}

fn paginate_with_clock<I>(sorted: I, query: &Query, now: impl Fn() -> Instant) -> EntryPage
where
    I: IntoIterator,
    I::Item: Borrow<Entry> + Into<Entry>,
{
    let cursor = query.cursor.as_deref();
    let limit = usize::try_from(query.limit).unwrap_or(usize::MAX).max(1);
    let is_listed = |entry: &I::Item| {
        let entry: &Entry = entry.borrow();
        cursor.is_none_or(|cursor| entry.uri.as_str() > cursor) && query.wants(entry)
    };
    let mut rest = sorted.into_iter().fuse().filter(is_listed);
    let mut entries: Vec<Entry> = Vec::new();
    let mut first_at = None;
    let mut is_late = || {
        let first_at = *first_at.get_or_insert_with(&now);
        now().duration_since(first_at) > MAX_PAGE_TIME
    };
    for entry in rest.by_ref() {
        entries.push(entry.into());
        if entries.len() == limit || is_late() {
            break;
        }
    }
    let more = rest.next().is_some();
    let next_cursor = entries.last().filter(|_| more).map(|last| last.uri.clone());
    EntryPage {
        entries,
        next_cursor,
        freshness: None,
    }
}

impl EntryPage {
    /// Sets how long this page may be cached, and for which callers. Without this, the page is not cached.
    pub fn freshness(mut self, freshness: Freshness) -> Self {
        self.freshness = Some(freshness);
        self
    }
}

impl Default for EntryPage {
    fn default() -> Self {
        Vec::new().into()
    }
}

/// A complete list as a single page.
impl From<Vec<Entry>> for EntryPage {
    fn from(entries: Vec<Entry>) -> Self {
        Self {
            entries,
            next_cursor: None,
            freshness: None,
        }
    }
}

impl TemplatePage {
    /// Sets how long this page may be cached, and for which callers. Without this, the page is not cached.
    pub fn freshness(mut self, freshness: Freshness) -> Self {
        self.freshness = Some(freshness);
        self
    }
}

impl Default for TemplatePage {
    fn default() -> Self {
        Vec::new().into()
    }
}

/// A complete list as a single page.
impl From<Vec<Template>> for TemplatePage {
    fn from(templates: Vec<Template>) -> Self {
        Self {
            templates,
            next_cursor: None,
            freshness: None,
        }
    }
}

impl Completion {
    /// Returns the candidates that begin with the prefix, truncated to the maximum number of suggestions.
    ///
    /// ```
    /// # use larder_provider::Completion;
    /// let completion = Completion::matching(["red", "green", "rose"], "r");
    /// assert_eq!(completion.values, ["red", "rose"]);
    /// assert_eq!((completion.total, completion.more), (Some(2), false));
    /// ```
    pub fn matching<T: Into<String>>(
        candidates: impl IntoIterator<Item = T>,
        prefix: &str,
    ) -> Self {
        let matches = |value: &String| value.starts_with(prefix);
        let mut values: Vec<String> = candidates
            .into_iter()
            .map(Into::into)
            .filter(matches)
            .collect();
        let total = values.len();
        values.truncate(MAX_SUGGESTIONS);
        Self {
            values,
            total: Some(total as u64),
            more: total > MAX_SUGGESTIONS,
        }
    }
}

#[allow(clippy::derivable_impls, reason = "the type is generated")]
impl Default for Completion {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            total: None,
            more: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::Details;

    fn check(query: Query, expected: &[&str], next: Option<&str>) {
        let kind = |n: usize| if n.is_multiple_of(2) { "even" } else { "odd" };
        let sorted =
            (0..6).map(|n| Entry::new(format!("n:{n}"), "").details(Details::kind(kind(n))));
        let page = paginate(sorted, &query);
        let uris: Vec<&str> = page
            .entries
            .iter()
            .map(|entry| entry.uri.as_str())
            .collect();
        assert_eq!(
            (uris.as_slice(), page.next_cursor.as_deref()),
            (expected, next),
            "{query:?}"
        );
    }

    #[test]
    fn a_page_begins_after_the_cursor() {
        let from = |cursor: &str, limit| Query {
            cursor: Some(cursor.into()),
            ..Query::new(limit)
        };
        check(Query::new(2), &["n:0", "n:1"], Some("n:1"));
        check(from("n:1", 2), &["n:2", "n:3"], Some("n:3"));
        check(from("n:3", 2), &["n:4", "n:5"], None);
        check(from("n:5", 2), &[], None);
        // The entry of the cursor no longer exists: the page begins after its position.
        check(from("n:35", 9), &["n:4", "n:5"], None);
        check(Query::new(0), &["n:0"], Some("n:0"));
    }

    #[test]
    fn hints_filter_before_the_limit_applies() {
        check(
            Query {
                kind: Some("odd".into()),
                ..Query::new(2)
            },
            &["n:1", "n:3"],
            Some("n:3"),
        );
        check(
            Query {
                uri_prefix: Some("n:4".into()),
                ..Query::new(2)
            },
            &["n:4"],
            None,
        );
        check(
            Query {
                uri_prefix: Some("m:".into()),
                ..Query::new(2)
            },
            &[],
            None,
        );
    }

    #[test]
    fn a_page_ends_early_if_its_entries_are_slow() {
        let entry = |n: usize| Entry::new(format!("n:{n}"), "");
        let now = Cell::new(Instant::now());
        let slow = (0..6).map(|n| {
            // The time before the first entry is the same for each page, so it does not count.
            let duration = if n == 0 {
                MAX_PAGE_TIME
            } else {
                MAX_PAGE_TIME * 2 / 3
            };
            now.set(now.get() + duration);
            entry(n)
        });
        let page = paginate_with_clock(slow, &Query::new(9), || now.get());
        assert_eq!(
            (page.entries.len(), page.next_cursor.as_deref()),
            (3, Some("n:2"))
        );
        let rest = Query {
            cursor: page.next_cursor,
            ..Query::new(9)
        };
        assert_eq!(paginate((0..6).map(entry), &rest).entries.len(), 3);
    }

    #[test]
    fn a_completion_has_at_most_a_hundred_values() {
        let completion = Completion::matching((0..150).map(|n| n.to_string()), "");
        assert_eq!(
            (completion.values.len(), completion.total, completion.more),
            (100, Some(150), true)
        );
    }
}
