//! Weights of entries by the words of a query: first by how many of the words they contain, then by the sum of the
//! weights of the places where each word occurs. A whole word of the name or the title has weight 4, a part of such a
//! word 3, the URI 2, the description 1. Of two entries with the same weight, the entry that is first in the list comes
//! first.

use larder_model::resource::Entry;

/// Maximum number of words of a query. Further words are ignored.
const MAX_WORDS: usize = 16;

/// The weight of an entry: the number of words that it contains, and the sum of their weights.
pub(super) type Weight = (usize, u32);

/// The words of a query, and buffers for the texts that are compared with them.
#[derive(Default)]
pub(super) struct Words {
    words: Vec<String>,
    name: String,
    title: String,
    uri: String,
    description: String,
}

impl Words {
    pub(super) fn new(text: &str) -> Self {
        let lower = text.to_lowercase();
        let mut words: Vec<String> = split(&lower).map(str::to_owned).collect();
        if words.is_empty() {
            // The text has no words, only signs, such as `++`.
            words.push(lower.trim().to_owned());
        }
        words.sort();
        words.dedup();
        words.truncate(MAX_WORDS);
        Self {
            words,
            ..Self::default()
        }
    }

    /// Returns the weight of an entry; none if the entry contains none of the words.
    pub(super) fn weight(&mut self, entry: &Entry) -> Option<Weight> {
        lower_into(&mut self.name, &entry.name);
        lower_into(&mut self.title, entry.title.as_deref().unwrap_or_default());
        lower_into(&mut self.uri, entry.uri.as_str());
        lower_into(
            &mut self.description,
            entry.description.as_deref().unwrap_or_default(),
        );
        let weights = self
            .words
            .iter()
            .map(|word| self.weight_of(word))
            .filter(|weight| *weight > 0);
        let (count, sum) = weights.fold((0, 0), |(count, sum), weight| (count + 1, sum + weight));
        (count > 0).then_some((count, sum))
    }

    fn weight_of(&self, word: &str) -> u32 {
        let is_in = |text: &str| text.contains(word);
        let is_whole = |text: &str| is_in(text) && split(text).any(|one| one == word);
        match word {
            _ if is_whole(&self.name) || is_whole(&self.title) => 4,
            _ if is_in(&self.name) || is_in(&self.title) => 3,
            _ if is_in(&self.uri) => 2,
            _ if is_in(&self.description) => 1,
            _ => 0,
        }
    }
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

/// Writes a text in lower case into a buffer, which is used again.
fn lower_into(buffer: &mut String, text: &str) {
    buffer.clear();
    if text.is_ascii() {
        buffer.push_str(text);
        buffer.make_ascii_lowercase();
    } else {
        buffer.extend(text.chars().flat_map(char::to_lowercase));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_model::resource::{Details, RenderCache};
    use larder_model::uri::Uri;

    fn entry(uri: &str, name: &str, title: &str, description: &str) -> Entry {
        Entry {
            uri: Uri::parse(uri).unwrap(),
            name: name.into(),
            title: Some(title.into()),
            description: Some(description.into()),
            mime_type: None,
            size: None,
            version: None,
            details: Details::default(),
            rendered: RenderCache::default(),
        }
    }

    #[test]
    fn weights_depend_on_the_place() {
        let weight = |text: &str| {
            Words::new(text).weight(&entry("x:deploy/guide", "rust.md", "Größe", "of a"))
        };
        for (text, expected) in [
            ("rust", Some((1, 4))),
            ("GRÖSSE größe", Some((1, 4))),
            ("rus", Some((1, 3))),
            ("guide", Some((1, 2))),
            ("of", Some((1, 1))),
            ("rust guide of nothing", Some((3, 7))),
            ("nothing", None),
            ("rust rust Rust", Some((1, 4))),
            ("/", Some((1, 2))),
        ] {
            assert_eq!(weight(text), expected, "{text}");
        }
        assert_eq!(Words::new(&"a b c ".repeat(1_000)).words.len(), 3);
    }
}
