//! The configuration of a provider's guests, and the lease under which each of them is opened.

pub(crate) mod folder_threads;
pub(crate) mod provider_log;
pub(crate) mod signal_rate_limit;

use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::guest_config::folder_threads::FolderThreads;
use crate::guest_config::provider_log::ProviderLog;
use crate::guest_config::signal_rate_limit::SignalRateLimit;
use crate::network::outgoing_http::OutgoingHttp;
use crate::network::outgoing_tcp::OutgoingTcp;
use larder_key_value::KeyValueStore;
use larder_model::name::{ProviderName, TeamName};
use larder_model::policy::{Grant, Permit, QuotaUsage, TimeLimit};
use larder_provider::SignalSender;
use larder_runtime::memory_budget::{ChargeError, MemoryCharge, MemoryUse, TeamMemory};
use larder_runtime::metrics::ProviderMetrics;
use larder_runtime::shares::TeamShares;
use larder_runtime::turns::EQUAL_WEIGHT;

/// What a guest needs to be opened: the configuration of its provider and the permit of the call. Every guest has a
/// lease.
#[derive(Clone)]
pub(super) struct Lease {
    /// The configuration of all guests of the provider.
    pub(super) config: Arc<GuestConfig>,
    /// The permission for this call, which names the caller.
    pub(super) permit: Permit,
}

impl Lease {
    /// Returns the deadline of a call that starts now, and the time until the deadline for messages.
    pub(super) fn deadline(&self, start: Instant) -> (Instant, Duration) {
        let timeout = self.grant.limits.timeout;
        match self.permit.time_limit() {
            Some(TimeLimit { until, total }) if until < start + timeout => (until, total),
            _ => (start + timeout, timeout),
        }
    }

    /// Charges the memory budget for the caller, until the charge is dropped.
    pub(super) fn charge(
        &self,
        memory_use: MemoryUse,
        bytes: u64,
    ) -> Result<MemoryCharge, ChargeError> {
        let caller = self.permit.caller();
        self.memory.charge(memory_use, caller, bytes)
    }
}

impl GuestConfig {
    /// How long a guest has to pause if its team has used up its CPU quota.
    pub(super) fn cpu_wait(&self) -> Option<Duration> {
        self.quota_usage.as_ref()?.cpu_wait()
    }

    /// The weight of the team among the teams whose guests compute.
    pub(super) fn cpu_weight(&self) -> Duration {
        let quota_usage = self.quota_usage.as_ref();
        quota_usage.map_or(EQUAL_WEIGHT, |quota_usage| quota_usage.quota().cpu)
    }
}

impl Deref for Lease {
    type Target = GuestConfig;

    fn deref(&self) -> &GuestConfig {
        &self.config
    }
}

/// Configuration and shared state of all guests of one provider.
pub(super) struct GuestConfig {
    /// The name of the provider.
    pub(super) provider: ProviderName,
    /// The team of the provider.
    pub(super) team: TeamName,
    /// The grants of the guests, and their limits.
    pub(super) grant: Arc<Grant>,
    /// Sends the HTTP requests of the guests.
    pub(super) outgoing_http: Arc<OutgoingHttp>,
    /// Opens the TCP connections of the guests; none without a grant for TCP.
    pub(super) outgoing_tcp: Option<Arc<OutgoingTcp>>,
    /// Limits how often the guests may send signals.
    pub(super) signal_rate_limit: SignalRateLimit,
    /// Limits the log lines of the guests, and the log lines that the host writes on behalf of the guests.
    pub(super) log: ProviderLog,
    /// The queue for the signals of the guests.
    pub(super) signals: SignalSender,
    /// Threads for file system calls; present if the provider was granted folders.
    pub(super) folder_threads: Option<Arc<FolderThreads>>,
    /// How many files and streams each guest may hold.
    pub(super) max_host_resources: usize,
    /// Metrics of the provider.
    pub(super) metrics: Arc<ProviderMetrics>,
    /// The quota of the team and its usage; none if no teams are configured.
    pub(super) quota_usage: Option<Arc<QuotaUsage>>,
    /// The part of the server's memory that the team uses.
    pub(super) memory: TeamMemory,
    /// The part of the shared resources that the team uses.
    pub(super) shares: TeamShares,
    /// The key-value store of the team; none in a process without a store.
    pub(super) key_value: Option<KeyValueStore>,
}

#[cfg(test)]
impl GuestConfig {
    /// The configuration of a provider without any grants.
    pub(super) fn without_grants() -> Arc<Self> {
        use crate::guest_config::provider_log::OutputLimits;
        use larder_model::name::Digest;
        use larder_runtime::drain::Drain;
        use larder_runtime::ledger::SeveralTeams;
        use larder_runtime::shares::{ShareLimits, Shares};
        let grant = Arc::<Grant>::default();
        let team = TeamName::default_team();
        let provider = ProviderName::parse("p").unwrap();
        let shares = Shares::new(ShareLimits::default(), &SeveralTeams::default()).team(&team);
        Arc::new(Self {
            log: ProviderLog::new(
                team.clone(),
                provider.clone(),
                Digest::of(b""),
                OutputLimits::default().of(&team, &provider, 1 << 16, shares.clone()),
                Default::default(),
                &Drain::new(),
            ),
            outgoing_http: Arc::new(OutgoingHttp::new(
                &grant,
                Arc::new(crate::network::dns::DnsLookups::new(shares.clone())),
                larder_model::policy::CredentialStore::default(),
                crate::network::outgoing_http::CredentialUser {
                    team: team.clone(),
                    provider: provider.clone(),
                    metrics: Arc::default(),
                },
            )),
            provider,
            team,
            outgoing_tcp: None,
            grant,
            signal_rate_limit: SignalRateLimit::default(),
            signals: larder_provider::signal_channel().0,
            folder_threads: None,
            max_host_resources: 256,
            metrics: Arc::default(),
            quota_usage: None,
            memory: larder_runtime::memory_budget::MemoryBudget::unlimited()
                .team(&TeamName::default_team()),
            shares,
            key_value: None,
        })
    }
}
