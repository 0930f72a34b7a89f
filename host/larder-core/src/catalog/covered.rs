//! What one catalog has and callers of two teams do not get from it, because the catalog of their earlier team covers
//! it.

use super::Catalog;
use larder_model::name::ProviderName;

/// Maximum number of entries that are compared, and of steps for that.
const MAX_ENTRIES: usize = 10_000;
const MAX_STEPS: usize = 1 << 24;
/// The number that is counted; there may be more.
const MAX_COUNT: usize = 1_000;

/// What an earlier team covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Covered {
    /// The first provider that has such an entry, tool or prompt.
    pub provider: ProviderName,
    /// The first one: a URI, or the name of a tool or prompt.
    pub example: String,
    /// How many there are, at least.
    pub count: usize,
}

impl Catalog {
    /// Returns what of this catalog an earlier one covers. Both may be large, so that not everything is compared.
    pub fn covered_by(&self, earlier: &Self) -> Option<Covered> {
        let mut steps = 0;
        let all = self
            .offers()
            .iter()
            .flat_map(|offer| offer.entries.iter().map(move |entry| (offer, entry)));
        let compared = all.take(MAX_ENTRIES).map_while(|(offer, entry)| {
            let is_covered = earlier.covers(&entry.uri, &mut steps);
            (steps < MAX_STEPS).then_some((is_covered, offer, entry.uri.to_string()))
        });
        let entries = compared
            .filter(|(is_covered, ..)| *is_covered)
            .map(|(_, offer, uri)| (offer, uri));
        let tools = self
            .tools()
            .filter(|(_, tool)| earlier.named_tool(tool.name.as_str()).is_some());
        let tools = tools.map(|(offer, tool)| (offer, format!("tool {}", tool.name)));
        let prompts = self
            .prompts()
            .filter(|(_, prompt)| earlier.prompt(&prompt.name).is_some());
        let prompts = prompts.map(|(offer, prompt)| (offer, format!("prompt {}", prompt.name)));
        let mut covered = entries.chain(tools).chain(prompts).take(MAX_COUNT);
        let (offer, example) = covered.next()?;
        Some(Covered {
            provider: offer.name().clone(),
            example,
            count: 1 + covered.count(),
        })
    }
}
