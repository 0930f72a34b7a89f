//! The parts of one team, which are not shared with other teams: its sources, its catalog, and the tasks that
//! keep the catalog up to date.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::Notify;
use tracing::Instrument as _;

use super::Purpose;
use super::critical_tasks::CriticalTasks;
use super::registry::{RegistryHandle, TeamSources};
use super::replicas::Replicas;
use super::stored_state;
use crate::text_indexes::TextIndexes;
use larder_builtin::BuiltinHandle;
use larder_config as config;
use larder_core::audit::AuditLog;
use larder_core::catalog::{self, Notifier, Reader};
use larder_core::change_detector::{self, ChangeDetector};
use larder_core::reconcile::{Components, ConfigHandle, Reconciler, ReconcilerParts, StartLimits};
use larder_core::replicas::{Single, TeamReplicas};
use larder_core::search_index::{IndexProgress, SearchIndexer};
use larder_core::skill_snapshots::SkillFollower;
use larder_core::source::Folder;
use larder_key_value::{KeyValueStore, database_path};
use larder_model::name::TeamName;
use larder_model::policy::QuotaUsage;
use larder_provider::{Engine, SignalSender};
use larder_runtime::drain::Drain;
use larder_runtime::health::Health;

/// The running parts of one team.
pub(super) struct Team {
    pub(super) reader: Reader,
    pub(super) signals: SignalSender,
    /// `None` if the configuration has no teams: fair sharing concerns only several teams.
    pub(super) quota_usage: Option<Arc<QuotaUsage>>,
    /// The drain of the team's tasks and calls. It can be stopped alone.
    pub(super) drain: Drain,
    pub(super) key_value: KeyValueStore,
    /// Changes the components that come from the program.
    pub(super) builtin: BuiltinHandle,
    /// Changes the components that come from registries.
    pub(super) registry: RegistryHandle,
    /// The progress of the full-text index, which operators see.
    pub(super) index_progress: IndexProgress,
    /// The components of the team, which operators see.
    pub(super) components: Components,
    reconcile: Reconciler,
    change_detector: ChangeDetector,
    /// `None` if the server has no full-text index.
    search_indexer: Option<SearchIndexer>,
    persists_state: bool,
    skill_follower: SkillFollower,
    /// Adds the name of the team to log lines, if the configuration has teams.
    span: tracing::Span,
}

/// The services that all teams share.
#[derive(Clone)]
pub(super) struct SharedServices {
    pub(super) engine: Arc<dyn Engine>,
    /// The other replicas of this server; none if it has no replicas.
    pub(super) replicas: Option<Replicas>,
    pub(super) drain: Drain,
    pub(super) health: Health,
    pub(super) audit: AuditLog,
    pub(super) watched_uris: usize,
    pub(super) change_detector: change_detector::Config,
    /// The folder with the values that providers store, and with the full-text indexes.
    pub(super) state_dir: PathBuf,
    pub(super) purpose: Purpose,
    pub(super) text_indexes: TextIndexes,
}

impl Team {
    /// Creates the parts of a team. Nothing is loaded yet.
    pub(super) fn new(config: config::Team, services: &SharedServices) -> Self {
        let drain = services.drain.child();
        let name = config.reconcile.team.clone();
        let span = span(&config);
        if services.purpose.is_server() {
            stored_state::take_over(&config, &services.state_dir, &services.health);
        }
        let index_progress = services.index_progress(&config);
        let key_value = services.key_value(&config, &drain);
        let replicas = services.team_replicas(&name);
        let folder = folder(&config);
        let approvals = config.reconcile.approvals.clone();
        let quota_usage = config.quota.map(|quota| Arc::new(QuotaUsage::new(quota)));
        let events = services.engine.metrics().events().clone();
        let (writer, reader) = catalog::catalog(name, services.watched_uris, events);
        let notifier = writer.notifier();
        let skill_writer = writer.skill_writer();
        let sources =
            span.in_scope(|| TeamSources::new(folder, config.builtin, config.registry, &drain));
        let parts = ReconcilerParts {
            sources: sources.sources,
            engine: services.engine.clone(),
            writer,
            quota_usage: quota_usage.clone(),
            key_value: Some(key_value.clone()),
            drain: drain.clone(),
        };
        let reconcile = Reconciler::new(config.reconcile, parts)
            .with_health(services.health.clone())
            .with_audit(services.audit.clone())
            .with_replicas(replicas.clone());
        let persists_state = services.purpose.persists_state();
        let reconcile = if persists_state {
            reconcile
        } else {
            reconcile.without_persistence()
        };
        let signals = reconcile.signals();
        let components = reconcile.components();
        let change_detector =
            services.change_detector(&reader, notifier, &signals, replicas, &drain);
        let search_indexer = services.search_indexer(&reader, &index_progress, &drain);
        let skill_follower = SkillFollower::new(&reader, skill_writer, &signals, &drain);
        Self {
            reader,
            signals,
            quota_usage,
            drain,
            key_value,
            builtin: sources.builtin,
            registry: sources.registry,
            index_progress,
            components,
            reconcile,
            change_detector,
            search_indexer,
            persists_state,
            skill_follower: skill_follower.with_approvals(approvals),
            span,
        }
    }

