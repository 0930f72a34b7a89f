//! The configuration read once more while the house runs: what takes effect now, and what at the next start.

mod believed;

use std::collections::BTreeMap;

use super::{Config, ConfigError, Team, environment, load_with};
use crate::endpoint::{self, auth};
use crate::name::TeamName;
use crate::reconcile;

pub use believed::Believed;

/// What a second look found.
#[derive(Debug, Clone)]
pub struct Again {
    /// What takes effect now, by team: what each provider gets, its limits, and what has to be approved.
    pub now: BTreeMap<TeamName, reconcile::Config>,
    /// Keys that say something else than at the start, and take effect at the next one.
    pub later: Vec<&'static str>,
    /// Teams that were not there at the start, and come at the next one.
    pub new: Vec<TeamName>,
}

impl Config {
    /// Reads the same file with the same command line. Faults leave everything as it is.
    pub fn again(&self) -> Result<Again, ConfigError> {
        // A gate that was shut does not open, so nobody has to be warned of it.
        let guarded = !self.endpoint.auth.is_open();
        Ok(self.against(&load_with(&self.overrides, guarded)?))
    }

    /// Reads from the same file whom to believe, where these were believed before. No other file is looked at, and no
    /// fault elsewhere matters.
    pub fn believed(&self, before: &auth::Config) -> Result<Believed, ConfigError> {
        let path = self.file.clone().unwrap_or_default();
        match std::fs::read(&path) {
            Ok(bytes) => Ok(believed::believed(&path, &bytes, &environment(), before)),
            Err(error) => Err(ConfigError::Unreadable { path, error }),
        }
    }

    /// What differs from the configuration that the house was started with.
    pub(super) fn against(&self, fresh: &Self) -> Again {
        let both: Vec<_> =
            self.teams.iter().filter_map(|(name, old)| Some((old, fresh.teams.get(name)?))).collect();
        let differs = |part: fn(&Team, &Team) -> bool| both.iter().any(|(old, new)| part(old, new));
        let rooms = [
            ("plugins", differs(|old, new| old.reconcile.plugins != new.reconcile.plugins)),
            ("team", self.differs_in_teams(fresh)),
            ("stdio", self.local != fresh.local),
            ("state_dir", differs(differs_in_state)),
            (
                "watch",
                differs(|old, new| old.reconcile.poll != new.reconcile.poll) || self.lookout != fresh.lookout,
            ),
            ("cache", self.gateway.cache != fresh.gateway.cache),
            ("compiler", format!("{:?}", self.sandbox.compiler) != format!("{:?}", fresh.sandbox.compiler)),
            ("server", self.differs_in_server(fresh)),
            ("admin", self.admin != fresh.admin),
            ("audit", self.audit != fresh.audit),
            ("telemetry", self.telemetry != fresh.telemetry),
        ];
        let later = rooms.into_iter().filter_map(|(key, differs)| differs.then_some(key)).collect();
        let now = both.into_iter().map(|(old, new)| (old.reconcile.team.clone(), update(old, new))).collect();
        let new = fresh.teams.keys().filter(|name| !self.teams.contains_key(name)).cloned().collect();
        Again { now, later, new }
    }

    /// Teams that came or went, or may use up something else.
    fn differs_in_teams(&self, fresh: &Self) -> bool {
        let quotas = |config: &Self| -> Vec<_> {
            config.teams.iter().map(|(name, team)| (name.clone(), team.quota.clone())).collect()
        };
        quotas(self) != quotas(fresh)
    }

    fn differs_in_server(&self, fresh: &Self) -> bool {
        // `Debug` shows every field.
        let server = |config: &Self| {
            let Self { endpoint, gateway, watched_uris, sandbox, grace, log, .. } = config;
            // On a pipe everybody is whom `stdio` says, of which is told by itself.
            let caller = if self.is_over_stdio { &self.local } else { &endpoint.caller };
            let (auth, caller) = (auth::Config::default(), caller.clone());
            let endpoint = endpoint::Config { auth, caller, ..endpoint.clone() };
            let gateway = (gateway.page_size, &gateway.instructions);
            format!("{endpoint:?} {gateway:?} {watched_uris} {} {grace:?} {log:?}", sandbox.slots)
        };
        server(self) != server(fresh)
    }
}

fn differs_in_state(old: &Team, new: &Team) -> bool {
    let (old, new) = (&old.reconcile, &new.reconcile);
    old.approvals != new.approvals && old.plugins == new.plugins
}

/// What takes effect now, beside what does at the next start.
fn update(old: &Team, new: &Team) -> reconcile::Config {
    reconcile::Config {
        plugins: old.reconcile.plugins.clone(),
        relative_to: old.reconcile.relative_to.clone(),
        approvals: old.reconcile.approvals.clone(),
        poll: old.reconcile.poll,
        ..new.reconcile.clone()
    }
}
