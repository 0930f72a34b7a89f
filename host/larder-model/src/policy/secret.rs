//! Secrets: values that are passed only to the providers with a grant for them, and that are never shown.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Values and lines that are shorter than this are not redacted, because they would match unrelated text.
pub const MIN_SECRET_LEN: usize = 8;
/// The replacement for a secret.
const REDACTED: &str = "[secret]";

/// A value that must not be shown. It does not implement `Display`, and its `Debug` does not show the value.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Wraps a value.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The value, for providers that were granted it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether the value is removed from texts that are shown. Short values are not removed.
    pub fn is_redacted(&self) -> bool {
        self.pieces().next().is_some()
    }

    /// The texts to redact: the whole value, and each of its lines.
    fn pieces(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.reveal().trim())
            .chain(self.reveal().lines().map(str::trim))
            .filter(|piece| piece.len() >= MIN_SECRET_LEN)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Secrets by name. Clones share the values.
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

    /// All secrets with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Secret)> {
        self.0.iter()
    }

    /// Returns where to split a text so that no secret is split: at this position or a little before it. The text must
    /// contain [`Self::longest_len`] bytes after this position, or must end earlier.
    pub fn safe_cut(&self, text: &[u8], at: usize) -> usize {
        let mut cut = at.min(text.len());
        let pieces: Vec<_> = self
            .0
            .values()
            .flat_map(Secret::pieces)
            .map(str::as_bytes)
            .collect();
        // A secret may begin inside another.
        while let Some(begin) = pieces
            .iter()
            .filter_map(|piece| piece_start_across(text, piece, cut))
            .min()
        {
            cut = begin;
        }
        cut
    }

    /// The length of the longest text to redact in bytes.
    pub fn longest_len(&self) -> usize {
        self.0
            .values()
            .flat_map(Secret::pieces)
            .map(str::len)
            .max()
            .unwrap_or_default()
    }

    /// Replaces all secrets in a text. This protects against accidents, such as an error message that contains a
    /// header. It does not protect against a provider that encodes a secret on purpose.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut redacted = Cow::Borrowed(text);
        let mut pieces: Vec<_> = self.0.values().flat_map(Secret::pieces).collect();
        // The longest text is replaced first: if a secret begins with another secret, its end must not remain.
        pieces.sort_unstable_by_key(|piece| Reverse(piece.len()));
        for piece in pieces {
            if redacted.contains(piece) {
                redacted = Cow::Owned(redacted.replace(piece, REDACTED));
            }
        }
        redacted
    }
}

/// Returns the beginning of a piece that extends across this position.
fn piece_start_across(text: &[u8], piece: &[u8], cut: usize) -> Option<usize> {
    let first = (cut + 1).saturating_sub(piece.len());
    (first..cut).find(|begin| text[*begin..].starts_with(piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_safe_cut_splits_no_secret() {
        let secrets: Secrets = [("a", "hush-hush-hush"), ("b", "the-hush-")]
            .map(|(name, text)| (name.to_owned(), Secret::new(text)))
            .into_iter()
            .collect();
        assert_eq!(
            (secrets.longest_len(), Secrets::default().longest_len()),
            (14, 0)
        );
        let text = b"say: the-hush-hush-hush, so";
        for (at, cut) in [
            (0, 0),
            (5, 5),
            (6, 5),
            (9, 5),
            (10, 5),
            (22, 5),
            (23, 23),
            (100, 27),
        ] {
            assert_eq!(secrets.safe_cut(text, at), cut, "{at}");
        }
        assert_eq!(Secrets::default().safe_cut(text, 7), 7);
    }

    #[test]
    fn debug_output_hides_secrets() {
        let secrets: Secrets = [("token".to_owned(), Secret::new("hush-hush-hush"))]
            .into_iter()
            .collect();
        assert_eq!(format!("{secrets:?}"), r#"Secrets({"token": Secret})"#);
    }

    #[test]
    fn redacts_secrets_in_text() {
        let secrets: Secrets = [
            ("a", "hush-hush-hush\n"),
            ("b", "short"),
            ("c", "first line\nsecond line\n"),
        ]
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
    fn redacts_a_secret_that_begins_with_another() {
        for [short, long] in [["a", "b"], ["b", "a"]] {
            let secrets: Secrets = [(short, "hush-hush"), (long, "hush-hush-the-rest")]
                .map(|(name, text)| (name.to_owned(), Secret::new(text)))
                .into_iter()
                .collect();
            assert_eq!(
                secrets.redact("is hush-hush-the-rest, and hush-hush"),
                "is [secret], and [secret]"
            );
        }
    }
}
