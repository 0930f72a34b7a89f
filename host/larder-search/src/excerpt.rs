//! The passage of a text that shows why it was found.

use std::collections::VecDeque;

use crate::query::QueryWords;
use crate::words;

/// Maximum bytes of a passage, and of the text before its first matching word.
const MAX_BYTES: usize = 240;
const CONTEXT_BYTES: usize = 60;

/// Returns the passage with the most different words of the query, in one line. If no word is in the text, returns its
/// beginning.
pub(crate) fn excerpt(text: &str, query: &QueryWords) -> String {
    let start = best_place(text, query).saturating_sub(CONTEXT_BYTES);
    let start = word_start(text, text.floor_char_boundary(start));
    let rest = &text[start..];
    let end = start + rest.floor_char_boundary(MAX_BYTES);
    let passage = text[start..end].split(|c: char| c.is_whitespace() || c.is_control());
    let passage: Vec<_> = passage.filter(|part| !part.is_empty()).collect();
    let before = if start > 0 { "… " } else { "" };
    let after = if end < text.len() { " …" } else { "" };
    format!("{before}{}{after}", passage.join(" "))
}

/// Returns where the best passage begins.
fn best_place(text: &str, query: &QueryWords) -> usize {
    let mut analyzer = words::analyzer();
    let mut best = 0;
    let mut best_count = 0;
    // The matching words in the last bytes, with their positions.
    let mut near: VecDeque<(usize, usize)> = VecDeque::new();
    let mut stream = analyzer.token_stream(text);
    while best_count < query.len() && stream.advance() {
        let token = stream.token();
        let Some(position) = query.position(&token.text) else {
            continue;
        };
        near.push_back((token.offset_from, position));
        while near
            .front()
            .is_some_and(|(from, _)| from + MAX_BYTES - CONTEXT_BYTES < token.offset_to)
        {
            near.pop_front();
        }
        let mut found: Vec<_> = near.iter().map(|(_, position)| position).collect();
        found.sort_unstable();
        found.dedup();
        if let (true, Some((from, _))) = (found.len() > best_count, near.front()) {
            best = *from;
            best_count = found.len();
        }
    }
    best
}

/// Returns the beginning of the word after this position. If there is no word nearby, returns the position itself.
fn word_start(text: &str, at: usize) -> usize {
    if at == 0 {
        return 0;
    }
    let near = text[at..]
        .char_indices()
        .take(20)
        .find(|(_, c)| c.is_whitespace());
    near.map_or(at, |(space, _)| at + space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_best_passage_in_one_line() {
        let of = |text: &str, query: &str| excerpt(text, &QueryWords::of(query).unwrap());
        assert_eq!(of("One\n\ttwo  three", "absent"), "One two three");
        let filler = "lorem ipsum ".repeat(100);
        let text = format!("blue {filler} sky\u{7} {filler} a blue, blue sky over it {filler}");
        let passage = of(&text, "blue sk");
        assert!(passage.contains("a blue, blue sky over it"), "{passage}");
        assert!(
            passage.starts_with("… ") && passage.ends_with(" …") && passage.len() < 260,
            "{passage}"
        );
        for query in ["é", "東", "x"] {
            of(&"é東x".repeat(1_000), query);
        }
    }
}
