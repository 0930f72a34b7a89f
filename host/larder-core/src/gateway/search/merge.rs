//! Merges rankings by reciprocal rank: an item at rank n of a ranking gets 1/(60 + n), and the sums decide. Ranks can
//! be compared, scores of different sources cannot.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::hash::Hash;

use super::candidate::Candidate;
use larder_model::uri::Uri;

/// The usual constant: a resource that is first in one source does not outweigh resources that several sources found.
const K: f64 = 60.0;

/// An item of a ranking.
pub(super) trait RankedItem {
    /// What identifies the item in all rankings.
    type Key: Hash + Eq;

    fn key(&self) -> Self::Key;

    /// Adds what the same item of a later ranking has and this item lacks.
    fn absorb(&mut self, later: Self);
}

impl RankedItem for Candidate {
    type Key = Uri;

    fn key(&self) -> Uri {
        self.entry.uri.clone()
    }

    fn absorb(&mut self, later: Self) {
        self.excerpt = self.excerpt.take().or(later.excerpt);
    }
}

/// Returns the items of all rankings, best item first, each item once. Of two items with the same score, the item of
/// the earlier ranking comes first.
pub(super) fn by_reciprocal_rank<T: RankedItem>(rankings: impl Iterator<Item = Vec<T>>) -> Vec<T> {
    let mut merged: Vec<(f64, T)> = Vec::new();
    let mut places = HashMap::new();
    for ranking in rankings {
        for (rank, item) in (1_u32..).zip(ranking) {
            let score = 1.0 / (K + f64::from(rank));
            match places.entry(item.key()) {
                Slot::Vacant(slot) => {
                    slot.insert(merged.len());
                    merged.push((score, item));
                }
                Slot::Occupied(slot) => {
                    let (sum, first) = &mut merged[*slot.get()];
                    *sum += score;
                    first.absorb(item);
                }
            }
        }
    }
    // The sort is stable.
    merged.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    merged.into_iter().map(|(_, item)| item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    impl RankedItem for &str {
        type Key = String;

        fn key(&self) -> String {
            (*self).to_owned()
        }

        fn absorb(&mut self, _: Self) {}
    }

    #[test]
    fn ranks_decide_and_then_the_order_of_the_rankings() {
        let merged = |rankings: &[&[&'static str]]| {
            by_reciprocal_rank(rankings.iter().map(|ranking| ranking.to_vec())).join(" ")
        };
        assert_eq!(merged(&[&["a", "b"], &["c", "d"]]), "a c b d");
        assert_eq!(
            merged(&[&["a", "b", "x"], &["c", "d", "x"]]),
            "x a c b d",
            "found twice"
        );
        assert_eq!(merged(&[&["a", "b"], &["b", "a"]]), "a b");
        assert_eq!(merged(&[&[], &["a"]]), "a");
    }
}
