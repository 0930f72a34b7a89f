//! A provider: a loaded component with its name, team and grants, and the calls to it. Each call is made to one guest.
//! WIT types are converted here to types of the host, which are bounded and parsed.

mod answers;
use parking_lot::Mutex;

#[cfg(any(test, feature = "test-util"))]
mod breakdown;
mod calls;
mod charge;
mod circuit_breaker;
mod concurrency_limit;
mod convert;
mod error;
mod fault_history;
mod guest_calls;
mod instrument;
mod interactive_calls;
mod omissions;
mod pages;
mod probe;
mod settings_check;
mod tool_validation;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;

#[cfg(any(test, feature = "test-util"))]
pub use self::breakdown::{Breakdown, Phase};
use self::circuit_breaker::CircuitBreaker;
use self::concurrency_limit::ConcurrencyLimit;
#[cfg(any(test, feature = "fuzzing"))]
pub use self::convert::fuzzing;
pub(crate) use self::convert::json_value;
pub use self::error::CallError;
pub use self::probe::{LoadError, ProbeResult};
use self::settings_check::SettingsCheck;
pub use self::tool_validation::{MAX_EFFORT, ToolSchemas, ToolValidation};
use crate::bindings::exports::larder::provider::resource_provider as wit;
use crate::dns::DnsLookups;
use crate::guest_config::GuestConfig;
use crate::outgoing_http::OutgoingHttp;
use crate::outgoing_tcp::OutgoingTcp;
use crate::provider_log::ProviderLog;
use crate::signal_rate_limit::SignalRateLimit;
use crate::{CompiledComponent, Sandbox, SignalSender};
use larder_key_value::KeyValueStore;
use larder_model::name::{Digest, ProviderName, TeamName};
use larder_model::policy::{Grant, QuotaUsage};
use larder_model::resource::Freshness;
use larder_runtime::drain::Drain;
use larder_runtime::memory_budget::{MemoryCharge, MemoryUse};
use larder_runtime::metrics::ProviderMetrics;

/// One revision of a provider: a component with its grants and settings.
pub struct Provider {
    /// The configuration of the provider's guests.
    config: Arc<GuestConfig>,
    revision: u64,
    /// The compiled code. It is replaced when optimised code is ready.
    compiled: ArcSwap<CompiledComponent>,
    sandbox: Arc<Sandbox>,
    /// The calls of the provider end when the tasks of this drain are dropped.
    drain: Arc<Drain>,
    concurrency_limit: ConcurrencyLimit,
    breaker: CircuitBreaker,
    list_breaker: CircuitBreaker,
    search_breaker: CircuitBreaker,
    since: SystemTime,
    grant_sources: GrantSources,
    settings_check: OnceLock<SettingsCheck>,
    /// The memory that is charged for the provider's lists in the catalog.
    lists_memory: Mutex<MemoryCharge>,
    /// The end of stderr of the last guest that misbehaved.
    last_stderr: Mutex<String>,
}

/// The origins of a provider's grants, as lines for people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrantSources {
    /// Grants that the author requests in the `NAME.toml` file beside the component.
    pub requested: BTreeSet<String>,
    /// Grants that the operator configured, within the ceiling of the team.
    pub allowed: BTreeSet<String>,
}

/// One page of a list of a provider.
#[derive(Debug)]
pub struct ListPage<T> {
    /// The entries or templates.
    pub items: Vec<T>,
    /// The provider's cursor for the next page.
    pub next: Option<String>,
    /// How long the page may be reused; none if the provider did not declare it.
    pub freshness: Option<Freshness>,
    /// What was omitted or changed, and why.
    pub omitted: Vec<String>,
    /// Names of files that the provider could not read, because they are not UTF-8.
    pub unreadable_names: u64,
    /// Bytes of text in the items.
    pub bytes: u64,
}

/// A request for a page of a provider's list.
#[derive(Debug, Clone, Default)]
pub struct ListQuery {
    /// The cursor of the page; none for the first page.
    pub cursor: Option<String>,
    /// The desired number of entries.
    pub limit: u32,
    /// Hint: only entries whose URIs have this prefix are needed.
    pub uri_prefix: Option<String>,
    /// Hint: only entries of this kind are needed.
    pub kind: Option<String>,
}

