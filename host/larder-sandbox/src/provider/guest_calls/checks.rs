//! Checks of the host before and after a call of a guest. As parts of the call, the checks are measured, charged to the
//! team, and ended at the deadline.

use std::time::Instant;

use crate::guest_config::{GuestConfig, Lease};
use larder_provider::CallError;

/// The checks of a call whose converted answer is a `T`.
pub(in crate::provider) trait CallChecks<T>: Send + Sync {
    /// Checks the request before a guest is opened.
    fn before(&self, lease: &Lease) -> impl Future<Output = Result<(), CallError>> + Send;

    /// Checks the answer of a call that ends at this deadline.
    fn after(
        &self,
        config: &GuestConfig,
        answer: T,
        deadline: Instant,
    ) -> impl Future<Output = Result<T, CallError>> + Send;
}

/// A call without checks.
pub(in crate::provider) struct NoChecks;

impl<T: Send> CallChecks<T> for NoChecks {
    async fn before(&self, _lease: &Lease) -> Result<(), CallError> {
        Ok(())
    }

    async fn after(
        &self,
        _config: &GuestConfig,
        answer: T,
        _deadline: Instant,
    ) -> Result<T, CallError> {
        Ok(answer)
    }
}
