//! Secrets: texts that are given to who is granted them, and shown to nobody else.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What is shorter than this is not looked for in texts: it would be found where it does not stand.
const SHORTEST: usize = 8;
/// What stands in the place of one.
const REDACTED: &str = "[secret]";

/// A text that must not be seen. Nothing that shows it is implemented for it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Hides a text.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The text itself, for who was granted it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What would give it away: all of it, and each line of it.
    fn pieces(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.reveal().trim())
            .chain(self.reveal().lines().map(str::trim))
            .filter(|piece| piece.len() >= SHORTEST)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Secrets by name. Clones are the same secrets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Secrets(Arc<BTreeMap<String, Secret>>);

impl FromIterator<(String, Secret)> for Secrets {
    fn from_iter<I: IntoIterator<Item = (String, Secret)>>(secrets: I) -> Self {
        Self(Arc::new(secrets.into_iter().collect()))
    }
}

impl Secrets {
    /// The secret of this name.
    pub fn get(&self, name: &str) -> Option<&Secret> {
        self.0.get(name)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Secret)> {
        self.0.iter()
    }

    /// Where to cut a text so that none of them is cut in two: at this place or a little before. Behind that place there
    /// have to be [`Self::longest`] bytes more, or the end of the text.
    pub fn cut(&self, text: &[u8], at: usize) -> usize {
        let mut cut = at.min(text.len());
        let pieces: Vec<_> = self.0.values().flat_map(Secret::pieces).map(str::as_bytes).collect();
        // One may begin in another.
        while let Some(begin) = pieces.iter().filter_map(|piece| across(text, piece, cut)).min() {
            cut = begin;
        }
        cut
    }

    /// Bytes of the longest of them.
    pub fn longest(&self) -> usize {
        self.0.values().flat_map(Secret::pieces).map(str::len).max().unwrap_or_default()
    }

    /// A text in which none of them stands any more. This is against accidents, such as an error that quotes a
    /// header: who wants to give a secret away can write it in other ways.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut clean = Cow::Borrowed(text);
        let mut pieces: Vec<_> = self.0.values().flat_map(Secret::pieces).collect();
        // Longest first: of one that begins with another, the end must not be left.
        pieces.sort_unstable_by_key(|piece| Reverse(piece.len()));
        for piece in pieces {
            if clean.contains(piece) {
                clean = Cow::Owned(clean.replace(piece, REDACTED));
            }
        }
        clean
    }
}

/// Where a piece begins before this place and ends behind it.
fn across(text: &[u8], piece: &[u8], cut: usize) -> Option<usize> {
    let first = (cut + 1).saturating_sub(piece.len());
    (first..cut).find(|begin| text[*begin..].starts_with(piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_goes_through_none() {
        let secrets: Secrets = [("a", "hush-hush-hush"), ("b", "the-hush-")]
            .map(|(name, text)| (name.to_owned(), Secret::new(text)))
            .into_iter()
            .collect();
        assert_eq!((secrets.longest(), Secrets::default().longest()), (14, 0));
        let text = b"say: the-hush-hush-hush, so";
        for (at, cut) in [(0, 0), (5, 5), (6, 5), (9, 5), (10, 5), (22, 5), (23, 23), (100, 27)] {
            assert_eq!(secrets.cut(text, at), cut, "{at}");
        }
        assert_eq!(Secrets::default().cut(text, 7), 7);
    }

    #[test]
    fn a_secret_does_not_show() {
        let secrets: Secrets = [("token".to_owned(), Secret::new("hush-hush-hush"))].into_iter().collect();
        assert_eq!(format!("{secrets:?}"), r#"Secrets({"token": Secret})"#);
    }

    #[test]
    fn what_stands_in_a_text_is_taken_out() {
        let secrets: Secrets =
            [("a", "hush-hush-hush\n"), ("b", "short"), ("c", "first line\nsecond line\n")]
                .map(|(name, text)| (name.to_owned(), Secret::new(text)))
                .into_iter()
                .collect();
        for (text, expected) in [
            ("Bearer hush-hush-hush!", "Bearer [secret]!"),
            ("hush-hush-hushhush-hush-hush", "[secret][secret]"),
            ("a short text", "a short text"),
            ("it says second line there", "it says [secret] there"),
            ("first line\nsecond line", "[secret]"),
        ] {
            assert_eq!(secrets.redact(text), expected);
        }
        assert!(matches!(secrets.redact("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn of_one_that_begins_with_another_nothing_is_left() {
        for [short, long] in [["a", "b"], ["b", "a"]] {
            let secrets: Secrets = [(short, "hush-hush"), (long, "hush-hush-the-rest")]
                .map(|(name, text)| (name.to_owned(), Secret::new(text)))
                .into_iter()
                .collect();
            assert_eq!(secrets.redact("is hush-hush-the-rest, and hush-hush"), "is [secret], and [secret]");
        }
    }
}
