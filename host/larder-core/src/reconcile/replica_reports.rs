//! Reports the signals of this replica's providers to the other replicas of this server.

use std::sync::Arc;
use std::time::Duration;

use super::rate_limiter::RateLimiter;
use crate::replicas::{ReplicaEvent, Single, TeamReplicas};
use larder_model::name::ProviderName;
use larder_model::uri::Uri;

/// The signals that must be reported. The rate is limited because a report causes calls of the provider at each other
/// replica, and a provider may signal in each of its calls.
pub(super) struct ReplicaReports {
    pub(super) replicas: Arc<dyn TeamReplicas>,
    updated: RateLimiter<Uri>,
    lists: RateLimiter<ProviderName>,
}

impl Default for ReplicaReports {
    fn default() -> Self {
        Self {
            replicas: Arc::new(Single),
            updated: RateLimiter::default(),
            lists: RateLimiter::default(),
        }
    }
}

impl ReplicaReports {
    /// Reports that a provider signalled an update of this URI, at once or after the minimum interval.
    pub(super) fn updated(&mut self, uri: &Uri) {
        if self.updated.request(uri) {
            self.replicas
                .publish(ReplicaEvent::Signalled { uri: uri.clone() });
        }
    }

    /// Reports that a provider signalled a change of its lists.
    pub(super) fn list_changed(&mut self, provider: &ProviderName) {
        if self.lists.request(provider) {
            self.replicas.publish(ReplicaEvent::ListChanged {
                provider: provider.clone(),
            });
        }
    }

    /// Sends the reports that waited for the minimum interval.
    pub(super) fn send_due(&mut self) {
        for uri in self.updated.take_due() {
            self.replicas.publish(ReplicaEvent::Signalled { uri });
        }
        for provider in self.lists.take_due() {
            self.replicas
                .publish(ReplicaEvent::ListChanged { provider });
        }
    }

    /// Returns the time until something is due.
    pub(super) fn next_due(&self) -> Duration {
        self.updated.next_due().min(self.lists.next_due())
    }
}
