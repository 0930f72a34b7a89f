//! The memory budget, and warnings about memory limits above the memory of the machine, which have no effect.

use toml::Spanned;

use super::Conversion;
use crate::value::ByteSize;
use larder_model::size;
use larder_platform::memory::{memory_of_group, physical_memory};

/// The smallest memory budget. One guest with the default limits and its answer fit into twice this budget.
const MIN_BUDGET: u64 = 64 << 20;
/// The smallest default budget, which is also the default if the memory of the machine is unknown.
const MIN_DEFAULT_BUDGET: u64 = 256 << 20;

impl Conversion<'_> {
    pub(super) fn check_memory(&mut self, raw: Option<&Spanned<ByteSize<u64>>>) {
        let Some((raw, available)) = raw.zip(physical_memory()) else {
            return;
        };
        let limit = raw.get_ref().0;
        if limit > available {
            let limit = size::show(limit);
            let available = size::show(available);
            let message = format!(
                "{limit} is more than the memory of this machine ({available}), so that it limits nothing: write less"
            );
            self.warn(&raw.span(), message);
        }
    }

    /// Returns the memory budget of the server: by default half of the memory of this machine or container.
    pub(super) fn memory_budget(&mut self, raw: Option<&Spanned<ByteSize<u64>>>) -> u64 {
        self.check_memory(raw);
        let Some(raw) = raw else {
            return default_budget(physical_memory().into_iter().chain(memory_of_group()).min());
        };
        let budget = raw.get_ref().0;
        if budget < MIN_BUDGET {
            self.error(&raw.span(), too_little(budget));
        }
        budget
    }
}

fn too_little(budget: u64) -> String {
    let budget = size::show(budget);
    let min = size::show(MIN_BUDGET);
    format!("{budget} is too little: the server needs at least {min}")
}

fn default_budget(available: Option<u64>) -> u64 {
    available
        .map_or(0, |available| available / 2)
        .max(MIN_DEFAULT_BUDGET)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_half_of_the_memory_and_not_too_little() {
        assert_eq!(default_budget(Some(8 << 30)), 4 << 30);
        assert_eq!(default_budget(Some(100 << 20)), MIN_DEFAULT_BUDGET);
        assert_eq!(default_budget(None), MIN_DEFAULT_BUDGET);
    }
}
