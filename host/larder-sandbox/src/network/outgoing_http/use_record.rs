//! The record of a request to which the host added a credential, in the metrics and for the audit log. It contains the
//! name of the secret, never the value.

use std::sync::Arc;

use larder_model::name::{ProviderName, TeamName};
use larder_model::policy::Permit;
use larder_runtime::metrics::{CredentialOutcome, ProviderMetrics};

/// The provider whose guests use credentials.
pub(crate) struct CredentialUser {
    pub(crate) team: TeamName,
    pub(crate) provider: ProviderName,
    pub(crate) metrics: Arc<ProviderMetrics>,
}

/// The use of a secret for one request.
pub(super) struct UseRecord {
    user: Arc<CredentialUser>,
    permit: Permit,
    secret: String,
    origin: String,
}

/// A request that has not ended. If the guest is dropped before that, the request is recorded as timed out.
pub(super) struct PendingUse {
    record: Arc<UseRecord>,
    outcome: CredentialOutcome,
}

impl UseRecord {
    pub(super) fn new(
        user: &Arc<CredentialUser>,
        permit: &Permit,
        secret: &str,
        origin: String,
    ) -> Self {
        Self {
            user: user.clone(),
            permit: permit.clone(),
            secret: secret.to_owned(),
            origin,
        }
    }

    /// The name of the secret.
    pub(super) fn secret(&self) -> &str {
        &self.secret
    }

    pub(super) fn begin(self) -> PendingUse {
        PendingUse {
            record: Arc::new(self),
            outcome: CredentialOutcome::Timeout,
        }
    }

    pub(super) fn add(&self, outcome: CredentialOutcome) {
        let label = outcome.label();
        self.user.metrics.record_credential(outcome);
        self.permit
            .call()
            .credential_uses
            .add(&self.secret, &self.origin, label);
        // The server's own calls have no line in the audit log.
        tracing::debug!(
            team = self.user.team.non_default(),
            provider = self.user.provider.as_str(),
            secret = self.secret,
            host = self.origin,
            outcome = label,
            "request with a credential"
        );
    }
}

impl PendingUse {
    pub(super) fn end(mut self, outcome: CredentialOutcome) -> Arc<UseRecord> {
        self.outcome = outcome;
        self.record.clone()
    }
}

impl Drop for PendingUse {
    fn drop(&mut self) {
        self.record.add(self.outcome);
    }
}
