//! Charges the lists in the catalog to the memory budget.

use super::Provider;
use larder_provider::CallError;

/// Memory of a list for each byte of text in it: the texts, and their JSON.
const LIST_FACTOR: u64 = 3;

impl Provider {
    /// Charges the provider's current lists, with this many bytes of text. This charge replaces the charge of the
    /// previous lists.
    pub(super) fn charge_lists(&self, bytes: u64) -> Result<(), CallError> {
        let mut charge = self.lists_memory.lock();
        let needed = bytes.saturating_mul(LIST_FACTOR);
        match needed.checked_sub(charge.bytes()) {
            Some(more) => charge.grow(None, more).map_err(|_| CallError::NoMemory),
            None => {
                let surplus = charge.bytes() - needed;
                charge.shrink(surplus);
                Ok(())
            }
        }
    }
}
