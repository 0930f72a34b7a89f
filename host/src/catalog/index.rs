//! Finds who a URI belongs to without asking anybody: exact URIs, templates and claims by their prefix.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::{Collision, Offer};
use crate::uri::Uri;

/// A provider's place in the catalog, and a template's place in its offer.
type Place = (usize, usize);

#[derive(Debug, Default)]
pub(super) struct Index {
    uris: HashMap<Uri, usize>,
    texts: HashMap<Box<str>, Place>,
    templates: Prefixes<Place>,
    claims: Prefixes<usize>,
}

impl Index {
    /// Gives each URI and each template to one offer, and says who goes without.
    pub(super) fn new(offers: &[Arc<Offer>]) -> (Self, Vec<Collision>) {
        let mut order: Vec<usize> = (0..offers.len()).collect();
        order.sort_by_key(|&at| {
            let offer = &offers[at];
            (offer.since, Reverse(offer.priority), offer.name().clone())
        });
        let mut index = Self::default();
        let mut collisions = Vec::new();
        for at in order {
            index.take(at, offers, &mut collisions);
        }
        index.templates.seal();
        index.claims.seal();
        (index, collisions)
    }

    fn take(&mut self, at: usize, offers: &[Arc<Offer>], collisions: &mut Vec<Collision>) {
        let offer = &offers[at];
        let mut collide = |what: &str, keeper: usize| {
            collisions.push(Collision {
                what: what.to_owned(),
                keeps: offers[keeper].name().clone(),
                loses: offer.name().clone(),
            });
        };
        for entry in &offer.entries {
            let keeper = *self.uris.entry(entry.uri.clone()).or_insert(at);
            if keeper != at {
                collide(entry.uri.as_str(), keeper);
            }
        }
        for pair in offer.entries.windows(2).filter(|pair| pair[0].uri == pair[1].uri) {
            collide(pair[0].uri.as_str(), at);
        }
        for (place, template) in offer.templates.iter().enumerate() {
            let text = template.pattern.as_str();
            match self.texts.get(text) {
                Some((keeper, _)) => collide(text, *keeper),
                None => {
                    self.texts.insert(text.into(), (at, place));
                    self.templates.add(template.pattern.literal_prefix(), (at, place));
                }
            }
        }
        for claim in &offer.claims {
            self.claims.add(claim, at);
        }
    }

    pub(super) fn by_uri(&self, uri: &str) -> Option<usize> {
        self.uris.get(uri).copied()
    }

    pub(super) fn template(&self, text: &str) -> Option<Place> {
        self.texts.get(text).copied()
    }

    pub(super) fn templates_for(&self, uri: &str) -> impl Iterator<Item = Place> {
        self.templates.of(uri)
    }

    pub(super) fn claims_for(&self, uri: &str) -> impl Iterator<Item = usize> {
        let mut seen = BTreeSet::new();
        self.claims.of(uri).filter(move |at| seen.insert(*at))
    }
}

/// Things filed under a prefix. Looking one up costs as many steps as there are different lengths of prefix,
/// however many things there are.
#[derive(Debug)]
pub(super) struct Prefixes<T> {
    filed: HashMap<Box<str>, Vec<T>>,
    /// Longest first.
    lengths: Vec<usize>,
}

impl<T> Default for Prefixes<T> {
    fn default() -> Self {
        Self { filed: HashMap::new(), lengths: Vec::new() }
    }
}

impl<T: Copy> Prefixes<T> {
    pub(super) fn add(&mut self, prefix: &str, thing: T) {
        self.filed.entry(prefix.into()).or_default().push(thing);
    }

    pub(super) fn seal(&mut self) {
        let lengths: BTreeSet<_> = self.filed.keys().map(|prefix| prefix.len()).collect();
        self.lengths = lengths.into_iter().rev().collect();
    }

    /// All whose prefix this text begins with, the longest prefix first.
    pub(super) fn of(&self, text: &str) -> impl Iterator<Item = T> {
        self.lengths
            .iter()
            .filter_map(|&length| self.filed.get(text.get(..length)?))
            .flat_map(|things| things.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_comes_first() {
        let mut prefixes = Prefixes::default();
        for (prefix, thing) in [("a:", 1), ("a:b/", 2), ("a:b/c", 3), ("b:", 4), ("a:b/", 5)] {
            prefixes.add(prefix, thing);
        }
        prefixes.seal();
        let of = |text: &str| prefixes.of(text).collect::<Vec<_>>();
        assert_eq!(of("a:b/cd"), [3, 2, 5, 1]);
        assert_eq!(of("a:"), [1]);
        assert_eq!(of("c:"), Vec::<i32>::new());
        // A length that falls into the middle of a character is no prefix.
        assert_eq!(of("aä"), Vec::<i32>::new());
    }
}
