//! The operations that the server offers, independent of the protocol: list, read, complete, watch. Lists are
//! answered from the catalog; reads and completions call providers.

mod admission;
mod audit_record;
mod audited;
mod cache;
mod cursor;
mod definitions;
mod directory;
mod error;
mod filter;
mod list;
mod prompts;
mod read;
mod search;
mod skills;
mod team_collisions;
#[cfg(test)]
mod tests;
mod tools;
mod view;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use self::cache::Cache;
pub use self::cache::Config as CacheConfig;
#[cfg(any(test, feature = "fuzzing"))]
pub use self::cursor::fuzzing;
pub use self::error::Error;
pub use self::filter::Filter;
pub use self::prompts::PromptCall;
pub use self::search::{SearchHit, SearchPage};
pub use self::team_collisions::{CatalogVersions, TeamCollision};
pub use self::tools::{ComponentAnswer, ComponentRequest, ToolRequest};
use self::view::View;
use crate::audit::AuditLog;
use crate::catalog::{self, Reader, Watch};
use crate::search_index::IndexProgress;
use larder_model::name::{TeamName, Teams};
use larder_model::policy::{Quota, QuotaUsage};
use larder_model::resource::{Caller, Freshness};
use larder_provider::{Signal, SignalSender};
use larder_runtime::low_priority_threads::LowPriorityThreads;
use larder_runtime::memory_budget::MemoryBudget;
use larder_runtime::metrics::{ComputedFamily, Metrics};
use larder_runtime::turns::Turns;

/// Bytes of the items of one page. A page exceeds this only if a provider returns more in one call than was requested.
const MAX_PAGE_BYTES: usize = 1 << 20;

/// Configuration of the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Number of items on one page of a list.
    pub page_size: PageSize,
    /// The operator's instructions for models, which precede the instructions of the providers.
    pub instructions: Option<String>,
    /// Capacity of the response cache.
    pub cache: CacheConfig,
    /// Whether clients may cache responses only for their own caller. True if there are teams or credentials.
    pub private: bool,
    /// The teams of callers who have several teams, in the order in which the teams take precedence.
    pub shared_teams: Vec<Teams>,
    /// How long a search waits for providers.
    pub search_timeout: Duration,
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
    state: Arc<ArcSwap<State>>,
    audit: AuditLog,
    /// The quota that all callers share whose team has no quota.
    default_quota: Arc<QuotaUsage>,
    memory: MemoryBudget,
    /// The turns of teams at searching.
    search_turns: Turns,
    low_priority_threads: Arc<LowPriorityThreads>,
}

/// What a reload of the configuration replaces.
#[derive(Debug)]
struct State {
    config: Config,
    teams: BTreeMap<TeamName, Arc<TeamState>>,
    quotas: BTreeMap<TeamName, Arc<QuotaUsage>>,
}

/// The state of one team. Nothing in it is shared with other teams.
#[derive(Debug)]
struct TeamState {
    reader: Reader,
    cache: Cache,
    signals: SignalSender,
    index: IndexProgress,
}

/// What the gateway uses of one team.
#[derive(Debug, Clone)]
pub struct TeamParts {
    /// Reads the catalog of the team.
    pub reader: Reader,
    /// Receives requests to refresh stale lists.
    pub signals: SignalSender,
    /// The quota of the team and its use; none without a quota.
    pub quota_usage: Option<Arc<QuotaUsage>>,
    /// The full-text index of the team, and how far it is.
    pub index: IndexProgress,
}

impl TeamParts {
    /// A team without a quota and without a full-text index.
    pub fn new(reader: Reader, signals: SignalSender) -> Self {
        Self {
            reader,
            signals,
            quota_usage: None,
            index: IndexProgress::new(None),
        }
    }
}

/// The instructions that a client receives when it connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInstructions {
    /// For the model: what the server offers, and when to use it.
    pub instructions: Option<String>,
    /// Whether a tool names the page of an app.
    pub has_apps: bool,
    /// How long the instructions may be cached, and for whom.
    pub freshness: Freshness,
}

