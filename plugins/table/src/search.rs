//! Names, patterns and excerpts of a search.

use larder_provider::{Entry, Hit};

/// The entries whose texts contain all words. Entries with the words in their names come first. This needs no access to
/// rows.
pub(crate) fn named(entries: Vec<Entry>, words: &[&str]) -> Vec<Hit> {
    let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let contains_all = |text: &str| words.iter().all(|word| text.to_lowercase().contains(word));
    let text = |entry: &Entry| {
        let more = [&entry.title, &entry.description];
        more.into_iter()
            .flatten()
            .fold(entry.name.clone(), |all, one| all + " " + one)
    };
    let matching = entries
        .into_iter()
        .filter(|entry| contains_all(&text(entry)));
    let (mut by_name, by_text): (Vec<_>, Vec<_>) =
        matching.partition(|entry| contains_all(&entry.name));
    by_name.extend(by_text);
    by_name.into_iter().map(with_description).collect()
}

fn with_description(entry: Entry) -> Hit {
    Hit {
        excerpt: entry.description.clone(),
        ..Hit::new(entry)
    }
}

/// Characters of an excerpt before and after the first word.
const AROUND: usize = 80;

/// The pattern of `LIKE`, with the backslash as escape, for texts that contain a word.
pub fn pattern(word: &str) -> String {
    let mut pattern = String::from("%");
    for c in word.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern + "%"
}

/// The part of a text around a word.
pub(crate) fn excerpt(text: &str, word: &str) -> String {
    let found = text
        .to_lowercase()
        .find(&word.to_lowercase())
        .unwrap_or_default();
    let before = text
        .char_indices()
        .map(|(at, _)| at)
        .filter(|at| at + AROUND >= found)
        .min()
        .unwrap_or_default();
    text[before..].chars().take(2 * AROUND).collect()
}
