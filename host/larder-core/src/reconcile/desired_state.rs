//! The desired state: the artifacts of all sources, each with its current configuration.

mod component_names;
mod source_state;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use self::component_names::ComponentNames;
use self::source_state::SourceState;
use super::{Config, ProviderConfig};
use crate::catalog::PendingApproval;
use crate::source::{Artifact, ScanTriggers, SignedSubject, Source};
use larder_model::name::ProviderName;
use larder_model::policy::{Ceiling, OwnFiles, QuotaUsage};
use larder_model::signature::{NoVerification, SignatureVerifier};
use larder_runtime::file_fingerprint::FileFingerprint;

/// A component that should be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DesiredComponent {
    pub(super) artifact: Artifact,
    pub(super) config: ProviderConfig,
    pub(super) ceiling: Arc<Ceiling>,
    /// The files of the host. A new team adds files, which a grant request must not contain either.
    pub(super) own_files: Arc<OwnFiles>,
    /// The signers that are trusted.
    pub(super) trust: Trust,
    /// Whether the team has reached its provider quota with the components before this one.
    pub(super) exceeds_quota: bool,
    /// Fingerprint of the approvals file. When it changes, a pending revision may be approved by now.
    approvals: Option<FileFingerprint>,
}

impl DesiredComponent {
    /// Whether this component and another one differ at most in the content of the component.
    pub(super) fn is_same_otherwise(&self, other: &Self) -> bool {
        let artifact = Artifact {
            component: other.artifact.component.clone(),
            ..self.artifact.clone()
        };
        Self {
            artifact,
            ..self.clone()
        } == *other
    }
}

/// Two values are equal if they trust the same signers.
#[derive(Debug, Clone)]
pub(super) struct Trust(pub(super) Arc<dyn SignatureVerifier>);

impl PartialEq for Trust {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_same(&*other.0)
    }
}

impl Eq for Trust {}

/// The result of a scan of all sources.
#[derive(Default)]
pub(super) struct DesiredComponents {
    pub(super) components: Vec<DesiredComponent>,
    /// The names of all components, also of components that a source has not fetched yet.
    pub(super) names: BTreeSet<String>,
    /// The names whose source cannot be read. Their components stay as they are.
    pub(super) unknown: BTreeSet<String>,
    /// Fingerprint of the approvals file.
    pub(super) approvals: Option<FileFingerprint>,
    /// New artifacts that wait for approval, as their sources report.
    pub(super) pending_approvals: Vec<PendingApproval>,
    /// When to scan again, because artifacts are still changing.
    pub(super) rescan_after: Option<Duration>,
    /// After this time, another scan withdraws the components of a missing source.
    pub(super) withdraw_after: Option<Duration>,
    /// Why sources cannot be read; none if all can be read.
    pub(super) source_error: Option<String>,
    /// The problem with single artifacts; none if there is no problem.
    pub(super) artifact_error: Option<String>,
    /// The problems that were not reported before.
    pub(super) new_problems: Vec<String>,
}

/// Returns the earlier of two times, of which each may be unknown.
pub(super) fn earlier(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.into_iter().chain(other).min()
}

/// Computes the desired state.
pub(super) struct DesiredState {
    config: Config,
    sources: Vec<SourceState>,
    config_updates: watch::Receiver<Config>,
    /// Limits the number of components. The first components in the order of the sources and their artifacts are
    /// served.
    quota_usage: Option<Arc<QuotaUsage>>,
}

impl DesiredState {
    pub(super) fn new(
        sources: Vec<Box<dyn Source>>,
        config_updates: watch::Receiver<Config>,
        quota_usage: Option<Arc<QuotaUsage>>,
    ) -> Self {
        let config = config_updates.borrow().clone();
        warn_about_ceiling(&config);
        Self {
            sources: sources.into_iter().map(SourceState::new).collect(),
            config,
            config_updates,
            quota_usage,
        }
    }

    /// Registers what triggers a scan.
    pub(super) fn register_triggers(&mut self, triggers: &mut ScanTriggers) {
        if let Some(folder) = self.config.approvals.file().parent().map(Path::to_owned) {
            triggers.watch_folder(folder);
        }
        self.sources
            .iter_mut()
            .for_each(|state| state.register_triggers(triggers));
    }

    /// Scans all sources. Blocks the calling thread.
    pub(super) fn scan(&mut self) -> DesiredComponents {
        self.apply_config_update();
        let Self {
            config,
            sources,
            quota_usage,
            ..
        } = self;
        let max_components = quota_usage.as_ref().map_or(usize::MAX, |quota_usage| {
            quota_usage.quota().providers as usize
        });
        let approvals = FileFingerprint::of(&config.approvals.file()).ok();
        let mut desired = DesiredComponents::default();
        let mut names = ComponentNames::default();
        for state in sources {
            let first = names.len();
            let artifacts = state.scan(config, &mut names, &mut desired);
            let components =
                artifacts
                    .into_iter()
                    .enumerate()
                    .map(|(at, artifact)| DesiredComponent {
                        config: provider_config(config, &artifact.name),
                        ceiling: config.ceiling.clone(),
                        own_files: config.own_files.clone(),
                        trust: trust(config, &artifact.signatures.subject),
                        artifact,
                        exceeds_quota: first + at >= max_components,
                        approvals,
                    });
            desired.components.extend(components);
        }
        desired.names = names.into_set();
        desired.approvals = approvals;
        desired
    }

    /// Applies a configuration that was set since the last scan.
    fn apply_config_update(&mut self) {
        if self.config_updates.has_changed().unwrap_or(false) {
            self.config = self.config_updates.borrow_and_update().clone();
            warn_about_ceiling(&self.config);
        }
    }
}

/// Nobody has to sign a component that is a part of the program.
fn trust(config: &Config, subject: &SignedSubject) -> Trust {
    match subject {
        SignedSubject::Program => Trust(Arc::new(NoVerification)),
        SignedSubject::Component | SignedSubject::Manifest(_) => Trust(config.trust.clone()),
    }
}

fn provider_config(config: &Config, name: &str) -> ProviderConfig {
    let named = ProviderName::parse(name)
        .ok()
        .and_then(|name| config.providers.get(&name));
    let provider_config = named.unwrap_or(&config.default).clone();
    ProviderConfig {
        grant: Arc::new(config.ceiling.cap(&provider_config.grant).allowed),
        ..provider_config
    }
}

/// Warns about grants that exceed the team's ceiling. The ceiling limits these grants.
fn warn_about_ceiling(config: &Config) {
    for (provider, provider_config) in &config.providers {
        for line in config.ceiling.cap(&provider_config.grant).denied {
            let team = &config.team;
            tracing::warn!(%team, %provider, line, "not granted: beyond the ceiling of the team");
        }
    }
}
