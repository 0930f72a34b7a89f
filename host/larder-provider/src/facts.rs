//! What is known about a provider without a call.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::{CallError, Provider};
use larder_model::name::{Digest, ProviderName, TeamName};
use larder_model::policy::{Grant, QuotaUsage};
use larder_runtime::metrics::ProviderMetrics;

/// What does not change while a revision of a provider is served.
#[derive(Debug, Clone)]
pub struct ProviderFacts {
    /// The name of the provider.
    pub name: ProviderName,
    /// The team of the provider.
    pub team: TeamName,
    /// A number that is unique among all revisions of all providers in this process. The same component with other
    /// grants is a different revision.
    pub revision: u64,
    /// The digest of the provider's component.
    pub digest: Digest,
    /// When this revision was created.
    pub since: SystemTime,
    /// The grants of the provider, and its limits.
    pub grant: Arc<Grant>,
    /// The origins of the provider's grants.
    pub grant_sources: GrantSources,
    /// The optional interfaces that the provider implements.
    pub interfaces: OptionalInterfaces,
    /// The metrics of the provider, which all of its current revisions share.
    pub metrics: Arc<ProviderMetrics>,
    /// The quota of the team and its usage; none if no teams are configured.
    pub quota_usage: Option<Arc<QuotaUsage>>,
}

/// The origins of a provider's grants, as lines for people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrantSources {
    /// Grants that the author requests in the `NAME.toml` file beside the component.
    pub requested: BTreeSet<String>,
    /// Grants that the operator configured, within the ceiling of the team.
    pub allowed: BTreeSet<String>,
}

/// The optional interfaces that a provider implements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OptionalInterfaces {
    /// `version-provider`: versions are known without a read.
    pub versions: bool,
    /// `directory-provider`.
    pub directories: bool,
    /// `tool-provider`.
    pub tools: bool,
    /// `prompt-provider`.
    pub prompts: bool,
    /// `search-provider`.
    pub search: bool,
    /// `settings-provider`.
    pub settings: bool,
}

/// How long each circuit breaker of a provider is still open after repeated faults; none if it is closed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CircuitStates {
    /// The circuit breaker of all calls.
    pub calls_open_for: Option<Duration>,
    /// The circuit breaker of the list for callers.
    pub list_open_for: Option<Duration>,
    /// The circuit breaker of the search for callers.
    pub search_open_for: Option<Duration>,
    /// The number of consecutive calls that ended in a fault.
    pub consecutive_faults: u32,
}

impl dyn Provider {
    /// The name of the provider.
    pub fn name(&self) -> &ProviderName {
        &self.facts().name
    }

    /// The team of the provider.
    pub fn team(&self) -> &TeamName {
        &self.facts().team
    }

    /// The number of this revision.
    pub fn revision(&self) -> u64 {
        self.facts().revision
    }

    /// The digest of the provider's component.
    pub fn digest(&self) -> Digest {
        self.facts().digest
    }

    /// The grants of the provider, and its limits.
    pub fn grant(&self) -> &Arc<Grant> {
        &self.facts().grant
    }

    /// The metrics of the provider.
    pub fn metrics(&self) -> &ProviderMetrics {
        &self.facts().metrics
    }

    /// The optional interfaces that the provider implements.
    pub fn interfaces(&self) -> OptionalInterfaces {
        self.facts().interfaces
    }

    /// Fails if the team has used up its quota of response bytes.
    pub fn check_byte_quota(&self) -> Result<(), CallError> {
        let Some(quota_usage) = &self.facts().quota_usage else {
            return Ok(());
        };
        quota_usage
            .check_byte_quota()
            .inspect_err(|_| quota_usage.count_refusal())
            .map_err(CallError::QuotaExceeded)
    }

    /// Charges a response of about this many bytes to the team, also if the response came from the cache.
    pub fn charge_bytes(&self, bytes: usize) {
        if let Some(quota_usage) = &self.facts().quota_usage {
            quota_usage.charge_bytes(bytes as u64);
        }
    }
}
