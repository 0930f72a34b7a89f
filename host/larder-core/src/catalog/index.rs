//! Finds the owner of a URI without calling providers: by exact URI, or by the prefix of a template or claim.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::{Collision, CollisionKind, Offer};
use larder_model::name::ProviderName;
use larder_model::uri::Uri;

/// The index of an offer in the catalog, and of a template in the offer.
type TemplateRef = (usize, usize);
/// The index of an offer in the catalog, and of a tool or prompt in the offer.
type DefinitionRef = (usize, usize);
/// The index of an offer in the catalog, and of a tool in the offer; no index of a tool if the name is only reserved.
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

/// The collisions between offers.
struct Collisions<'a> {
    offers: &'a [Arc<Offer>],
    all: Vec<Collision>,
}

impl Collisions<'_> {
    /// Adds a collision of the offers at these positions.
    fn add(&mut self, kind: CollisionKind, what: String, owner: usize, loser: usize) {
        self.all.push(Collision {
            what,
            owner: Some(self.offers[owner].name().clone()),
            loser: self.offers[loser].name().clone(),
            kind,
        });
    }
}

impl Index {
    /// Assigns each URI and each template to one offer, and returns the collisions.
    pub(super) fn new(offers: &[Arc<Offer>]) -> (Self, Vec<Collision>) {
        let mut order: Vec<usize> = (0..offers.len()).collect();
        order.sort_by_key(|&at| precedence(&offers[at]));
        let mut index = Self::default();
        let mut collisions = Collisions {
            offers,
            all: Vec::new(),
        };
        for at in order {
            index.add_offer(at, &offers[at], &mut collisions);
        }
        index.templates_by_prefix.finish();
        index.claims_by_prefix.finish();
        (index, collisions.all)
    }

    fn add_offer(&mut self, at: usize, offer: &Offer, collisions: &mut Collisions<'_>) {
        self.add_entries(at, offer, collisions);
        self.add_templates(at, offer, collisions);
        for claim in &offer.claims {
            self.claims_by_prefix.add(claim, at);
        }
        self.add_prompts(at, offer, collisions);
        self.add_tools(at, offer, collisions);
    }

    fn add_entries(&mut self, at: usize, offer: &Offer, collisions: &mut Collisions<'_>) {
        for entry in &offer.entries {
            let owner = *self.uris.entry(entry.uri.clone()).or_insert(at);
            if owner != at {
                collisions.add(CollisionKind::Same, entry.uri.to_string(), owner, at);
            }
        }
        for pair in offer.entries.windows(2) {
            if pair[0].uri == pair[1].uri {
                collisions.add(CollisionKind::Same, pair[0].uri.to_string(), at, at);
            }
        }
    }

    fn add_templates(&mut self, at: usize, offer: &Offer, collisions: &mut Collisions<'_>) {
        for (position, template) in offer.templates.iter().enumerate() {
            let text = template.uri_template.as_str();
            if let Some((owner, _)) = self.templates_by_text.get(text) {
                collisions.add(CollisionKind::Same, text.to_owned(), *owner, at);
                continue;
            }
            let own = (at, position);
            self.templates_by_text.insert(text.into(), own);
            self.templates_by_prefix
                .add(template.uri_template.literal_prefix(), own);
        }
    }

    fn add_prompts(&mut self, at: usize, offer: &Offer, collisions: &mut Collisions<'_>) {
        for (position, prompt) in offer.definitions.prompts.iter().enumerate() {
            let own = (at, position);
            let name = prompt.name.as_str().into();
            let owner = *self.prompts.entry(name).or_insert(own);
            if owner != own {
                collisions.add(
                    CollisionKind::Same,
                    format!("prompt {}", prompt.name),
                    owner.0,
                    at,
                );
            }
        }
    }

    fn add_tools(&mut self, at: usize, offer: &Offer, collisions: &mut Collisions<'_>) {
        for (position, tool) in offer.definitions.tools.iter().enumerate() {
            let own = (at, Some(position));
            let owner = *self.tools.entry(tool.name.as_str().into()).or_insert(own);
            let what = || format!("tool {}", tool.name);
            if owner.1.is_none() {
                collisions.add(CollisionKind::Reserved, what(), owner.0, at);
            } else if owner != own {
                collisions.add(CollisionKind::Same, what(), owner.0, at);
            }
        }
        for name in &offer.definitions.reserved {
            self.tools.entry(name.as_str().into()).or_insert((at, None));
        }
    }

    pub(super) fn tool(&self, name: &str) -> Option<ToolRef> {
        self.tools.get(name).copied()
    }

    /// Removes the tool with this name, so that it is not offered.
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

/// The key by which offers are sorted: of several offers with the same URI, the first one keeps it.
fn precedence(offer: &Offer) -> (u64, Reverse<i32>, ProviderName) {
    (
        offer.generation,
        Reverse(offer.priority),
        offer.name().clone(),
    )
}

/// Values by prefix. A lookup takes one step for each different prefix length, and the number of values does not
/// matter.
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
