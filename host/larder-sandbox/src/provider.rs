//! A provider: a loaded component with its name, team and grants, and the calls to it. Each call is made to one guest.
//! WIT types are converted here to types of the host, which are bounded and parsed.

mod answers;
#[cfg(any(test, feature = "test-util"))]
mod breakdown;
mod calls;
mod charge;
mod circuit_breaker;
mod concurrency_limit;
mod convert;
mod fault_history;
mod functions;
mod guest_calls;
mod instrument;
mod interface;
mod omissions;
mod probe;
mod settings_check;
mod tool_validation;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use arc_swap::ArcSwap;
use parking_lot::Mutex;

#[cfg(any(test, feature = "test-util"))]
pub use self::breakdown::{Breakdown, Phase};
use self::circuit_breaker::CircuitBreaker;
use self::concurrency_limit::ConcurrencyLimit;
#[cfg(any(test, feature = "fuzzing"))]
pub use self::convert::fuzzing;
pub(crate) use self::interface::SandboxComponent;
use self::settings_check::SettingsCheck;
use crate::bindings::exports::larder::provider::resource_provider as wit;
use crate::guest_config::GuestConfig;
use crate::guest_config::provider_log::ProviderLog;
use crate::guest_config::signal_rate_limit::SignalRateLimit;
use crate::network::dns::DnsLookups;
use crate::network::outgoing_http::{CredentialUser, OutgoingHttp};
use crate::network::outgoing_tcp::OutgoingTcp;
use crate::{CompiledComponent, Sandbox};
use larder_key_value::KeyValueStore;
use larder_provider::{ProviderFacts, ProviderParts, SignalSender};
use larder_runtime::drain::Drain;
use larder_runtime::memory_budget::{MemoryCharge, MemoryUse};

/// One revision of a provider: a component with its grants and settings.
pub struct Provider {
    facts: ProviderFacts,
    /// The configuration of the provider's guests.
    config: Arc<GuestConfig>,
    /// The compiled code. It is replaced when optimised code is ready.
    compiled: ArcSwap<CompiledComponent>,
    sandbox: Arc<Sandbox>,
    /// The calls of the provider end when the tasks of this drain are dropped.
    drain: Arc<Drain>,
    concurrency_limit: ConcurrencyLimit,
    breaker: CircuitBreaker,
    list_breaker: CircuitBreaker,
    search_breaker: CircuitBreaker,
    settings_check: OnceLock<SettingsCheck>,
    /// The memory that is charged for the provider's lists in the catalog.
    lists_memory: Mutex<MemoryCharge>,
    /// The end of stderr of the last guest that misbehaved.
    last_stderr: Mutex<String>,
}

impl Provider {
    /// Creates a provider. The provider has to be probed before it is served.
    pub fn new(
        parts: ProviderParts,
        compiled: impl Into<Arc<CompiledComponent>>,
        sandbox: Arc<Sandbox>,
    ) -> Self {
        let compiled = compiled.into();
        let facts = facts(&parts, &compiled, &sandbox);
        let config = guest_config(&facts, parts.signals, parts.key_value, &sandbox);
        Self {
            breaker: CircuitBreaker::default(),
            list_breaker: CircuitBreaker::for_one_subject(),
            search_breaker: CircuitBreaker::for_one_subject(),
            concurrency_limit: ConcurrencyLimit::new(&facts.grant.limits),
            lists_memory: Mutex::new(config.memory.begin(MemoryUse::Catalogs)),
            config: Arc::new(config),
            compiled: ArcSwap::new(compiled),
            drain: Arc::new(parts.drain),
            sandbox,
            settings_check: OnceLock::new(),
            last_stderr: Mutex::default(),
            facts,
        }
    }
}

fn facts(parts: &ProviderParts, compiled: &CompiledComponent, sandbox: &Sandbox) -> ProviderFacts {
    static REVISIONS: AtomicU64 = AtomicU64::new(1);
    ProviderFacts {
        revision: REVISIONS.fetch_add(1, Ordering::Relaxed),
        digest: compiled.digest(),
        since: SystemTime::now(),
        metrics: sandbox.metrics().provider(&parts.team, &parts.name),
        interfaces: compiled.interfaces(),
        name: parts.name.clone(),
        team: parts.team.clone(),
        grant: parts.grant.clone(),
        grant_sources: parts.grant_sources.clone(),
        quota_usage: parts.quota_usage.clone(),
    }
}

fn guest_config(
    facts: &ProviderFacts,
    signals: SignalSender,
    key_value: Option<KeyValueStore>,
    sandbox: &Sandbox,
) -> GuestConfig {
    let ProviderFacts {
        name, team, grant, ..
    } = facts;
    let shares = sandbox.shares().team(team);
    let lookups = Arc::new(DnsLookups::new(shares.clone()));
    let discarder = sandbox.reusable.discarder(facts.revision);
    GuestConfig {
        metrics: facts.metrics.clone(),
        outgoing_http: Arc::new(OutgoingHttp::new(
            grant,
            lookups.clone(),
            sandbox.credentials().clone(),
            credential_user(facts),
        )),
        outgoing_tcp: OutgoingTcp::new(grant, lookups, discarder),
        signal_rate_limit: SignalRateLimit::default(),
        log: ProviderLog::new(
            team.clone(),
            name.clone(),
            facts.digest,
            sandbox
                .log_limits()
                .of(team, name, grant.limits.log, shares.clone()),
            sandbox.metrics().events().clone(),
            sandbox.drain(),
        ),
        memory: sandbox.memory_budget().team(team),
        shares,
        key_value,
        provider: name.clone(),
        team: team.clone(),
        grant: grant.clone(),
        signals,
        // Only calls to file systems can block a thread.
        folder_threads: (!grant.dirs.is_empty()).then(|| sandbox.folder_threads(team, name)),
        max_host_resources: sandbox.max_host_resources,
        quota_usage: facts.quota_usage.clone(),
    }
}

fn credential_user(facts: &ProviderFacts) -> CredentialUser {
    CredentialUser {
        team: facts.team.clone(),
        provider: facts.name.clone(),
        metrics: facts.metrics.clone(),
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.sandbox.discard_idle_guests(self.facts.revision);
    }
}

impl std::fmt::Debug for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Provider")
            .field("name", &self.facts.name)
            .field("digest", &self.facts.digest)
            .finish_non_exhaustive()
    }
}
