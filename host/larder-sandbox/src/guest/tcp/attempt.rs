//! The record of an attempt to open a connection, in the metrics and for the audit log.

use crate::guest_config::Lease;
use larder_runtime::metrics::ConnectOutcome;

/// An attempt. It is recorded when it ends. If the guest is dropped before that, the attempt is recorded as timed out.
pub(crate) struct Attempt {
    lease: Lease,
    /// The host and the port, or the name that was looked up.
    to: String,
    outcome: ConnectOutcome,
}

impl Attempt {
    pub(crate) fn new(lease: &Lease, to: String) -> Self {
        Self {
            lease: lease.clone(),
            to,
            outcome: ConnectOutcome::Timeout,
        }
    }

    pub(crate) fn to(&self) -> &str {
        &self.to
    }

    pub(crate) fn end(mut self, outcome: ConnectOutcome) {
        self.outcome = outcome;
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.lease.metrics.record_connection(self.outcome);
        // A name can be text from the guest.
        let to = self.lease.grant.secrets.redact(&self.to);
        self.lease
            .permit
            .call()
            .connections
            .add(&to, self.outcome.label());
    }
}
