//! Reloads the configuration while the server runs. Credentials are reloaded separately, so that revoking one
//! neither waits for the folders of teams nor depends on the rest of the file being valid.

use std::sync::Arc;

use tokio::sync::Notify;

use super::critical_tasks::CriticalTasks;
use super::file_watcher::WatchedFile;
use crate::config::Config;
use larder_core::audit::{AuditEvent, AuditLog};
use larder_core::reconcile::ConfigHandle;
use larder_mcp::auth::Authenticator;
use larder_model::name::TeamName;
use larder_runtime::drain::Drain;
use larder_runtime::health::Health;

/// Reloads the configuration whenever the file changes.
pub(super) struct ConfigReloader {
    config: Config,
    authenticator: Authenticator,
    teams: Vec<(TeamName, ConfigHandle)>,
    health: Health,
    audit: AuditLog,
    wakes: [Arc<Notify>; 2],
}

impl ConfigReloader {
    /// Returns `None` if no configuration file is used.
    pub(super) fn new(
        config: &Config,
        authenticator: &Authenticator,
        teams: impl Iterator<Item = (TeamName, ConfigHandle)>,
        (health, audit): (&Health, &AuditLog),
    ) -> Option<Self> {
        config.file.as_ref()?;
        let (config, authenticator) = (config.clone(), authenticator.clone());
        let (health, audit, teams) = (health.clone(), audit.clone(), teams.collect());
        Some(Self { config, authenticator, teams, health, audit, wakes: Default::default() })
    }

    /// Returns the notifications that trigger a check of the file.
    pub(super) fn wakes(&self) -> impl Iterator<Item = Arc<Notify>> {
        self.wakes.iter().cloned()
    }

    /// Starts to watch the file.
    pub(super) fn start(self, critical_tasks: &CriticalTasks, drain: &Drain) {
        let Some(path) = self.config.file.clone() else { return };
        let applied = self.config.fingerprint;
        let intervals = self.config.teams.values().map(|team| team.reconcile.scan_interval);
        let scan_interval = intervals.min().unwrap_or_default();
        let [first, second] = self.wakes;
        let watched_file = |section, wake| {
            let (path, health) = (path.clone(), self.health.clone());
            WatchedFile { section, path, applied, scan_interval, health, wake }
        };
        let credentials = watched_file("credentials", first).run(drain.clone(), {
            let (config, audit) = (self.config.clone(), self.audit.clone());
            move || audited(&audit, "reload-credentials", || reload_auth(&config, &self.authenticator))
        });
        critical_tasks.spawn("credentials", credentials);
        let (config, teams, audit) = (self.config, self.teams, self.audit);
        let configuration = watched_file("configuration", second);
        critical_tasks.spawn(
            "configuration",
            configuration.run(drain.clone(), move || {
                audited(&audit, "reload-configuration", || reload_config(&config, &teams))
            }),
        );
    }
}

/// Reloads, and records the result in the audit log.
fn audited(
    audit: &AuditLog,
    operation: &'static str,
    reload: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let result = reload();
    let outcome = if result.is_ok() { "ok" } else { "failed" };
    let details: Vec<_> = result.as_ref().err().cloned().into_iter().collect();
    audit.record(&AuditEvent { details: &details, ..AuditEvent::new(operation, outcome) });
    result
}

fn reload_auth(config: &Config, authenticator: &Authenticator) -> Result<(), String> {
    let reloaded = config.reload_auth(&authenticator.config()).map_err(|error| error.to_string())?;
    authenticator.reload(reloaded.auth);
    match reloaded.error {
        None => Ok(()),
        Some(error) => Err(format!(
            "removed credentials are revoked; other changes have no effect until these errors are fixed: {error}"
        )),
    }
}

fn reload_config(config: &Config, teams: &[(TeamName, ConfigHandle)]) -> Result<(), String> {
    let mut reload = config.reload().map_err(|error| error.to_string())?;
    for key in reload.needs_restart {
        tracing::warn!(key, "changed; this takes effect after a restart");
    }
    for team in reload.new_teams {
        tracing::warn!(
            %team,
            "team added; it is served only after a restart, and until then its members see nothing of it"
        );
    }
    for (team, config_handle) in teams {
        match reload.teams.remove(team) {
            Some(config) => config_handle.update(config),
            None => tracing::warn!(%team, "team removed; it is served until a restart"),
        }
    }
    Ok(())
}
