//! The names of the components of all sources. Names that differ only in case are one name: on some systems they are
//! also one file.

use std::collections::{BTreeMap, BTreeSet};

/// A set of names.
#[derive(Default)]
pub(super) struct ComponentNames {
    by_lower_case: BTreeMap<String, String>,
}

impl ComponentNames {
    /// Adds a name. If the set has the name, maybe in another case, returns the name in the set.
    pub(super) fn insert(&mut self, name: &str) -> Option<&str> {
        let lower_case = name.to_ascii_lowercase();
        if self.by_lower_case.contains_key(&lower_case) {
            return self.by_lower_case.get(&lower_case).map(String::as_str);
        }
        self.by_lower_case.insert(lower_case, name.to_owned());
        None
    }

    /// The number of names.
    pub(super) fn len(&self) -> usize {
        self.by_lower_case.len()
    }

    pub(super) fn into_set(self) -> BTreeSet<String> {
        self.by_lower_case.into_values().collect()
    }
}