    /// Loads the components of the team's sources. With limits, loads as many as possible within them.
    pub(super) async fn load(&mut self, limits: Option<StartLimits>) {
        let loading = async {
            match limits {
                Some(limits) => self.reconcile.run_first_pass(limits).await,
                None => self.reconcile.run_pass().await,
            }
        };
        let pass = loading.instrument(self.span.clone()).await;
        self.span.in_scope(|| tracing::debug!(%pass, "loaded"));
        match limits {
            Some(limits) => {
                // The first request must find skills and pages. A slow provider delays the start only until the limit.
                let update = self.skill_follower.update();
                _ = tokio::time::timeout(limits.own_calls, update).await;
            }
            None => self.skill_follower.build_once().await,
        }
    }

    /// Returns the notification that triggers a scan.
    pub(super) fn wake(&self) -> Arc<Notify> {
        self.reconcile.wake()
    }

    /// Returns the handle that changes grants and limits.
    pub(super) fn config_handle(&self) -> ConfigHandle {
        self.reconcile.config_handle()
    }

    /// Starts the tasks that keep the catalog up to date.
    pub(super) fn start_updates(self, critical_tasks: &CriticalTasks) {
        let spawn =
            |name, task: BoxFuture<'static, ()>| critical_tasks.spawn_in(&self.drain, name, task);
        spawn(
            "reconcile",
            self.reconcile.run().instrument(self.span.clone()).boxed(),
        );
        if self.persists_state {
            let key_value = self.key_value;
            // Failures are reported to health.
            self.drain.spawn(async move { key_value.load().await });
        }
        if let Some(search_indexer) = self.search_indexer.filter(|_| self.persists_state) {
            spawn(
                "search_indexer",
                search_indexer.run().instrument(self.span.clone()).boxed(),
            );
        }
        spawn(
            "skill_follower",
            self.skill_follower
                .run()
                .instrument(self.span.clone())
                .boxed(),
        );
        spawn(
            "change_detector",
            self.change_detector.run().instrument(self.span).boxed(),
        );
    }
}

impl SharedServices {
    fn index_progress(&self, config: &config::Team) -> IndexProgress {
        let team = &config.reconcile;
        let key = team.approvals.key();
        let index = self.text_indexes.of_team(&self.state_dir, key, &team.team);
        IndexProgress::new(index)
    }

    fn key_value(&self, config: &config::Team, drain: &Drain) -> KeyValueStore {
        let team = &config.reconcile;
        let path = database_path(&self.state_dir, team.approvals.key(), &team.team);
        KeyValueStore::new(path, &team.team, self.health.clone(), drain)
    }

    fn change_detector(
        &self,
        reader: &Reader,
        notifier: Notifier,
        signals: &SignalSender,
        replicas: Arc<dyn TeamReplicas>,
        drain: &Drain,
    ) -> ChangeDetector {
        ChangeDetector::new(
            self.change_detector.clone(),
            reader.clone(),
            notifier,
            signals.clone(),
            replicas,
            drain.clone(),
        )
        .with_health(self.health.clone())
    }

    fn search_indexer(
        &self,
        reader: &Reader,
        progress: &IndexProgress,
        drain: &Drain,
    ) -> Option<SearchIndexer> {
        let health = self.health.clone();
        SearchIndexer::new(reader.clone(), progress.clone(), health, drain.clone())
    }

    /// Returns the same team at the other replicas.
    fn team_replicas(&self, team: &TeamName) -> Arc<dyn TeamReplicas> {
        match &self.replicas {
            Some(replicas) => replicas.team(team),
            None => Arc::new(Single),
        }
    }
}

fn span(config: &config::Team) -> tracing::Span {
    if config.quota.is_some() {
        tracing::error_span!("team", team = %config.reconcile.team)
    } else {
        tracing::Span::none()
    }
}

fn folder(config: &config::Team) -> Folder {
    let folder = Folder::new(config.plugins.clone());
    if config.quota.is_some() {
        folder.without_links_to_outside()
    } else {
        folder
    }
}
