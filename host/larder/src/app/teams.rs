//! The teams that are served. A reload of the configuration adds and removes teams while requests are served.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, watch};

use super::registry::RegistryHandle;
use super::team::{SharedServices, Team};
use larder_admin::TeamView;
use larder_builtin::BuiltinHandle;
use larder_config as config;
use larder_core::gateway::TeamParts;
use larder_core::reconcile::ConfigHandle;
use larder_model::name::TeamName;
use larder_model::policy::{Quota, QuotaUsage};
use larder_provider::SignalSender;
use larder_runtime::drain::Drain;
use larder_runtime::metrics::{ComputedFamily, Metrics};

/// All teams that are served.
pub(super) struct RunningTeams {
    services: SharedServices,
    teams: Mutex<BTreeMap<TeamName, RunningTeam>>,
    views: watch::Sender<Vec<TeamView>>,
}

/// The handles of one team.
pub(super) struct RunningTeam {
    view: TeamView,
    signals: SignalSender,
    quota_usage: Option<Arc<QuotaUsage>>,
    config_handle: ConfigHandle,
    builtin: BuiltinHandle,
    registry: RegistryHandle,
    wake: Arc<Notify>,
    /// The drain of all tasks and calls of the team.
    drain: Drain,
}

/// What changed in the set of teams.
#[derive(Default)]
pub(super) struct TeamChanges {
    /// New teams, whose tasks have to be started.
    pub(super) added: Vec<Team>,
    /// Teams that are not served any more, whose tasks have to be stopped.
    pub(super) removed: Vec<(TeamName, RunningTeam)>,
}

impl TeamChanges {
    pub(super) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }
}

impl RunningTeams {
    pub(super) fn new(services: SharedServices) -> Self {
        Self {
            services,
            teams: Mutex::default(),
            views: watch::Sender::default(),
        }
    }

    /// Sets the teams and their configurations. Changes of a team that stays are applied at once.
    pub(super) fn set(&self, configs: &BTreeMap<TeamName, config::Team>) -> TeamChanges {
        let mut teams = self.lock();
        let is_gone = |name: &TeamName, _: &mut RunningTeam| !configs.contains_key(name);
        let mut changes = TeamChanges {
            removed: teams.extract_if(.., is_gone).collect(),
            added: Vec::new(),
        };
        for (name, config) in configs {
            match teams.get(name) {
                Some(team) => team.update(config),
                None => {
                    let team = Team::new(config.clone(), &self.services);
                    teams.insert(name.clone(), RunningTeam::new(config, &team));
                    changes.added.push(team);
                }
            }
        }
        if !changes.is_empty() {
            self.views
                .send_replace(teams.values().map(|team| team.view.clone()).collect());
        }
        changes
    }

    /// Returns the data of the teams that operators see. The receiver stays current.
    pub(super) fn views(&self) -> watch::Receiver<Vec<TeamView>> {
        self.views.subscribe()
    }

    /// Returns what the gateway uses of each team.
    pub(super) fn gateway_parts(&self) -> Vec<TeamParts> {
        self.lock()
            .values()
            .map(RunningTeam::gateway_parts)
            .collect()
    }

    /// Registers how many components cannot be checked at their registry.
    pub(super) fn register_metrics(self: &Arc<Self>, metrics: &Metrics) {
        let teams = Arc::downgrade(self);
        let failing = ComputedFamily::gauges(move |samples| {
            let Some(teams) = teams.upgrade() else {
                return Ok(());
            };
            teams.lock().iter().try_for_each(|(name, team)| {
                samples.gauge(&[("team", name.as_str())], team.registry.failing() as u64)
            })
        });
        metrics.register(
            "larder_registry_failing_components",
            "Components whose last check at their registry failed",
            failing,
        );
    }

    /// Makes all teams scan their sources.
    pub(super) fn scan(&self) {
        self.lock().values().for_each(|team| team.wake.notify_one());
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<TeamName, RunningTeam>> {
        self.teams.lock()
    }
}

impl RunningTeam {
    fn update(&self, new: &config::Team) {
        self.builtin.update(new.builtin.clone());
        self.registry.update(new.registry.clone());
        self.set_quota(new.quota);
        self.config_handle.update(new.reconcile.clone());
    }

    fn set_quota(&self, quota: Option<Quota>) {
        let (Some(usage), Some(quota)) = (&self.quota_usage, quota) else {
            return;
        };
        if usage.quota() != quota {
            self.drain.spawn(usage.set(quota));
        }
    }

    fn gateway_parts(&self) -> TeamParts {
        TeamParts {
            reader: self.view.catalog.clone(),
            signals: self.signals.clone(),
            quota_usage: self.quota_usage.clone(),
            index: self.view.index.clone(),
        }
    }

    /// Stops all tasks and calls of the team, and deletes the text in its full-text index.
    pub(super) async fn remove(self, grace: Duration) {
        self.drain.finish(grace).await;
        if let Err(error) = self.view.index.forget_all().await {
            let team = self.view.catalog.team();
            tracing::warn!(%team, %error, "the full-text index of a removed team cannot be deleted");
        }
    }

    fn new(config: &config::Team, team: &Team) -> Self {
        Self {
            view: TeamView {
                plugins: config.plugins.clone(),
                catalog: team.reader.clone(),
                key_value: team.key_value.clone(),
                index: team.index_progress.clone(),
                approvals: config.reconcile.approvals.clone(),
                components: team.components.clone(),
                quota_usage: team.quota_usage.clone(),
            },
            signals: team.signals.clone(),
            quota_usage: team.quota_usage.clone(),
            config_handle: team.config_handle(),
            builtin: team.builtin.clone(),
            registry: team.registry.clone(),
            wake: team.wake(),
            drain: team.drain.clone(),
        }
    }
}
