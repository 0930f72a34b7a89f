//! Reloading the configuration of a running server: which changes apply immediately, and which need a
//! restart.

mod auth_reload;

use std::collections::BTreeMap;

use super::{Config, ConfigError, Team, environment, load_with};
use larder_core::reconcile;
use larder_mcp::{self as endpoint, auth};
use larder_model::name::TeamName;

pub use auth_reload::AuthReload;

/// The result of a reload.
#[derive(Debug, Clone)]
pub struct ConfigReload {
    /// The new configuration of each team, which applies immediately: grants, limits and approval modes of
    /// providers.
    pub teams: BTreeMap<TeamName, reconcile::Config>,
    /// Keys that changed since the start and take effect only after a restart.
    pub needs_restart: Vec<&'static str>,
    /// Teams that were added since the start. They are served only after a restart.
    pub new_teams: Vec<TeamName>,
}

impl Config {
    /// Loads the same file with the same command line options. On an error, nothing changes.
    pub fn reload(&self) -> Result<ConfigReload, ConfigError> {
        // A server that requires credentials never stops requiring them, so there is no need to report
        // missing ones.
        let auth_active = !self.endpoint.auth.is_empty();
        Ok(self.diff(&load_with(&self.overrides, auth_active)?))
    }

    /// Reloads only the credentials from the same file. `before` are those that are in force now. It accesses
    /// no other file, and ignores errors in other sections.
    pub fn reload_auth(&self, before: &auth::Config) -> Result<AuthReload, ConfigError> {
        let path = self.file.clone().unwrap_or_default();
        match std::fs::read(&path) {
            Ok(bytes) => Ok(auth_reload::parse(&path, &bytes, &environment(), before)),
            Err(error) => Err(ConfigError::Unreadable { path, error }),
        }
    }

    /// Compares a new configuration with the one that the server was started with.
    pub(super) fn diff(&self, fresh: &Self) -> ConfigReload {
        let both: Vec<_> =
            self.teams.iter().filter_map(|(name, old)| Some((old, fresh.teams.get(name)?))).collect();
        let differs = |part: fn(&Team, &Team) -> bool| both.iter().any(|(old, new)| part(old, new));
        let sections = [
            ("plugins", differs(|old, new| old.plugins != new.plugins)),
            ("team", self.differs_in_teams(fresh)),
            ("stdio", self.local_caller != fresh.local_caller),
            ("state_dir", differs(differs_in_state_dir)),
            (
                "watch",
                differs(|old, new| old.reconcile.scan_interval != new.reconcile.scan_interval)
                    || self.change_detector != fresh.change_detector,
            ),
            ("cache", self.gateway.cache != fresh.gateway.cache),
            ("compiler", format!("{:?}", self.sandbox.compiler) != format!("{:?}", fresh.sandbox.compiler)),
            ("server", self.differs_in_server(fresh)),
            ("admin", self.admin != fresh.admin),
            ("audit", self.audit != fresh.audit),
            ("telemetry", self.telemetry != fresh.telemetry),
        ];
        let needs_restart =
            sections.into_iter().filter_map(|(key, differs)| differs.then_some(key)).collect();
        let teams = both
            .into_iter()
            .map(|(old, new)| (old.reconcile.team.clone(), applied_immediately(old, new)))
            .collect();
        let new_teams = fresh.teams.keys().filter(|name| !self.teams.contains_key(name)).cloned().collect();
        ConfigReload { teams, needs_restart, new_teams }
    }

    /// Whether teams were added or removed, or a quota changed.
    fn differs_in_teams(&self, fresh: &Self) -> bool {
        let quotas = |config: &Self| -> Vec<_> {
            config.teams.iter().map(|(name, team)| (name.clone(), team.quota.clone())).collect()
        };
        quotas(self) != quotas(fresh)
    }

    fn differs_in_server(&self, fresh: &Self) -> bool {
        // Compares the `Debug` output, which contains every field.
        let server = |config: &Self| {
            let Self { endpoint, gateway, watched_uris, sandbox, shutdown_grace, log, .. } = config;
            // Over stdio, `endpoint.caller` is a copy of `local_caller`, which is compared separately.
            let caller = if self.is_over_stdio { &self.local_caller } else { &endpoint.caller };
            let (auth, caller) = (auth::Config::default(), caller.clone());
            let endpoint = endpoint::Config { auth, caller, ..endpoint.clone() };
            let gateway = (gateway.page_size, &gateway.instructions);
            format!("{endpoint:?} {gateway:?} {watched_uris} {} {shutdown_grace:?} {log:?}", sandbox.slots)
        };
        server(self) != server(fresh)
    }
}

fn differs_in_state_dir(old: &Team, new: &Team) -> bool {
    old.reconcile.approvals != new.reconcile.approvals && old.plugins == new.plugins
}

/// Combines the parts of `new` that apply immediately with the parts of `old` that need a restart.
fn applied_immediately(old: &Team, new: &Team) -> reconcile::Config {
    reconcile::Config {
        relative_to: old.reconcile.relative_to.clone(),
        approvals: old.reconcile.approvals.clone(),
        scan_interval: old.reconcile.scan_interval,
        ..new.reconcile.clone()
    }
}
