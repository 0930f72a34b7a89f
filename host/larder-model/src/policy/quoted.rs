//! Text in the lines that operators approve.

/// Quotes text with special characters, so that no line can be mistaken for another.
pub(super) fn quoted(text: &str) -> String {
    let is_plain =
        |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | '@' | ':');
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("{text:?}")
    }
}
