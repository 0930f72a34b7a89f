//! What is served and what is not, as plain data: names of settings and variables, never their values.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::Shown;
use crate::catalog::{self, Offer};
use crate::metrics::{self, Metrics, Outcome};
use crate::policy::{Access, Dir, Grant, HostRule};

/// Everything at one moment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Status {
    /// Of larder.
    pub version: String,
    /// When it began.
    pub started: String,
    /// Whether it should be sent requests.
    pub ready: bool,
    /// Why not, if not.
    pub reasons: Vec<String>,
    /// What else is wrong.
    pub troubles: Vec<String>,
    /// By name.
    pub teams: Vec<Team>,
}

/// What one team has.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Team {
    /// Its name.
    pub team: String,
    /// The folder with its components.
    pub plugins: String,
    /// Those that can be called.
    pub providers: Vec<Provider>,
    /// Components that could not be loaded.
    pub rejected: Vec<Rejected>,
    /// Revisions that wait for `larder approve`.
    pub held_back: Vec<HeldBack>,
    /// What several providers offer; one of them has it.
    pub collisions: Vec<String>,
}

/// One provider.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Provider {
    /// Its name.
    pub name: String,
    /// The digest of its component.
    pub digest: String,
    /// Which load of a component it is, over all providers.
    pub revision: u64,
    /// Since when it is served.
    pub since: String,
    /// Its own version.
    pub version: Option<String>,
    /// Resources in the catalog.
    pub resources: usize,
    /// Whether it has more of them.
    pub more: bool,
    /// Templates.
    pub templates: usize,
    /// URI prefixes that are its own.
    pub claims: Vec<String>,
    /// What was left out of its lists, and why.
    pub left_out: Vec<String>,
    /// What stands beside its component: what its author asks for.
    pub asked: Vec<String>,
    /// What its operator wrote down for it.
    pub allowed: Vec<String>,
    /// What it was given: the operator's, and of what is asked for what was approved.
    pub grants: Grants,
    /// How its calls ended, by words; those that never happened are left out.
    pub calls: BTreeMap<String, u64>,
    /// What went wrong last.
    pub last_error: Option<LastError>,
    /// How long it is set aside yet, because it only faulted, in milliseconds.
    pub set_aside_ms: Option<u64>,
}

/// What a provider was given, without any value that may be a secret.
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
    /// Where it may send HTTP requests: `https://api.example.com GET,HEAD`.
    pub hosts: Vec<String>,
}

/// What went wrong last.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LastError {
    /// When.
    pub at: String,
    /// What the provider was asked.
    pub asked: String,
    /// The word for it.
    pub outcome: String,
    /// The sentence for it.
    pub message: String,
}

/// A component that is not served.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rejected {
    /// Its file.
    pub file: String,
    /// The digest of it, if it could be read.
    pub digest: Option<String>,
    /// What is wrong with it.
    pub reason: String,
    /// Since when.
    pub since: String,
}

/// A revision that waits for its operator.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HeldBack {
    /// Whose it is.
    pub provider: String,
    /// The digest of its component.
    pub digest: String,
    /// What it asks for and was not approved.
    pub asks: Vec<String>,
    /// Since when.
    pub since: String,
}

impl Status {
    pub(super) fn of(
        teams: &[Shown],
        metrics: &Metrics,
        (reasons, troubles): (Vec<String>, Vec<String>),
    ) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            started: time(metrics.started()),
            ready: reasons.is_empty(),
            reasons,
            troubles,
            teams: teams.iter().map(Team::of).collect(),
        }
    }
}

impl Team {
    fn of(team: &Shown) -> Self {
        let catalog = team.catalog.snapshot();
        Self {
            team: team.catalog.team().to_string(),
            plugins: team.plugins.display().to_string(),
            providers: catalog.offers().iter().map(|offer| Provider::of(offer)).collect(),
            rejected: catalog.rejected().iter().map(Rejected::of).collect(),
            held_back: catalog.held_back().iter().map(HeldBack::of).collect(),
            collisions: catalog.collisions().iter().map(ToString::to_string).collect(),
        }
    }
}

impl Provider {
    fn of(offer: &Offer) -> Self {
        let provider = &offer.provider;
        let calls =
            Outcome::ALL.iter().map(|outcome| (outcome.word().to_owned(), provider.tally().calls(*outcome)));
        Self {
            name: offer.name().to_string(),
            digest: provider.digest().to_string(),
            revision: provider.revision(),
            since: time(provider.since()),
            version: offer.version.clone(),
            resources: offer.entries.len(),
            more: offer.rest.is_some(),
            templates: offer.templates.len(),
            claims: offer.claims.clone(),
            left_out: offer.left_out.clone(),
            asked: provider.sides().asked.iter().cloned().collect(),
            allowed: provider.sides().allowed.iter().cloned().collect(),
            grants: Grants::of(provider.grant()),
            calls: calls.filter(|(_, count)| *count > 0).collect(),
            last_error: provider.tally().last_error().map(|error| LastError::of(&error)),
            set_aside_ms: provider
                .set_aside()
                .map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        }
    }
}

impl Grants {
    fn of(grant: &Grant) -> Self {
        Self {
            settings: grant.settings.keys().cloned().collect(),
            secrets: grant.secrets.iter().map(|(name, _)| name.clone()).collect(),
            env: grant.env.keys().cloned().collect(),
            dirs: grant.dirs.iter().map(dir).collect(),
            hosts: grant.hosts.iter().map(host).collect(),
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
    let methods = match &rule.methods {
        None => "GET,HEAD".to_owned(),
        Some(all) if all.is_empty() => "*".to_owned(),
        Some(some) => some.join(","),
    };
    let private = if rule.private { " (private)" } else { "" };
    format!("{}://{}{port} {methods}{private}", rule.scheme.as_deref().unwrap_or("https"), rule.host)
}

impl LastError {
    fn of(error: &metrics::LastError) -> Self {
        Self {
            at: time(error.at),
            asked: error.asked.into(),
            outcome: error.outcome.word().into(),
            message: error.message.clone(),
        }
    }
}

impl Rejected {
    fn of(line: &catalog::Rejected) -> Self {
        Self {
            file: line.file.clone(),
            digest: line.digest.map(|digest| digest.to_string()),
            reason: line.reason.clone(),
            since: time(line.since),
        }
    }
}

impl HeldBack {
    fn of(held: &catalog::HeldBack) -> Self {
        Self {
            provider: held.provider.to_string(),
            digest: held.digest.to_string(),
            asks: held.lines.iter().cloned().collect(),
            since: time(held.since),
        }
    }
}

fn time(at: SystemTime) -> String {
    humantime::format_rfc3339_seconds(at).to_string()
}
