//! Charges the size of responses to the quota of the provider's team, if teams are configured, and the lists in the
//! catalog to the memory budget.

use super::{CallError, Provider};

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

    /// Fails if the team has used up its quota of response bytes.
    pub fn check_byte_quota(&self) -> Result<(), CallError> {
        let Some(quota_usage) = &self.config.quota_usage else {
            return Ok(());
        };
        quota_usage
            .check_byte_quota()
            .inspect_err(|_| quota_usage.count_refusal())
            .map_err(CallError::QuotaExceeded)
    }

    /// Charges a response of about this many bytes to the team, also if the response came from the cache.
    pub fn charge_bytes(&self, bytes: usize) {
        if let Some(quota_usage) = &self.config.quota_usage {
            quota_usage.charge_bytes(bytes as u64);
        }
    }
}
