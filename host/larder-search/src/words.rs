//! Splits text into words, for all languages. Stored texts and queries are split in the same way.
//!
//! A word is a sequence of letters and digits, in lower case and without accents and other marks. Scripts without
//! spaces between words, such as Chinese and Thai, are split into overlapping pairs of characters.

use std::ops::Range;

use icu_normalizer::DecomposingNormalizerBorrowed;
use tantivy::tokenizer::{
    AsciiFoldingFilter, RemoveLongFilter, TextAnalyzer, Token, TokenStream, Tokenizer,
};

/// Longer words are data rather than language, and are not stored. Digests are shorter than this.
const MAX_WORD_BYTES: usize = 130;

/// Returns the analyzer that splits text into words.
pub(crate) fn analyzer() -> TextAnalyzer {
    TextAnalyzer::builder(WordTokenizer)
        .filter(AsciiFoldingFilter)
        .filter(RemoveLongFilter::limit(MAX_WORD_BYTES))
        .build()
}

/// Whether a text ends within a word, so that the word may continue.
pub(crate) fn ends_in_word(text: &str) -> bool {
    text.chars().next_back().is_some_and(is_word)
}

/// Whether words of this script are written without spaces between them.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF     // Thai, Lao
        | 0x1000..=0x109F   // Myanmar
        | 0x1780..=0x17FF   // Khmer
        | 0x3040..=0x30FF | 0x31F0..=0x31FF | 0xFF66..=0xFF9F // Japanese syllables
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF // Chinese characters
    )
}

/// Whether a character is an accent or a similar mark that is combined with a letter.
fn is_mark(c: char) -> bool {
    matches!(u32::from(c),
        0x0300..=0x036F | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF | 0x20D0..=0x20FF | 0xFE20..=0xFE2F)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || is_mark(c) || is_unspaced(c)
}

#[derive(Clone)]
struct WordTokenizer;

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = Words<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Words<'a> {
        Words {
            text,
            at: 0,
            is_in_run: false,
            token: Token::default(),
        }
    }
}

/// The words of a text.
struct Words<'a> {
    text: &'a str,
    /// The next byte to look at.
    at: usize,
    /// Whether the previous character is of a script without spaces, and already in the last pair.
    is_in_run: bool,
    token: Token,
}

impl Words<'_> {
    /// Returns the place of the next word or pair.
    fn next_place(&mut self) -> Option<Range<usize>> {
        loop {
            let begin = self.at;
            let mut rest = self.text[begin..]
                .char_indices()
                .map(|(at, c)| (begin + at, c));
            let (start, first) = rest.find(|(_, c)| is_word(*c))?;
            let was_in_run = std::mem::take(&mut self.is_in_run) && start == begin;
            if !is_unspaced(first) {
                let end = rest.find(|(_, c)| !is_word(*c) || is_unspaced(*c));
                self.at = end.map_or(self.text.len(), |(at, _)| at);
                return Some(start..self.at);
            }
            self.at = start + first.len_utf8();
            if let Some((_, second)) = rest.next().filter(|(_, c)| is_unspaced(*c)) {
                self.is_in_run = true;
                return Some(start..self.at + second.len_utf8());
            }
            // A single character. If there are several characters, the last one is already in the previous pair.
            if !was_in_run {
                return Some(start..self.at);
            }
        }
    }
}

impl TokenStream for Words<'_> {
    fn advance(&mut self) -> bool {
        while let Some(place) = self.next_place() {
            self.token.text.clear();
            fold(&self.text[place.clone()], &mut self.token.text);
            if !self.token.text.is_empty() {
                self.token.offset_from = place.start;
                self.token.offset_to = place.end;
                self.token.position = self.token.position.wrapping_add(1);
                return true;
            }
        }
        false
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

/// Writes a word in lower case, without marks, and without variants of characters such as full width.
fn fold(word: &str, folded: &mut String) {
    if word.is_ascii() {
        folded.push_str(word);
        return folded.make_ascii_lowercase();
    }
    let normalizer = const { DecomposingNormalizerBorrowed::new_nfkd() };
    let plain = normalizer
        .normalize_iter(word.chars())
        .filter(|c| !is_mark(*c));
    folded.extend(plain.flat_map(char::to_lowercase).filter(|c| !is_mark(*c)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut analyzer = analyzer();
        let mut words = Vec::new();
        analyzer.token_stream(text).process(&mut |token| {
            assert!(
                text.get(token.offset_from..token.offset_to).is_some(),
                "{text}: {token:?}"
            );
            words.push(token.text.clone());
        });
        words
    }

    #[test]
    fn splits_every_language() {
        for (text, expected) in [
            ("Hello, big_world! It's v2.", "hello big world it s v2"),
            ("Crème BRÛLÉE Ærø Straße", "creme brulee aero strasse"),
            // Letters and accents as separate characters, as some file systems write them.
            ("re\u{301}sume\u{301}", "resume"),
            ("ΑΘΉΝΑ Москва İzmir ＦＵＬＬ", "αθηνα москва izmir full"),
            ("東京都 京 v東2", "東京 京都 京 v 東 2"),
            ("ภาษา", "ภา าษ ษา"),
            ("\u{301} -- \u{0}", ""),
        ] {
            assert_eq!(words(text).join(" "), expected, "{text}");
        }
        assert_eq!(words(&"x".repeat(MAX_WORD_BYTES)), Vec::<String>::new());
    }
}
