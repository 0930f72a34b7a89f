//! Pairs of strings in one allocation.

use std::fmt;

/// Pairs of strings in one buffer. Each request has such pairs, and most of them are never read.
#[derive(Clone, Default)]
pub struct PackedPairs {
    text: String,
    /// The end offsets of the first and the second string of each pair.
    ends: Vec<(usize, usize)>,
}

impl PackedPairs {
    /// Packs these pairs. The iterator runs twice, so that the exact capacity is allocated at once.
    pub fn from_pairs<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Self {
        let (count, size) = pairs.clone().fold((0, 0), |(count, size), (key, value)| {
            (count + 1, size + key.len() + value.len())
        });
        let mut all = Self {
            text: String::with_capacity(size),
            ends: Vec::with_capacity(count),
        };
        for (key, value) in pairs {
            all.text.push_str(key);
            let key_end = all.text.len();
            all.text.push_str(value);
            all.ends.push((key_end, all.text.len()));
        }
        all
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the pairs in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|(_, end)| *end));
        starts.zip(&self.ends).map(|(start, (key_end, end))| {
            (&self.text[start..*key_end], &self.text[*key_end..*end])
        })
    }
}

impl fmt::Debug for PackedPairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips() {
        let pairs = [("a", "1"), ("", ""), ("ü", "\"x\""), ("b", "")];
        assert_eq!(
            PackedPairs::from_pairs(pairs.into_iter())
                .iter()
                .collect::<Vec<_>>(),
            pairs
        );
        assert!(
            PackedPairs::default().is_empty() && PackedPairs::default().iter().next().is_none()
        );
    }
}
