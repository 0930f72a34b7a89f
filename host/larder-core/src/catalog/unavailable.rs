//! Providers that were served before and are not served now: their components are still loaded, or could not be loaded.
//! A request for one of their resources is answered with "unavailable", not with "not found".

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::Offer;
use larder_model::name::ProviderName;

/// Maximum number of prefixes of one provider. If it has more prefixes, its schemes replace them.
const MAX_PREFIXES: usize = 200;
/// When a client should try again, if it is unknown when the component will be loaded. If the time is known, the client
/// waits at least this long.
const MIN_RETRY: Duration = Duration::from_secs(1);

/// What the last served revision of a provider answered for, without its lists.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferRecord {
    /// The prefixes of the provider's URIs: claims, the literal beginnings of templates, and for each scheme the common
    /// beginning of the listed URIs.
    prefixes: BTreeSet<String>,
    /// The names of the provider's tools, as clients see them.
    tools: BTreeSet<String>,
    /// The names of the provider's prompts, as clients see them.
    prompts: BTreeSet<String>,
}

/// A provider that was served before and is not served now.
#[derive(Debug, Clone)]
pub struct UnavailableProvider {
    /// The provider.
    pub provider: ProviderName,
    /// What the provider answered for.
    pub record: Arc<OfferRecord>,
    /// When the next attempt to load its component begins, if that is known.
    pub retry_at: Option<Instant>,
}

impl OfferRecord {
    /// Returns the record of what is served now.
    pub(crate) fn of(offer: &Offer) -> Self {
        let templates = offer
            .templates
            .iter()
            .map(|template| template.uri_template.literal_prefix().to_owned());
        let prefixes = offer
            .claims
            .iter()
            .cloned()
            .chain(templates)
            .chain(listed_prefixes(offer));
        let definitions = &offer.definitions;
        Self {
            prefixes: limited(prefixes.collect()),
            tools: definitions
                .tools
                .iter()
                .map(|tool| tool.name.to_string())
                .collect(),
            prompts: definitions
                .prompts
                .iter()
                .map(|prompt| prompt.name.clone())
                .collect(),
        }
    }

    /// Whether the provider may have answered for this URI, or for this text of a template.
    pub(crate) fn has_uri(&self, uri: &str) -> bool {
        self.prefixes.iter().any(|prefix| uri.starts_with(prefix))
    }

    /// Whether the provider had tools.
    pub(crate) fn has_tools(&self) -> bool {
        !self.tools.is_empty()
    }

    /// Whether the provider had this tool.
    pub(crate) fn has_tool(&self, name: &str) -> bool {
        self.tools.contains(name)
    }

    /// Returns the names of its tools.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(String::as_str)
    }

    /// Whether the provider had this prompt.
    pub(crate) fn has_prompt(&self, name: &str) -> bool {
        self.prompts.contains(name)
    }
}

impl UnavailableProvider {
    /// Returns after which time a client should try again.
    pub(crate) fn retry(&self) -> Duration {
        let time = self
            .retry_at
            .map(|at| at.saturating_duration_since(Instant::now()));
        time.unwrap_or_default().max(MIN_RETRY)
    }
}

/// Returns the common beginning of the listed URIs of each scheme. A list that the catalog holds in part, or that
/// depends on the caller, may contain any URI of these schemes. If it has no entries for the host, it may contain any
/// URI of any scheme.
fn listed_prefixes(offer: &Offer) -> Vec<String> {
    let has_others = offer.next_cursor.is_some() || offer.is_personal();
    if has_others && offer.entries.is_empty() {
        return vec![String::new()];
    }
    let mut common = BTreeMap::<&str, &str>::new();
    for uri in offer.entries.iter().map(|entry| &entry.uri) {
        let prefix = common.entry(uri.scheme()).or_insert(uri.as_str());
        *prefix = common_prefix(prefix, uri.as_str());
    }
    let prefix = |(scheme, prefix): (&str, &str)| {
        if has_others {
            format!("{scheme}:")
        } else {
            prefix.to_owned()
        }
    };
    common.into_iter().map(prefix).collect()
}

fn common_prefix<'a>(one: &'a str, other: &str) -> &'a str {
    let same = one
        .char_indices()
        .zip(other.chars())
        .take_while(|((_, a), b)| a == b);
    let end = same
        .last()
        .map_or(0, |((at, character), _)| at + character.len_utf8());
    &one[..end]
}

/// Removes prefixes that other prefixes cover. If there are too many, their schemes replace them.
fn limited(prefixes: BTreeSet<String>) -> BTreeSet<String> {
    let needed = without_covered(prefixes);
    if needed.len() <= MAX_PREFIXES {
        return needed;
    }
    let scheme = |prefix: &String| prefix.find(':').map_or("", |at| &prefix[..=at]).to_owned();
    without_covered(needed.iter().map(scheme).collect())
}

fn without_covered(prefixes: BTreeSet<String>) -> BTreeSet<String> {
    let mut needed: Vec<String> = Vec::new();
    // A prefix is sorted before all texts that it covers.
    for prefix in prefixes {
        if !needed.last().is_some_and(|last| prefix.starts_with(last)) {
            needed.push(prefix);
        }
    }
    needed.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(prefixes: &[&str]) -> BTreeSet<String> {
        prefixes.iter().map(|&prefix| prefix.to_owned()).collect()
    }

    #[test]
    fn prefixes_that_others_cover_are_omitted() {
        assert_eq!(
            limited(set(&["a:b/c", "a:b", "a:b/d", "a:c", "b:"])),
            set(&["a:b", "a:c", "b:"])
        );
        let many: BTreeSet<_> = (0..MAX_PREFIXES).map(|n| format!("a:{n:04}")).collect();
        assert_eq!(limited(many.clone()).len(), MAX_PREFIXES);
        assert_eq!(
            limited(many.into_iter().chain(["b:1".into()]).collect()),
            set(&["a:", "b:"])
        );
        assert_eq!(limited(set(&["", "a:b"])), set(&[""]));
    }

    #[test]
    fn the_common_prefix_ends_at_a_character() {
        for (one, other, prefix) in [
            ("a:b/c", "a:b/d", "a:b/"),
            ("a:b", "a:b", "a:b"),
            ("a:ä", "a:ö", "a:"),
            ("a", "b", ""),
        ] {
            assert_eq!(common_prefix(one, other), prefix);
        }
    }
}