impl Provider {
    /// Creates a provider. The provider has to be probed before it is served.
    pub fn new(
        name: ProviderName,
        team: TeamName,
        compiled: impl Into<Arc<CompiledComponent>>,
        grant: Arc<Grant>,
        sandbox: Arc<Sandbox>,
        signals: SignalSender,
        quota_usage: Option<Arc<QuotaUsage>>,
    ) -> Self {
        static REVISIONS: AtomicU64 = AtomicU64::new(1);
        let compiled = compiled.into();
        let memory = sandbox.memory_budget().team(&team);
        let shares = sandbox.shares().team(&team);
        // Only calls to file systems can block a thread.
        let folder_threads = (!grant.dirs.is_empty()).then(|| sandbox.folder_threads(&team, &name));
        let number = REVISIONS.fetch_add(1, Ordering::Relaxed);
        let lookups = Arc::new(DnsLookups::new(shares.clone()));
        Self {
            since: SystemTime::now(),
            revision: number,
            breaker: CircuitBreaker::default(),
            list_breaker: CircuitBreaker::for_one_subject(),
            search_breaker: CircuitBreaker::for_one_subject(),
            concurrency_limit: ConcurrencyLimit::new(&grant.limits),
            config: Arc::new(GuestConfig {
                metrics: sandbox.metrics().provider(&team, &name),
                outgoing_http: Arc::new(OutgoingHttp::new(&grant, lookups.clone())),
                outgoing_tcp: OutgoingTcp::new(&grant, lookups, sandbox.reusable.discarder(number)),
                signal_rate_limit: SignalRateLimit::default(),
                log: ProviderLog::new(
                    team.clone(),
                    name.clone(),
                    compiled.digest(),
                    sandbox
                        .log_limits()
                        .of(&team, &name, grant.limits.log, shares.clone()),
                    sandbox.metrics().events().clone(),
                    sandbox.drain(),
                ),
                memory: memory.clone(),
                shares,
                key_value: OnceLock::new(),
                provider: name,
                team,
                grant,
                signals,
                folder_threads,
                max_host_resources: sandbox.max_host_resources,
                quota_usage,
            }),
            compiled: ArcSwap::new(compiled),
            drain: Arc::new(sandbox.drain().clone()),
            sandbox,
            grant_sources: GrantSources::default(),
            settings_check: OnceLock::new(),
            lists_memory: Mutex::new(memory.begin(MemoryUse::Catalogs)),
            last_stderr: Mutex::default(),
        }
    }

    /// Ends the provider's calls when the tasks of this drain are dropped. The drain is the drain of the team.
    pub fn with_drain(mut self, drain: Drain) -> Self {
        self.drain = Arc::new(drain);
        self
    }

    /// Lets the provider's guests use the key-value store of its team, if they have a grant for it.
    pub fn with_key_value(self, store: Option<&KeyValueStore>) -> Self {
        // The store is set only here.
        if let Some(store) = store {
            _ = self.config.key_value.set(store.clone());
        }
        self
    }

    /// Sets the origins of the provider's grants.
    pub fn with_grant_sources(mut self, grant_sources: GrantSources) -> Self {
        self.grant_sources = grant_sources;
        self
    }

    /// The origins of the provider's grants.
    pub fn grant_sources(&self) -> &GrantSources {
        &self.grant_sources
    }

    /// The name of the provider.
    pub fn name(&self) -> &ProviderName {
        &self.config.provider
    }

    /// The team of the provider.
    pub fn team(&self) -> &TeamName {
        &self.config.team
    }

    /// A number that is unique among all revisions of all providers in this process. The same component with other
    /// grants is a different revision.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The digest of the provider's component.
    pub fn digest(&self) -> Digest {
        self.compiled.load().digest()
    }

    /// When this revision was created.
    pub fn since(&self) -> SystemTime {
        self.since
    }

    /// The metrics of the provider, which all of its current revisions share.
    pub fn metrics(&self) -> &ProviderMetrics {
        &self.config.metrics
    }

    /// How long the provider's circuit breaker is still open after repeated faults; none if it is closed.
    pub fn circuit_open_for(&self) -> Option<Duration> {
        self.breaker.circuit_open_for()
    }

    /// The number of consecutive calls that ended in a fault.
    pub fn consecutive_faults(&self) -> u32 {
        self.breaker.consecutive_faults()
    }

    /// How long the circuit breaker of the provider's list is still open; none if it is closed.
    pub fn list_circuit_open_for(&self) -> Option<Duration> {
        self.list_breaker.circuit_open_for()
    }

    /// How long the circuit breaker of the provider's search is still open; none if it is closed.
    pub fn search_circuit_open_for(&self) -> Option<Duration> {
        self.search_breaker.circuit_open_for()
    }

    /// The grants of the provider, and its limits.
    pub fn grant(&self) -> &Arc<Grant> {
        &self.config.grant
    }

    /// Takes the end of the stderr of the last guest that misbehaved, without secrets. Empty if no guest misbehaved
    /// since the last call of this method, or if the guest wrote nothing.
    pub fn take_last_stderr(&self) -> String {
        std::mem::take(&mut self.last_stderr.lock())
    }

    /// Takes what was last omitted or changed in a response, without secrets. Empty if nothing was omitted or changed
    /// since the last call of this method.
    pub fn take_last_notes(&self) -> Vec<String> {
        self.config.log.take_notes()
    }

    /// Whether optimised code is to replace the code of the provider.
    pub fn needs_optimised_code(&self) -> bool {
        self.compiled.load().is_first_tier()
    }

    /// From now on, uses other code of the same component. Calls in progress end with the previous code.
    pub fn replace_code(&self, compiled: CompiledComponent) {
        if compiled.digest() == self.digest() {
            // A guest that is now in use is not kept after its call.
            self.compiled.swap(Arc::new(compiled)).set_replaced();
            // Idle guests have the previous code.
            self.sandbox.discard_idle_guests(self.revision);
        }
    }

    /// Whether the provider implements `version-provider`, so that versions are known without a read.
    pub fn supports_versions(&self) -> bool {
        self.compiled.load().versions.is_some()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.sandbox.discard_idle_guests(self.revision);
    }
}

impl std::fmt::Debug for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Provider")
            .field("name", &self.config.provider)
            .field("digest", &self.digest())
            .finish_non_exhaustive()
    }
}
