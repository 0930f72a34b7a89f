//! The operations that the server offers, independent of the protocol: list, read, complete, watch. Lists are
//! answered from the catalog; reads and completions call providers.

mod admission;
mod audit_record;
mod audited;
mod cache;
mod cursor;
mod error;
mod filter;
mod list;
mod read;
mod view;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::cache::Cache;
pub use self::cache::Config as CacheConfig;
pub use self::error::Error;
pub use self::filter::Filter;
use self::view::View;
use crate::audit::AuditLog;
use crate::catalog::{self, Reader, Watch};
use larder_model::name::TeamName;
use larder_model::policy::{Quota, QuotaUsage};
use larder_model::resource::{Caller, Freshness};
use larder_runtime::metrics::{ComputedFamily, Metrics};
use larder_sandbox::{Signal, SignalSender};

/// Configuration of the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Number of items on one page of a list.
    pub page_size: PageSize,
    /// The operator's instructions for models, which precede those of the providers.
    pub instructions: Option<String>,
    /// Capacity of the response cache.
    pub cache: CacheConfig,
    /// Whether clients may cache responses for their own caller only. True where there are teams or
    /// credentials.
    pub private: bool,
}

/// Maximum number of items on one page of each list; 0 for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSize {
    /// Resources on one page.
    pub resources: u32,
    /// Templates on one page.
    pub templates: u32,
}

/// Answers requests from the catalogs and by calling the providers in them. Clones share one gateway.
#[derive(Debug, Clone)]
pub struct Gateway {
    config: Arc<Config>,
    teams: Arc<BTreeMap<TeamName, Arc<TeamState>>>,
    audit: AuditLog,
    quotas: Arc<BTreeMap<TeamName, Arc<QuotaUsage>>>,
    /// Shared by all callers without a team that has a quota.
    default_quota: Arc<QuotaUsage>,
}

/// The state of one team. Teams share none of it.
#[derive(Debug)]
struct TeamState {
    reader: Reader,
    cache: Cache,
    signals: SignalSender,
}

/// The instructions that a client receives when it connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInstructions {
    /// For the model: what the server offers, and when to use it.
    pub instructions: Option<String>,
    /// How long the instructions may be cached, and for whom.
    pub freshness: Freshness,
}

impl Gateway {
    /// Creates a gateway over these catalogs, one for each team. Requests to refresh stale lists go to the
    /// signal senders.
    pub fn new(config: Config, teams: impl IntoIterator<Item = (Reader, SignalSender)>) -> Self {
        let teams: Vec<_> = teams.into_iter().collect();
        let share = config.cache.share(teams.len());
        let team = |(reader, signals): (Reader, _)| {
            let cache = Cache::new(share, reader.clone());
            (reader.team().clone(), Arc::new(TeamState { reader, cache, signals }))
        };
        let teams = Arc::new(teams.into_iter().map(team).collect());
        let default_quota = Arc::new(QuotaUsage::new(Quota::default()));
        let (config, audit) = (Arc::new(config), AuditLog::default());
        Self { config, teams, audit, quotas: Arc::default(), default_quota }
    }

    /// Records each read in this audit log.
    pub fn with_audit(mut self, audit: AuditLog) -> Self {
        self.audit = audit;
        self
    }

    /// Enforces these quotas.
    pub fn with_quotas(mut self, quotas: impl IntoIterator<Item = (TeamName, Arc<QuotaUsage>)>) -> Self {
        self.quotas = Arc::new(quotas.into_iter().collect());
        self
    }

    /// Returns the number of teams.
    pub fn team_count(&self) -> usize {
        self.teams.len()
    }

    /// Registers the sizes of the response caches, by team.
    pub fn register_cache_metrics(&self, metrics: &Metrics) {
        let gauges = |part: fn((u64, u64)) -> u64| {
            let teams = self.teams.clone();
            ComputedFamily::gauges(move |samples| {
                teams.iter().try_for_each(|(name, team)| {
                    samples.gauge(&[("team", name.as_str())], part(team.cache.size()))
                })
            })
        };
        let (bytes, entries) = (gauges(|(bytes, _)| bytes), gauges(|(_, entries)| entries));
        metrics.register("larder_cache_bytes", "Bytes of cached responses", bytes);
        metrics.register("larder_cache_entries", "Number of cached responses", entries);
    }

    /// Refreshes expired lists in the background. The current request is answered with the old ones.
    fn refresh_stale_lists(view: &View) {
        for team in view.teams().iter().filter(|team| team.catalog.is_stale()) {
            for offer in team.offers().iter().filter(|offer| offer.claim_refresh()) {
                // If the signal queue is full, a later request will trigger the refresh.
                team.state.signals.send(offer.name(), Signal::ListStale);
            }
        }
    }

    /// Returns the instructions for this caller's model: the operator's, then each provider's.
    pub fn instructions(&self, caller: &Caller) -> ServerInstructions {
        let view = self.view(Some(caller));
        let of_providers = view.offers().filter_map(|offer| {
            let text = offer.instructions.as_deref().map(str::trim).filter(|text| !text.is_empty())?;
            let title = offer.title.as_deref().unwrap_or(offer.name().as_str());
            Some(format!("{title}: {text}"))
        });
        let all: Vec<String> = self.config.instructions.clone().into_iter().chain(of_providers).collect();
        ServerInstructions {
            instructions: (!all.is_empty()).then(|| all.join("\n\n")),
            // The next reconcile pass may change them, and clients are not notified of that.
            freshness: Freshness { ttl: std::time::Duration::ZERO, ..self.max_freshness() },
        }
    }

    /// Creates a watch for this caller, without any URIs yet.
    pub fn watch(&self, caller: &Caller) -> Watch {
        let teams = caller.teams.iter().filter_map(|name| self.teams.get(name));
        catalog::watch(teams.map(|team| &team.reader))
    }
}
