//! Converts a text that a user typed into a query. Every text is a valid query: no character in it is an operator.

use tantivy::Term;
use tantivy::query::{BooleanQuery, BoostQuery, FuzzyTermQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};

use crate::schema::Fields;
use crate::words::{self, is_unspaced};

/// Maximum bytes of a text that are examined, and maximum number of words that are searched for. The rest is ignored.
const MAX_BYTES: usize = 4 << 10;
const MAX_WORDS: usize = 48;
/// A word in a title counts this many times as much as a word in a text.
const TITLE_BOOST: f32 = 2.0;
/// The score of a word that only begins with the last word of the query, compared with a whole word in a text.
const PREFIX_BOOST: f32 = 0.3;

/// The words of a query.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct QueryWords {
    words: Vec<String>,
    /// Whether the last word may be the beginning of a longer word.
    is_open: bool,
}

impl QueryWords {
    /// Returns `None` if the text contains no word.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let text = &text[..text.floor_char_boundary(MAX_BYTES)];
        let mut analyzer = words::analyzer();
        let mut words = Vec::new();
        let mut stream = analyzer.token_stream(text);
        while words.len() < MAX_WORDS && stream.advance() {
            words.push(stream.token().text.clone());
        }
        let last = words.last().cloned()?;
        // A single letter begins most words of an index.
        let is_long = last.chars().nth(1).is_some() || last.chars().all(is_unspaced);
        let is_open = is_long && words.len() < MAX_WORDS && words::ends_in_word(text);
        let mut seen = std::collections::HashSet::new();
        let mut words: Vec<_> = words
            .into_iter()
            .filter(|word| seen.insert(word.clone()))
            .collect();
        // The last word stays last, also if it occurred before.
        words.retain(|word| *word != last);
        words.push(last);
        Some(Self { words, is_open })
    }

    /// The number of words.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns the position of the query word that this word of a text matches.
    pub(crate) fn position(&self, word: &str) -> Option<usize> {
        let exact = self.words.iter().position(|own| own == word);
        exact.or_else(|| self.begins_with_last(word).then(|| self.len() - 1))
    }

    /// Whether the last word of the query may be the beginning of this word, and is.
    fn begins_with_last(&self, word: &str) -> bool {
        let last = self.words.last().filter(|_| self.is_open);
        last.is_some_and(|last| word.starts_with(last.as_str()))
    }

    /// Returns the query for documents that contain one of the words. Documents with more and rarer words come first.
    pub(crate) fn query(&self, fields: &Fields) -> Box<dyn Query> {
        let exact = self.words.iter().flat_map(|word| {
            [
                exact(fields.text, word),
                Box::new(BoostQuery::new(exact(fields.title, word), TITLE_BOOST)),
            ]
        });
        let last = self.words.last().filter(|_| self.is_open);
        let open = last.into_iter().flat_map(|word| {
            [
                (fields.text, PREFIX_BOOST),
                (fields.title, PREFIX_BOOST * TITLE_BOOST),
            ]
            .map(|(field, boost)| {
                let query = FuzzyTermQuery::new_prefix(Term::from_field_text(field, word), 0, true);
                Box::new(BoostQuery::new(Box::new(query), boost)) as Box<dyn Query>
            })
        });
        Box::new(BooleanQuery::union(exact.chain(open).collect()))
    }
}

fn exact(field: Field, word: &str) -> Box<dyn Query> {
    Box::new(TermQuery::new(
        Term::from_field_text(field, word),
        IndexRecordOption::WithFreqs,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_may_be_continued() {
        let of =
            |text: &str| QueryWords::of(text).map(|query| (query.words.join(" "), query.is_open));
        let query = |words: &str, is_open| Some((words.to_owned(), is_open));
        assert_eq!(of("Tree trunks"), query("tree trunks", true));
        assert_eq!(of("the tree the "), query("tree the", false));
        assert_eq!(of("a"), query("a", false));
        assert_eq!(of("京"), query("京", true));
        assert_eq!(of("\"AND (* -:"), query("and", false));
        assert_eq!(of("?! \u{0}"), None);
        assert_eq!(of(&"x".repeat(10_000)), None);
    }
}