impl Gateway {
    /// Creates a gateway over the catalogs of these teams. Charges cached responses to this budget.
    pub fn new(
        config: Config,
        teams: impl IntoIterator<Item = TeamParts>,
        memory: MemoryBudget,
    ) -> Self {
        let state = State::new(config, teams, None, &memory);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            state: Arc::new(ArcSwap::from_pointee(state)),
            audit: AuditLog::default(),
            default_quota: Arc::new(QuotaUsage::new(Quota::default())),
            memory,
            search_turns: Turns::new(processors),
            low_priority_threads: Arc::default(),
        }
    }

    /// The threads for work of the host that takes long.
    pub fn low_priority_threads(&self) -> &Arc<LowPriorityThreads> {
        &self.low_priority_threads
    }

    /// The memory budget of the server.
    pub fn memory(&self) -> &MemoryBudget {
        &self.memory
    }

    /// Replaces the configuration and the teams. Teams that remain keep their cached responses.
    pub fn reload(&self, config: Config, teams: impl IntoIterator<Item = TeamParts>) {
        let before = self.state.load();
        let state = State::new(config, teams, Some(&before), &self.memory);
        self.state.store(Arc::new(state));
    }

    /// Records each read in this audit log.
    pub fn with_audit(mut self, audit: AuditLog) -> Self {
        self.audit = audit;
        self
    }

    /// Returns the maximum number of items on one page of each list.
    fn page_size(&self) -> PageSize {
        self.state.load().config.page_size
    }

    /// Returns the maximum number of items on one page of each list except the list of templates.
    fn max_items(&self) -> usize {
        match self.page_size().resources {
            0 => usize::MAX,
            size => size as usize,
        }
    }

    /// Returns the number of teams.
    pub fn team_count(&self) -> usize {
        self.state.load().teams.len()
    }

    /// Returns the bytes and the number of cached responses of all teams.
    pub fn cache_size(&self) -> (u64, u64) {
        self.state
            .load()
            .teams
            .values()
            .map(|team| team.cache.size())
            .fold((0, 0), |(bytes, entries), (more, others)| {
                (bytes + more, entries + others)
            })
    }

    /// Registers the sizes of the response caches, by team.
    pub fn register_cache_metrics(&self, metrics: &Metrics) {
        let gauges = |part: fn((u64, u64)) -> u64| {
            let state = self.state.clone();
            ComputedFamily::gauges(move |samples| {
                state.load().teams.iter().try_for_each(|(name, team)| {
                    samples.gauge(&[("team", name.as_str())], part(team.cache.size()))
                })
            })
        };
        let bytes = gauges(|(bytes, _)| bytes);
        let entries = gauges(|(_, entries)| entries);
        metrics.register("larder_cache_bytes", "Bytes of cached responses", bytes);
        metrics.register(
            "larder_cache_entries",
            "Number of cached responses",
            entries,
        );
    }

    /// Refreshes expired lists in the background. The current request is answered with the old lists.
    fn refresh_stale_lists(view: &View) {
        for team in view.teams().iter().filter(|team| team.catalog.is_stale()) {
            for offer in team.offers().iter().filter(|offer| offer.claim_refresh()) {
                // If the signal queue is full, a later request triggers the refresh.
                team.state.signals.send(offer.name(), Signal::ListStale);
            }
        }
    }

    /// Returns the instructions for this caller's model: the operator's, then each provider's.
    pub fn instructions(&self, caller: &Caller) -> ServerInstructions {
        let view = self.view_of(Some(caller));
        let of_providers = view.offers().filter_map(|offer| {
            let text = offer
                .instructions
                .as_deref()
                .map(str::trim)
                .filter(|text| !text.is_empty())?;
            let title = offer.title.as_deref().unwrap_or(offer.name().as_str());
            Some(format!("{title}: {text}"))
        });
        let own = self.state.load().config.instructions.clone();
        let all: Vec<String> = own.into_iter().chain(of_providers).collect();
        ServerInstructions {
            instructions: (!all.is_empty()).then(|| all.join("\n\n")),
            has_apps: view.teams().iter().any(|team| team.catalog.has_apps()),
            // The next reconcile pass may change the instructions, and clients are not notified of that.
            freshness: Freshness {
                ttl: Duration::ZERO,
                ..self.max_freshness()
            },
        }
    }

    /// Creates a watch for this caller, without any URIs yet.
    pub fn watch(&self, caller: &Caller) -> Watch {
        let state = self.state.load();
        let teams = caller.teams.iter().filter_map(|name| state.teams.get(name));
        catalog::watch(teams.map(|team| &team.reader))
    }
}

impl State {
    /// Creates the state of these teams. Teams that existed before keep their state.
    fn new(
        config: Config,
        teams: impl IntoIterator<Item = TeamParts>,
        before: Option<&Self>,
        memory: &MemoryBudget,
    ) -> Self {
        let all: Vec<_> = teams.into_iter().collect();
        let share = config.cache.share(all.len());
        let mut teams = BTreeMap::new();
        let mut quotas = BTreeMap::new();
        for parts in all {
            let name = parts.reader.team().clone();
            if let Some(usage) = parts.quota_usage.clone() {
                quotas.insert(name.clone(), usage);
            }
            let team = match before.and_then(|before| before.team_of(&parts.reader)) {
                Some(kept) => {
                    kept.cache.resize(share);
                    kept.clone()
                }
                None => {
                    let cache = Cache::new(share, parts.reader.clone(), &memory.team(&name));
                    Arc::new(TeamState::new(parts, cache))
                }
            };
            teams.insert(name, team);
        }
        Self {
            config,
            teams,
            quotas,
        }
    }

    /// Returns the state of the team whose catalog this reader reads.
    fn team_of(&self, reader: &Reader) -> Option<&Arc<TeamState>> {
        let team = self.teams.get(reader.team())?;
        team.reader.is_same(reader).then_some(team)
    }
}

impl TeamState {
    fn new(parts: TeamParts, cache: Cache) -> Self {
        Self {
            reader: parts.reader,
            cache,
            signals: parts.signals,
            index: parts.index,
        }
    }
}
