//! The members and items of one value to which schemas were applied, for `unevaluatedProperties` and
//! `unevaluatedItems`.

use std::collections::HashSet;

use crate::Effort;
use crate::effort::EffortError;

/// The evaluated members and items of one value.
#[derive(Default)]
pub(super) struct EvaluatedChildren<'v> {
    names: HashSet<&'v str>,
    /// The number of evaluated items from the beginning.
    first_items: usize,
    items: HashSet<usize>,
}

impl<'v> EvaluatedChildren<'v> {
    pub(super) fn add_name(&mut self, name: &'v str) {
        self.names.insert(name);
    }

    pub(super) fn add_first_items(&mut self, count: usize) {
        self.first_items = self.first_items.max(count);
    }

    pub(super) fn add_item(&mut self, index: usize) {
        self.items.insert(index);
    }

    pub(super) fn has_name(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    pub(super) fn has_item(&self, index: usize) -> bool {
        index < self.first_items || self.items.contains(&index)
    }

    /// Adds the members and items of the same value that another schema evaluated.
    pub(super) fn add_all(
        &mut self,
        other: Self,
        effort: &mut Effort<'_>,
    ) -> Result<(), EffortError> {
        effort.spend((other.names.len() + other.items.len()) as u64)?;
        self.names.extend(other.names);
        self.items.extend(other.items);
        self.first_items = self.first_items.max(other.first_items);
        Ok(())
    }
}
