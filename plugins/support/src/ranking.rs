//! Ranked search: BM25 over the words of all texts. Words in the path, in tags and in headings of Markdown count more.

use std::cmp::Reverse;
use std::collections::HashMap;

/// How much the frequency of a word and the length of a text count, as is usual.
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// How many occurrences in the text one in a heading, tag or path is worth.
const HEADING: f64 = 4.0;
/// The weight of a word that only begins with the searched word.
const PREFIX: f64 = 0.4;
/// Shorter words are not compared as prefixes.
const MIN_PREFIX: usize = 3;
const MAX_TERMS: usize = 16;
/// The number of characters of an excerpt, and of the characters before the first found word.
const EXCERPT: usize = 240;
const BEFORE: usize = 60;

/// The words of a query, and the counts of these words.
pub struct Ranking {
    terms: Vec<String>,
    /// The texts with at least one word.
    found: Vec<Counts>,
    /// The number of all texts, and of all their words.
    count: f64,
    length: f64,
}

/// An item with a name, and possibly with a text.
pub struct Item {
    /// The path or name of the item.
    pub name: String,
    /// The group of the item, such as its folder.
    pub group: usize,
}

/// The result of reading an item.
pub enum Text {
    /// Its text.
    Some(String),
    /// The item has no text.
    None,
    /// No more texts may be read, for example because the time is over.
    Over,
}

/// The counts in one text.
struct Counts {
    number: usize,
    length: f64,
    /// The weighted number of occurrences of each term.
    frequencies: Vec<f64>,
}

impl Ranking {
    /// Starts a search for the words of a text.
    pub fn new(query: &str) -> Self {
        let mut terms: Vec<String> = Vec::new();
        for term in words(query).map(|(_, word)| word.to_lowercase()) {
            if !terms.contains(&term) && terms.len() < MAX_TERMS {
                terms.push(term);
            }
        }
        Self {
            terms,
            found: Vec::new(),
            count: 0.0,
            length: 0.0,
        }
    }

    /// Whether the query has no words, so that nothing can be found.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Counts the words of items: first of those whose names contain any of the words. Then the groups take turns with
    /// one item each, so that a large group does not use up the time of the other groups. Returns whether all texts
    /// were read.
    pub fn add_all(&mut self, items: &[Item], mut read: impl FnMut(usize) -> Text) -> bool {
        let mut is_over = false;
        for (is_other, _, number) in self.order(items) {
            let text = if is_over { Text::Over } else { read(number) };
            is_over = matches!(text, Text::Over);
            if is_over && is_other {
                break;
            }
            let text = match text {
                Text::Some(text) => text,
                Text::None | Text::Over => String::new(),
            };
            self.add(number, &items[number].name, &text);
        }
        !is_over
    }

    /// The order in which items are read: whether their names contain no word, their turns in their groups, and their
    /// numbers.
    fn order(&self, items: &[Item]) -> Vec<(bool, usize, usize)> {
        let mut turns: HashMap<usize, usize> = HashMap::new();
        let mut order: Vec<_> = Vec::with_capacity(items.len());
        for (number, item) in items.iter().enumerate() {
            let turn = turns.entry(item.group).or_default();
            *turn += 1;
            order.push((!self.occurs_in(&item.name), *turn, number));
        }
        order.sort_unstable();
        order
    }

    fn occurs_in(&self, line: &str) -> bool {
        let mut frequencies = vec![0.0; self.terms.len()];
        words(line).for_each(|(_, word)| self.count(word, 1.0, &mut frequencies));
        frequencies.iter().any(|frequency| *frequency > 0.0)
    }

    /// Counts the words of a text. Returns whether the text contains one of the searched words.
    pub fn add(&mut self, number: usize, path: &str, text: &str) -> bool {
        let mut counts = Counts {
            number,
            length: 0.0,
            frequencies: vec![0.0; self.terms.len()],
        };
        let lines = text
            .lines()
            .map(|line| (line, if is_heading(line) { HEADING } else { 1.0 }));
        for (line, weight) in lines.chain([(path, HEADING)]) {
            for (_, word) in words(line) {
                counts.length += 1.0;
                self.count(word, weight, &mut counts.frequencies);
            }
        }
        (self.count, self.length) = (self.count + 1.0, self.length + counts.length);
        let is_found = counts.frequencies.iter().any(|frequency| *frequency > 0.0);
        if is_found {
            self.found.push(counts);
        }
        is_found
    }

    fn count(&self, word: &str, weight: f64, frequencies: &mut [f64]) {
        let lower;
        let word = if word
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        {
            word
        } else {
            lower = word.to_lowercase();
            &lower
        };
        for (term, frequency) in self.terms.iter().zip(frequencies) {
            if word == term {
                *frequency += weight;
            } else if term.len() >= MIN_PREFIX && word.starts_with(term.as_str()) {
                *frequency += weight * PREFIX;
            }
        }
    }

    /// The numbers of the texts that contain at least one word, the best first.
    pub fn best(&self) -> Vec<usize> {
        self.best_by(|number| number)
    }

