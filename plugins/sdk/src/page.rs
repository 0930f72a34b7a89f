//! Parts of lists: pages with cursors, and suggestions.

use std::borrow::Borrow;

pub use crate::bindings::completions::exports::larder::provider::completion_provider::Completion;
pub use crate::bindings::exports::larder::provider::resource_provider::{EntryPage, TemplatePage};
use crate::{Entry, Freshness, Query, Template};

/// As many suggestions as MCP lets an answer have.
const SUGGESTIONS: usize = 100;

/// One page of a list that is **sorted by URI**: what follows the query's cursor, at most as many
/// as it asks for, filtered by its hints.
///
/// The cursor is the last URI of the page before, so a list that grows or shrinks between two pages
/// neither repeats nor loses what was there throughout. Takes entries (`paginate(walk(), query)`) or borrows
/// them (`paginate(&self.entries, query)`); an iterator is asked for no more than the page needs.
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
    let cursor = query.cursor.as_deref();
    let limit = usize::try_from(query.limit).unwrap_or(usize::MAX).max(1);
    let mut rest = sorted.into_iter().filter(|entry| {
        let entry: &Entry = entry.borrow();
        cursor.is_none_or(|cursor| entry.uri.as_str() > cursor) && query.wants(entry)
    });
    let entries: Vec<Entry> = rest.by_ref().take(limit).map(Into::into).collect();
    let more = entries.len() == limit && rest.next().is_some();
    let next_cursor = entries.last().filter(|_| more).map(|last| last.uri.clone());
    EntryPage { entries, next_cursor, freshness: None }
}

impl EntryPage {
    /// How long this page may be reused, and by whom. Unless said, not at all.
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

/// The only page, and so the whole list.
impl From<Vec<Entry>> for EntryPage {
    fn from(entries: Vec<Entry>) -> Self {
        Self { entries, next_cursor: None, freshness: None }
    }
}

impl TemplatePage {
    /// How long this page may be reused, and by whom. Unless said, not at all.
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

/// The only page, and so the whole list.
impl From<Vec<Template>> for TemplatePage {
    fn from(templates: Vec<Template>) -> Self {
        Self { templates, next_cursor: None, freshness: None }
    }
}

impl Completion {
    /// Those of the candidates that begin with what has been typed, as many as an answer may have.
    ///
    /// ```
    /// # use larder_provider::Completion;
    /// let completion = Completion::matching(["red", "green", "rose"], "r");
    /// assert_eq!(completion.values, ["red", "rose"]);
    /// assert_eq!((completion.total, completion.more), (Some(2), false));
    /// ```
    pub fn matching<T: Into<String>>(candidates: impl IntoIterator<Item = T>, prefix: &str) -> Self {
        let begins = |value: &String| value.starts_with(prefix);
        let mut values: Vec<String> = candidates.into_iter().map(Into::into).filter(begins).collect();
        let total = values.len();
        values.truncate(SUGGESTIONS);
        Self { values, total: Some(total as u64), more: total > SUGGESTIONS }
    }
}

#[allow(clippy::derivable_impls, reason = "the type is generated")]
impl Default for Completion {
    fn default() -> Self {
        Self { values: Vec::new(), total: None, more: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Details;

    fn check(query: Query, expected: &[&str], next: Option<&str>) {
        let kind = |n: usize| if n.is_multiple_of(2) { "even" } else { "odd" };
        let sorted = (0..6).map(|n| Entry::new(format!("n:{n}"), "").details(Details::kind(kind(n))));
        let page = paginate(sorted, &query);
        let uris: Vec<&str> = page.entries.iter().map(|entry| entry.uri.as_str()).collect();
        assert_eq!((uris.as_slice(), page.next_cursor.as_deref()), (expected, next), "{query:?}");
    }

    #[test]
    fn a_page_holds_what_follows_its_cursor() {
        let from = |cursor: &str, limit| Query { cursor: Some(cursor.into()), ..Query::new(limit) };
        check(Query::new(2), &["n:0", "n:1"], Some("n:1"));
        check(from("n:1", 2), &["n:2", "n:3"], Some("n:3"));
        check(from("n:3", 2), &["n:4", "n:5"], None);
        check(from("n:5", 2), &[], None);
        // Its entry is gone by now: the walk goes on behind where it was.
        check(from("n:35", 9), &["n:4", "n:5"], None);
        check(Query::new(0), &["n:0"], Some("n:0"));
    }

    #[test]
    fn hints_filter_before_the_page_is_cut() {
        check(Query { kind: Some("odd".into()), ..Query::new(2) }, &["n:1", "n:3"], Some("n:3"));
        check(Query { uri_prefix: Some("n:4".into()), ..Query::new(2) }, &["n:4"], None);
        check(Query { uri_prefix: Some("m:".into()), ..Query::new(2) }, &[], None);
    }

    #[test]
    fn an_answer_has_no_more_than_a_hundred_suggestions() {
        let completion = Completion::matching((0..150).map(|n| n.to_string()), "");
        assert_eq!((completion.values.len(), completion.total, completion.more), (100, Some(150), true));
    }
}
