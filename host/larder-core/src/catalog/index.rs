//! Finds the owner of a URI without calling providers: by exact URI, or by the prefix of a template or claim.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::{Collision, Offer};
use larder_model::uri::Uri;

/// The index of an offer in the catalog, and of a template in the offer.
type TemplateRef = (usize, usize);
/// The index of an offer in the catalog, and of a tool or prompt in the offer.
type DefinitionRef = (usize, usize);
/// The index of an offer in the catalog, and of a tool in the offer; none if the name is only reserved.
type ToolRef = (usize, Option<usize>);

#[derive(Debug, Default)]
pub(super) struct Index {
    uris: HashMap<Uri, usize>,
    templates_by_text: HashMap<Box<str>, TemplateRef>,
    templates_by_prefix: PrefixMap<TemplateRef>,
    claims_by_prefix: PrefixMap<usize>,
    tools: HashMap<Box<str>, ToolRef>,
    prompts: HashMap<Box<str>, DefinitionRef>,
}

impl Index {
    /// Assigns each URI and each template to one offer, and returns the collisions.
    pub(super) fn new(offers: &[Arc<Offer>]) -> (Self, Vec<Collision>) {
        let mut order: Vec<usize> = (0..offers.len()).collect();
        order.sort_by_key(|&at| {
            let offer = &offers[at];
            (
                offer.generation,
                Reverse(offer.priority),
                offer.name().clone(),
            )
        });
        let mut index = Self::default();
        let mut collisions = Vec::new();
        for at in order {
            index.add_offer(at, offers, &mut collisions);
        }
        index.templates_by_prefix.finish();
        index.claims_by_prefix.finish();
        (index, collisions)
    }

    fn add_offer(&mut self, at: usize, offers: &[Arc<Offer>], collisions: &mut Vec<Collision>) {
        let offer = &offers[at];
        let mut collide = |what: &str, owner: usize| {
            collisions.push(Collision {
                what: what.to_owned(),
                owner: Some(offers[owner].name().clone()),
                loser: offer.name().clone(),
                is_reserved: false,
            });
        };
        for entry in &offer.entries {
            let owner = *self.uris.entry(entry.uri.clone()).or_insert(at);
            if owner != at {
                collide(entry.uri.as_str(), owner);
            }
        }
        for pair in offer
            .entries
            .windows(2)
            .filter(|pair| pair[0].uri == pair[1].uri)
        {
            collide(pair[0].uri.as_str(), at);
        }
        for (at_template, template) in offer.templates.iter().enumerate() {
            let text = template.uri_template.as_str();
            match self.templates_by_text.get(text) {
                Some((owner, _)) => collide(text, *owner),
                None => {
                    self.templates_by_text
                        .insert(text.into(), (at, at_template));
                    self.templates_by_prefix
                        .add(template.uri_template.literal_prefix(), (at, at_template));
                }
            }
        }
        for claim in &offer.claims {
            self.claims_by_prefix.add(claim, at);
        }
        for (position, prompt) in offer.definitions.prompts.iter().enumerate() {
            let owner = *self
                .prompts
                .entry(prompt.name.as_str().into())
                .or_insert((at, position));
            if owner != (at, position) {
                collide(&format!("prompt {}", prompt.name), owner.0);
            }
        }
        self.add_tools(at, offers, collisions);
    }

    fn add_tools(&mut self, at: usize, offers: &[Arc<Offer>], collisions: &mut Vec<Collision>) {
        let offer = &offers[at];
        for (position, tool) in offer.definitions.tools.iter().enumerate() {
            let own = (at, Some(position));
            let owner = *self.tools.entry(tool.name.as_str().into()).or_insert(own);
            if owner != own {
                collisions.push(Collision {
                    what: format!("tool {}", tool.name),
                    owner: Some(offers[owner.0].name().clone()),
                    loser: offer.name().clone(),
                    is_reserved: owner.1.is_none(),
                });
            }
        }
        for name in &offer.definitions.reserved {
            self.tools.entry(name.as_str().into()).or_insert((at, None));
        }
    }

    pub(super) fn tool(&self, name: &str) -> Option<ToolRef> {
        self.tools.get(name).copied()
    }

    /// Makes a name free that the server itself uses.
    pub(super) fn remove_tool(&mut self, name: &str) {
        self.tools.remove(name);
    }

    pub(super) fn prompt(&self, name: &str) -> Option<DefinitionRef> {
        self.prompts.get(name).copied()
    }

    pub(super) fn by_uri(&self, uri: &str) -> Option<usize> {
        self.uris.get(uri).copied()
    }

    pub(super) fn template(&self, text: &str) -> Option<TemplateRef> {
        self.templates_by_text.get(text).copied()
    }

    pub(super) fn templates_for(&self, uri: &str) -> impl Iterator<Item = TemplateRef> {
        self.templates_by_prefix.matches(uri)
    }

    pub(super) fn claims_for(&self, uri: &str) -> impl Iterator<Item = usize> {
        let mut seen = BTreeSet::new();
        self.claims_by_prefix
            .matches(uri)
            .filter(move |at| seen.insert(*at))
    }
}

/// Values by prefix. A lookup takes one step for each different prefix length, whatever the number of values.
#[derive(Debug)]
pub(super) struct PrefixMap<T> {
    by_prefix: HashMap<Box<str>, Vec<T>>,
    /// The different prefix lengths, the longest first.
    lengths: Vec<usize>,
}

impl<T> Default for PrefixMap<T> {
    fn default() -> Self {
        Self {
            by_prefix: HashMap::new(),
            lengths: Vec::new(),
        }
    }
}

impl<T: Copy> PrefixMap<T> {
    pub(super) fn add(&mut self, prefix: &str, value: T) {
        self.by_prefix.entry(prefix.into()).or_default().push(value);
    }

    pub(super) fn finish(&mut self) {
        let lengths: BTreeSet<_> = self.by_prefix.keys().map(|prefix| prefix.len()).collect();
        self.lengths = lengths.into_iter().rev().collect();
    }

    /// Returns the values whose prefix starts this text, the longest prefix first.
    pub(super) fn matches(&self, text: &str) -> impl Iterator<Item = T> {
        self.lengths
            .iter()
            .filter_map(|&length| self.by_prefix.get(text.get(..length)?))
            .flat_map(|values| values.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_longest_prefix_first() {
        let mut prefixes = PrefixMap::default();
        for (prefix, value) in [("a:", 1), ("a:b/", 2), ("a:b/c", 3), ("b:", 4), ("a:b/", 5)] {
            prefixes.add(prefix, value);
        }
        prefixes.finish();
        let of = |text: &str| prefixes.matches(text).collect::<Vec<_>>();
        assert_eq!(of("a:b/cd"), [3, 2, 5, 1]);
        assert_eq!(of("a:"), [1]);
        assert_eq!(of("c:"), Vec::<i32>::new());
        // A length in the middle of a character matches no prefix.
        assert_eq!(of("aä"), Vec::<i32>::new());
    }
}