    /// Like [`Self::best`]. If several texts are equally good, the text with the least key is first.
    pub fn best_by<K: Ord>(&self, key: impl Fn(usize) -> K) -> Vec<usize> {
        let average = self.length / self.count.max(1.0);
        let rarities = (0..self.terms.len()).map(|term| {
            let with = self
                .found
                .iter()
                .filter(|counts| counts.frequencies[term] > 0.0)
                .count() as f64;
            (1.0 + (self.count - with + 0.5) / (with + 0.5)).ln()
        });
        let rarities: Vec<f64> = rarities.collect();
        let score = |counts: &Counts| (counts.score(&rarities, average.max(1.0)), counts.number);
        let mut scores: Vec<(f64, usize)> = self.found.iter().map(score).collect();
        // The bits of numbers that are not negative have the same order as the numbers.
        scores.sort_by_cached_key(|(score, number)| (Reverse(score.to_bits()), key(*number)));
        scores.into_iter().map(|(_, number)| number).collect()
    }

    /// The passage around the first line that has the most words of the query.
    pub fn excerpt(&self, text: &str) -> Option<String> {
        let found = |line: &str| {
            let mut frequencies = vec![0.0; self.terms.len()];
            words(line).for_each(|(_, word)| self.count(word, 1.0, &mut frequencies));
            frequencies
                .iter()
                .filter(|frequency| **frequency > 0.0)
                .count()
        };
        let counted = text
            .lines()
            .map(|line| (found(line), line))
            .filter(|(count, _)| *count > 0);
        // `max_by_key` returns the last of several.
        let (_, line) = counted.reduce(|best, line| if line.0 > best.0 { line } else { best })?;
        let mut single = vec![0.0; self.terms.len()];
        let at = words(line).find(|(_, word)| {
            self.count(word, 1.0, &mut single);
            single.iter().any(|frequency| *frequency > 0.0)
        });
        let before = line[..at.map_or(0, |(at, _)| at)]
            .chars()
            .rev()
            .take(BEFORE)
            .map(char::len_utf8)
            .sum::<usize>();
        let start = at.map_or(0, |(at, _)| at) - before;
        Some(line[start..].trim().chars().take(EXCERPT).collect())
    }
}

impl Counts {
    fn score(&self, rarities: &[f64], average: f64) -> f64 {
        let scores = self
            .frequencies
            .iter()
            .zip(rarities)
            .map(|(frequency, rarity)| {
                rarity * frequency * (K1 + 1.0)
                    / (frequency + K1 * (1.0 - B + B * self.length / average))
            });
        scores.sum()
    }
}

/// The words of a text with their positions.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let parts = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    parts.map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

fn is_heading(line: &str) -> bool {
    line.starts_with('#') || line.starts_with("title:") || line.starts_with("tags:")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(query: &str, texts: &[&str]) -> Vec<usize> {
        let mut ranking = Ranking::new(query);
        for (at, text) in texts.iter().enumerate() {
            ranking.add(at, "", text);
        }
        ranking.best()
    }

    #[test]
    fn the_best_text_is_first() {
        let notes = [
            "apples and pears",
            "# Apples\nall about apples",
            "pears",
            "the Configuration of apples",
        ];
        assert_eq!(rank("apples", &notes)[0], 1);
        assert_eq!(rank("apples", &notes).len(), 3);
        assert_eq!(rank("apples pears", &notes)[0], 0);
        assert_eq!(rank("CONFIG", &notes), [3]);
        assert_eq!(rank("none", &notes), [0; 0]);
        assert_eq!(rank("?!", &notes), [0; 0]);
    }

    #[test]
    fn words_in_the_path_count() {
        let mut ranking = Ranking::new("garden");
        assert!(ranking.add(0, "x", "the garden, and the garden"));
        assert!(ranking.add(1, "garden/plan", "roses"));
        assert!(!ranking.add(2, "plan", "roses"));
        assert_eq!(ranking.best(), [1, 0]);
        assert!(!ranking.is_empty() && Ranking::new("?!").is_empty());
    }

    #[test]
    fn groups_take_turns() {
        let item = |name: &str, group| Item {
            name: name.to_owned(),
            group,
        };
        let mut items: Vec<Item> = (0..100)
            .map(|number| item(&number.to_string(), 0))
            .collect();
        items.extend([item("x", 1), item("y", 2), item("roses", 0)]);
        let check = |most: usize, expected: &[usize], is_expected_complete: bool| {
            let (mut ranking, mut read) = (Ranking::new("roses"), 0);
            let is_complete = ranking.add_all(&items, |number| {
                read += 1;
                match number {
                    _ if read > most => Text::Over,
                    101 => Text::Some("roses".to_owned()),
                    _ => Text::None,
                }
            });
            assert_eq!(
                (ranking.best(), is_complete),
                (expected.to_vec(), is_expected_complete),
                "{most}"
            );
        };
        check(0, &[102], false);
        check(3, &[102], false);
        check(4, &[102, 101], false);
        check(103, &[102, 101], true);
    }

    #[test]
    fn an_excerpt_shows_the_words() {
        let ranking = Ranking::new("roses red");
        let text = "roses\nviolets are blue\nred \u{fc} roses\n";
        assert_eq!(ranking.excerpt(text).as_deref(), Some("red \u{fc} roses"));
        let long = "\u{fc}".repeat(500) + " roses " + &"x ".repeat(500);
        let excerpt = ranking.excerpt(&long).unwrap();
        assert!(
            excerpt.contains("roses") && excerpt.chars().count() <= EXCERPT,
            "{excerpt}"
        );
        assert_eq!(ranking.excerpt("nothing"), None);
    }
}
