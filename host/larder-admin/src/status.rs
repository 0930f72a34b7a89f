//! The status of the server as plain data: the paths `/status` and `/api/status`. The status contains the names of
//! settings and variables, but never their values.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::response::json;
use super::{Admin, Cluster, Folders, IndexStatus, Issuer, SkillStatus, TeamView};
use larder_core::catalog::{self, Collision, Offer};
use larder_core::reconcile::ComponentReport;
use larder_key_value::Usage;
use larder_model::name::ProviderName;
use larder_model::policy::{Access, Dir, Grant, HostRule, TcpRule};
use larder_runtime::memory_budget::MemoryReport;
use larder_runtime::metrics::{self, Outcome};

/// Maximum number of rejected components of a team that are described.
const MAX_REJECTED: usize = 100;

/// The status of the server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Status {
    /// The version of Larder.
    pub version: String,
    /// When the server started.
    pub started: String,
    /// Whether the server should receive requests.
    pub ready: bool,
    /// Why the server is not ready; empty if it is ready.
    pub reasons: Vec<String>,
    /// Other problems.
    pub problems: Vec<String>,
    /// Notices, which are not problems, but which an operator may not expect.
    #[serde(default)]
    pub notices: Vec<String>,
    /// The keys whose values in the configuration file take effect only after a restart.
    #[serde(default)]
    pub needs_restart: Vec<String>,
    /// The OAuth issuer; none if its tokens are not accepted.
    #[serde(default)]
    pub issuer: Option<Issuer>,
    /// The replicas; none if this is the only server.
    #[serde(default)]
    pub cluster: Option<Cluster>,
    /// The memory budget.
    #[serde(default)]
    pub memory: Option<Memory>,
    /// Where the server keeps its files.
    #[serde(default)]
    pub folders: Option<Folders>,
    /// The teams, by name.
    pub teams: Vec<Team>,
}

/// The memory budget and its use.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Memory {
    /// The size of the memory budget in bytes.
    pub limit: u64,
    /// The used bytes, by use.
    pub used: BTreeMap<String, u64>,
    /// How often memory was refused.
    pub refused: u64,
}

/// The status of a team.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Team {
    /// The name of the team.
    pub team: String,
    /// The folder with the team's components.
    pub plugins: String,
    /// The key of the team's approvals and stored values: the configured path of the folder, or a name.
    #[serde(default)]
    pub state_key: String,
    /// The providers that are served.
    pub providers: Vec<Provider>,
    /// Components that could not be loaded, up to a limit.
    pub rejected: Vec<RejectedComponent>,
    /// The number of other components that could not be loaded.
    #[serde(default)]
    pub more_rejected: usize,
    /// Revisions that wait for `larder approve`.
    pub pending_approval: Vec<PendingApproval>,
    /// Requested grants that are refused, because they are beyond the ceiling of the team.
    #[serde(default)]
    pub denied_requests: Vec<DeniedRequest>,
    /// Which providers offer the same URIs and templates. Each of these is served by one of the providers.
    pub collisions: Vec<String>,
    /// The values that providers store. Providers without a component are included.
    #[serde(default)]
    pub stored: Vec<StoredValues>,
}

/// The values of a provider in the key-value store.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoredValues {
    /// The name of the provider.
    pub provider: String,
    /// The number of keys.
    pub keys: u64,
    /// The counted bytes.
    pub bytes: u64,
    /// The number of buckets of callers.
    pub callers: u64,
}

/// The status of a provider.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Provider {
    /// The name of the provider.
    pub name: String,
    /// The digest of the provider's component.
    pub digest: String,
    /// The number of this load of a component. All loads of all providers are counted.
    pub revision: u64,
    /// When the revision was loaded.
    pub since: String,
    /// The version that the component reports.
    pub version: Option<String>,
    /// The number of resources in the catalog.
    pub resources: usize,
    /// Whether the provider has more resources than the catalog holds.
    pub has_more: bool,
    /// The number of templates.
    pub templates: usize,
    /// The number of tools that clients can call.
    #[serde(default)]
    pub tools: usize,
    /// The number of prompts that clients can get.
    #[serde(default)]
    pub prompts: usize,
    /// The URI prefixes that the provider claims.
    pub claims: Vec<String>,
    /// What was omitted from the provider's lists, and why.
    pub omitted: Vec<String>,
    /// Settings that are unknown, missing or invalid, according to the provider's declarations.
    #[serde(default)]
    pub setting_problems: Vec<String>,
    /// The grants that the author requests in `NAME.toml`.
    pub requested: Vec<String>,
    /// The grants from the operator's configuration.
    pub allowed: Vec<String>,
    /// The grants in effect: the operator's grants, and the approved requests.
    pub grants: Grants,
    /// The number of calls by outcome; outcomes that did not occur are omitted.
    pub calls: BTreeMap<String, u64>,
    /// The last error.
    pub last_error: Option<LastError>,
    /// How long the provider's circuit breaker stays open after faults, in milliseconds; `None` if it is closed.
    pub circuit_open_ms: Option<u64>,
    /// How long the circuit breaker of the provider's list stays open, in milliseconds; `None` if it is closed.
    #[serde(default)]
    pub list_circuit_open_ms: Option<u64>,
    /// How long the circuit breaker of the provider's search stays open, in milliseconds; `None` if it is closed.
    #[serde(default)]
    pub search_circuit_open_ms: Option<u64>,
    /// The provider's part of the full-text index; `None` if it has none.
    #[serde(default)]
    pub index: Option<IndexStatus>,
    /// The provider's skills; `None` if they are not granted or were not read yet.
    #[serde(default)]
    pub skills: Option<SkillStatus>,
}

