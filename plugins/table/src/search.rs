//! Patterns and excerpts of a search with `LIKE`.

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
pub fn excerpt(text: &str, word: &str) -> String {
    let found = text.to_lowercase().find(&word.to_lowercase()).unwrap_or_default();
    let before =
        text.char_indices().map(|(at, _)| at).filter(|at| at + AROUND >= found).min().unwrap_or_default();
    text[before..].chars().take(2 * AROUND).collect()
}
