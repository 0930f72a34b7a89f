//! Pairs of texts in one piece.

use std::fmt;

/// Pairs of texts, kept in one piece: there are some with every request, and most are never looked at.
#[derive(Clone, Default)]
pub struct Pairs {
    text: String,
    /// Where each first and each second ends.
    ends: Vec<(usize, usize)>,
}

impl Pairs {
    /// Gone through twice, so that there is room for all from the beginning.
    pub fn gather<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Self {
        let (count, size) = pairs
            .clone()
            .fold((0, 0), |(count, size), (one, other)| (count + 1, size + one.len() + other.len()));
        let mut all = Self { text: String::with_capacity(size), ends: Vec::with_capacity(count) };
        for (one, other) in pairs {
            all.text.push_str(one);
            let middle = all.text.len();
            all.text.push_str(other);
            all.ends.push((middle, all.text.len()));
        }
        all
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        let begins = std::iter::once(0).chain(self.ends.iter().map(|(_, end)| *end));
        begins
            .zip(&self.ends)
            .map(|(begin, (middle, end))| (&self.text[begin..*middle], &self.text[*middle..*end]))
    }
}

impl fmt::Debug for Pairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_come_out_as_they_went_in() {
        let pairs = [("a", "1"), ("", ""), ("ü", "\"x\""), ("b", "")];
        assert_eq!(Pairs::gather(pairs.into_iter()).iter().collect::<Vec<_>>(), pairs);
        assert!(Pairs::default().is_empty() && Pairs::default().iter().next().is_none());
    }
}
