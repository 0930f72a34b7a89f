//! Charges the size of responses to the quota of the provider's team. Does nothing if no teams are
//! configured.

use super::{CallError, Provider};

impl Provider {
    /// Fails if the team has used up its quota of response bytes.
    pub fn check_byte_quota(&self) -> Result<(), CallError> {
        let Some(quota_usage) = &self.config.quota_usage else { return Ok(()) };
        quota_usage
            .check_byte_quota()
            .inspect_err(|_| quota_usage.count_refusal())
            .map_err(CallError::QuotaExceeded)
    }

    /// Charges a response of about that many bytes to the team, whether or not it came from the cache.
    pub fn charge_bytes(&self, bytes: usize) {
        if let Some(quota_usage) = &self.config.quota_usage {
            quota_usage.charge_bytes(bytes as u64);
        }
    }
}