/// The grants of a provider, without values that may be secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Grants {
    /// Names of settings.
    pub settings: Vec<String>,
    /// Names of secrets.
    pub secrets: Vec<String>,
    /// Names of variables.
    pub env: Vec<String>,
    /// Folders: `/srv/docs as /docs (read)`.
    pub dirs: Vec<String>,
    /// Hosts to which the provider may send HTTP requests, and the credentials that the host adds:
    /// `https://api.example.com GET,HEAD, bearer with secret token`.
    pub hosts: Vec<String>,
    /// Hosts to which the provider may open TCP connections: `db.internal:5432`.
    #[serde(default)]
    pub tcp: Vec<String>,
    /// Buckets of the key-value store: `shared`, `caller`.
    #[serde(default)]
    pub key_value: Vec<String>,
    /// What the pages of apps may use in a browser: `connects to https://api.example.com`.
    #[serde(default)]
    pub apps: Vec<String>,
}

/// The last error of a provider.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LastError {
    /// When the error happened.
    pub at: String,
    /// The operation that failed.
    pub operation: String,
    /// The outcome.
    pub outcome: String,
    /// The error message.
    pub message: String,
}

/// A component that is not served.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RejectedComponent {
    /// The file name.
    pub file: String,
    /// The digest of the file, if the file could be read.
    pub digest: Option<String>,
    /// Why the component is rejected.
    pub reason: String,
    /// Since when.
    pub since: String,
}

/// A revision that waits for the operator's approval.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PendingApproval {
    /// The name of the provider.
    pub provider: String,
    /// The digest of the revision's component.
    pub digest: String,
    /// The requested grants that are not approved.
    pub requested: Vec<String>,
    /// Since when.
    pub since: String,
}

/// The requested grants of a component that are refused.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeniedRequest {
    /// The name of the provider.
    pub provider: String,
    /// The refused lines.
    pub lines: Vec<String>,
}

/// The response of both paths. The layers around each path decide who may see it.
pub(super) async fn get(State(admin): State<Admin>) -> Response {
    json(StatusCode::OK, &Status::of(&admin))
}

impl Status {
    fn of(admin: &Admin) -> Self {
        let sources = &admin.0.sources;
        let (reasons, problems) = admin.problems();
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            started: time(sources.metrics.started()),
            ready: reasons.is_empty(),
            reasons,
            problems,
            notices: admin.notices(),
            needs_restart: sources.needs_restart.borrow().clone(),
            issuer: (sources.issuer)(),
            cluster: (sources.cluster)(),
            memory: Some(Memory::of(&sources.memory.report())),
            folders: Some(sources.folders.clone()),
            teams: sources.teams.borrow().iter().map(Team::of).collect(),
        }
    }
}

impl Memory {
    fn of(report: &MemoryReport) -> Self {
        let uses = report.uses.iter();
        let used = uses.map(|(what, used, _)| ((*what).to_owned(), *used));
        Self {
            limit: report.limit,
            used: used.collect(),
            refused: report.uses.iter().map(|(.., refused)| refused).sum(),
        }
    }
}

impl Team {
    fn of(team: &TeamView) -> Self {
        let catalog = team.catalog.snapshot();
        let index = team.index.providers();
        let skills = team.catalog.skills();
        let provider = |offer: &Arc<Offer>| Provider {
            index: index.get(offer.name()).map(IndexStatus::of),
            skills: skills
                .of(offer.name())
                .map(|skills| SkillStatus::of(skills)),
            ..Provider::of(offer)
        };
        Self {
            team: team.catalog.team().to_string(),
            plugins: team.plugins.display().to_string(),
            state_key: team.approvals.key().to_string(),
            providers: catalog.offers().iter().map(provider).collect(),
            rejected: catalog
                .rejected()
                .iter()
                .take(MAX_REJECTED)
                .map(RejectedComponent::of)
                .collect(),
            more_rejected: catalog.rejected().len().saturating_sub(MAX_REJECTED),
            pending_approval: catalog
                .pending_approvals()
                .iter()
                .map(PendingApproval::of)
                .collect(),
            denied_requests: DeniedRequest::all(&team.components.reports()),
            collisions: Collision::summarize(catalog.collisions()),
            stored: team
                .key_value
                .usage()
                .into_iter()
                .map(|(provider, usage)| StoredValues::of(provider, usage))
                .collect(),
        }
    }
}

