//! Names that providers choose.

use crate::provider::omissions::Omissions;

/// Maximum length of a key, or of the name of an argument or a setting.
const MAX_WORD: usize = 64;
/// Maximum number of characters of an invalid name in a message.
const MAX_QUOTED: usize = 80;

/// The texts that [`is_word`] accepts, for messages.
pub(super) const WORD_RULE: &str = "1 to 64 letters, digits, `.`, `_` or `-`";

/// Whether a text can be a key, or the name of an argument or a setting.
pub(super) fn is_word(text: &str) -> bool {
    (1..=MAX_WORD).contains(&text.len())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

/// Returns a text of a provider in a form for messages: without secrets, escaped and bounded.
pub(super) fn quoted(text: &str, omissions: &Omissions<'_>) -> String {
    // The text is not cut within a secret, because a part of a secret would not be recognized.
    let text: String = omissions.clean(text).chars().take(MAX_QUOTED).collect();
    format!("{text:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_short_and_plain() {
        for good in ["a", "api.url", "A_1-", "-", &"x".repeat(MAX_WORD)] {
            assert!(is_word(good), "{good}");
        }
        for bad in ["", "a b", "a\n", "ü", "a/b", &"x".repeat(MAX_WORD + 1)] {
            assert!(!is_word(bad), "{bad:?}");
        }
    }
}
