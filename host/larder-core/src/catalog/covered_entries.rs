//! What the catalog of one team has and the callers of two teams cannot get, because the catalog of their earlier team
//! takes precedence.

use std::sync::Arc;

use super::{Catalog, Offer};
use larder_model::name::ProviderName;

/// Maximum number of entries that are compared, and of steps that the comparison takes.
const MAX_ENTRIES: usize = 10_000;
const MAX_STEPS: usize = 1 << 24;
/// The count stops at this number.
const MAX_COUNT: usize = 1_000;

/// The parts of a catalog that the catalog of an earlier team covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoveredEntries {
    /// The first provider whose entry, tool or prompt is covered.
    pub provider: ProviderName,
    /// The first covered item: a URI, or the name of a tool or prompt.
    pub example: String,
    /// The number of covered items; there may be more.
    pub count: usize,
}

/// An offer, and what is covered of it.
type Example<'a> = (&'a Arc<Offer>, String);

impl Catalog {
    /// Returns which parts of this catalog an earlier catalog covers. Both catalogs may be large, so only a part of the
    /// entries is compared.
    pub fn covered_by(&self, earlier: &Self) -> Option<CoveredEntries> {
        let mut covered = self
            .covered_entries(earlier)
            .chain(self.covered_tools(earlier))
            .chain(self.covered_prompts(earlier))
            .take(MAX_COUNT);
        let (offer, example) = covered.next()?;
        Some(CoveredEntries {
            provider: offer.name().clone(),
            example,
            count: 1 + covered.count(),
        })
    }

    fn covered_entries<'a>(&'a self, earlier: &'a Self) -> impl Iterator<Item = Example<'a>> {
        let mut steps = 0;
        let entries = self.offers().iter();
        let entries = entries.flat_map(|offer| offer.entries.iter().map(move |one| (offer, one)));
        let compared = entries.take(MAX_ENTRIES).map_while(move |(offer, entry)| {
            let is_covered = earlier.covers(&entry.uri, &mut steps);
            (steps < MAX_STEPS).then(|| is_covered.then(|| (offer, entry.uri.to_string())))
        });
        compared.flatten()
    }

    fn covered_tools<'a>(&'a self, earlier: &'a Self) -> impl Iterator<Item = Example<'a>> {
        self.tools()
            .filter(move |(_, tool)| earlier.named_tool(tool.name.as_str()).is_some())
            .map(|(offer, tool)| (offer, format!("tool {}", tool.name)))
    }

    fn covered_prompts<'a>(&'a self, earlier: &'a Self) -> impl Iterator<Item = Example<'a>> {
        self.prompts()
            .filter(move |(_, prompt)| earlier.prompt(&prompt.name).is_some())
            .map(|(offer, prompt)| (offer, format!("prompt {}", prompt.name)))
    }
}