impl DeniedRequest {
    fn all(reports: &[ComponentReport]) -> Vec<Self> {
        let denied = reports.iter().filter(|report| !report.denied.is_empty());
        denied.map(Self::of).collect()
    }

    fn of(report: &ComponentReport) -> Self {
        Self {
            provider: report.name.clone(),
            lines: report.denied.clone(),
        }
    }
}

impl StoredValues {
    fn of(provider: ProviderName, usage: Usage) -> Self {
        Self {
            provider: provider.to_string(),
            keys: usage.keys,
            bytes: usage.bytes,
            callers: usage.callers,
        }
    }
}

impl Provider {
    fn of(offer: &Offer) -> Self {
        let provider = &offer.provider;
        let calls = Outcome::ALL.iter().map(|outcome| {
            (
                outcome.label().to_owned(),
                provider.metrics().calls(*outcome),
            )
        });
        let sources = &provider.facts().grant_sources;
        let circuits = provider.circuits();
        Self {
            name: offer.name().to_string(),
            digest: provider.digest().to_string(),
            revision: provider.revision(),
            since: time(provider.facts().since),
            version: offer.version.clone(),
            resources: offer.entries.len(),
            has_more: offer.next_cursor.is_some(),
            templates: offer.templates.len(),
            tools: offer.definitions.tools.len(),
            prompts: offer.definitions.prompts.len(),
            claims: offer.claims.clone(),
            omitted: offer.omitted.clone(),
            setting_problems: offer
                .setting_problems
                .iter()
                .map(ToString::to_string)
                .collect(),
            requested: sources.requested.iter().cloned().collect(),
            allowed: sources.allowed.iter().cloned().collect(),
            grants: Grants::of(provider.grant()),
            calls: calls.filter(|(_, count)| *count > 0).collect(),
            last_error: provider
                .metrics()
                .last_error()
                .map(|error| LastError::of(&error)),
            circuit_open_ms: circuits.calls_open_for.map(milliseconds),
            list_circuit_open_ms: circuits.list_open_for.map(milliseconds),
            search_circuit_open_ms: circuits.search_open_for.map(milliseconds),
            index: None,
            skills: None,
        }
    }
}

impl Grants {
    pub(super) fn of(grant: &Grant) -> Self {
        Self {
            settings: grant.settings.keys().cloned().collect(),
            secrets: grant.secrets.iter().map(|(name, _)| name.clone()).collect(),
            env: grant.env.keys().cloned().collect(),
            dirs: grant.dirs.iter().map(dir).collect(),
            hosts: grant.hosts.iter().map(host).collect(),
            key_value: grant.key_value.names().map(str::to_owned).collect(),
            tcp: grant.tcp.iter().map(tcp).collect(),
            apps: grant.apps.texts().collect(),
        }
    }
}

fn dir(dir: &Dir) -> String {
    let access = match dir.access {
        Access::Read => "read",
        Access::Write => "write",
    };
    format!("{} as {} ({access})", dir.host.display(), dir.guest)
}

fn host(rule: &HostRule) -> String {
    let port = rule.port.map(|port| format!(":{port}")).unwrap_or_default();
    let methods = methods(rule);
    let private = if rule.private { " (private)" } else { "" };
    let auth = rule.auth.as_ref().map(|auth| format!(", {auth}"));
    format!(
        "{}://{}{port} {methods}{private}{}",
        rule.scheme(),
        rule.host,
        auth.unwrap_or_default()
    )
}

fn methods(rule: &HostRule) -> String {
    match &rule.methods {
        None => "GET,HEAD".to_owned(),
        Some(all) if all.is_empty() => "*".to_owned(),
        Some(some) => some.join(","),
    }
}

fn tcp(rule: &TcpRule) -> String {
    format!("{rule}{}", if rule.private { " (private)" } else { "" })
}

impl LastError {
    fn of(error: &metrics::LastError) -> Self {
        Self {
            at: time(error.at),
            operation: error.operation.into(),
            outcome: error.outcome.label().into(),
            message: error.message.clone(),
        }
    }
}

impl RejectedComponent {
    fn of(rejected: &catalog::RejectedComponent) -> Self {
        Self {
            file: rejected.origin.clone(),
            digest: rejected.digest.map(|digest| digest.to_string()),
            reason: rejected.reason.clone(),
            since: time(rejected.since),
        }
    }
}

impl PendingApproval {
    fn of(pending: &catalog::PendingApproval) -> Self {
        Self {
            provider: pending.provider.to_string(),
            digest: pending.digest.to_string(),
            requested: pending.lines.iter().cloned().collect(),
            since: time(pending.since),
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn time(at: SystemTime) -> String {
    humantime::format_rfc3339_seconds(at).to_string()
}
