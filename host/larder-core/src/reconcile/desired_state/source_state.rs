//! One source and what is known from its last scan: its names, its pending approvals, and its problems. While a source
//! is missing, its last artifacts stay for a grace period, so that a short absence has no effect.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

use tokio::time::Instant;

use super::super::{ApprovalsError, Config, RejectedRequest};
use super::component_names::ComponentNames;
use super::{DesiredComponents, earlier, provider_config};
use crate::catalog::PendingApproval;
use crate::source::{Artifact, PendingArtifact, Scan, ScanTriggers, Source};
use larder_model::name::{Digest, ProviderName};
use larder_model::policy::ApprovalMode;

/// Timers may fire early.
const TIMER_SLACK: Duration = Duration::from_millis(2);

pub(super) struct SourceState {
    source: Box<dyn Source>,
    /// What the last scan found for which the source was not missing.
    found: (Vec<Artifact>, Vec<PendingArtifact>),
    missing_since: Option<Instant>,
    names: BTreeSet<String>,
    pending_approvals: Vec<PendingApproval>,
    source_error: Option<String>,
    artifact_error: Option<String>,
}

impl SourceState {
    pub(super) fn new(source: Box<dyn Source>) -> Self {
        Self {
            source,
            found: Default::default(),
            missing_since: None,
            names: BTreeSet::new(),
            pending_approvals: Vec::new(),
            source_error: None,
            artifact_error: None,
        }
    }

    pub(super) fn register_triggers(&mut self, triggers: &mut ScanTriggers) {
        self.source.register_triggers(triggers);
    }

    /// Scans the source. Returns its artifacts, except those whose names an earlier source has, and adds their names
    /// to `names`. Adds everything else to `desired`. Blocks the calling thread.
    pub(super) fn scan(
        &mut self,
        config: &Config,
        names: &mut ComponentNames,
        desired: &mut DesiredComponents,
    ) -> Vec<Artifact> {
        let mut artifacts = Vec::new();
        match self.source.scan() {
            Ok(scan) => {
                let scan = self.keep_while_missing(scan, config.missing_source_grace, desired);
                desired.rescan_after = earlier(desired.rescan_after, scan.rescan_after);
                artifacts = self.select(config, names, scan, &mut desired.new_problems);
            }
            Err(cause) => {
                let error = format!("cannot read {}: {cause}", self.source.location());
                report_once(
                    &mut self.source_error,
                    Some(error),
                    &mut desired.new_problems,
                );
                self.reserve_names(names, desired);
            }
        }
        desired
            .pending_approvals
            .extend(self.pending_approvals.iter().cloned());
        append(&mut desired.source_error, self.source_error.as_deref());
        append(&mut desired.artifact_error, self.artifact_error.as_deref());
        artifacts
    }

    /// Reserves the names of the last scan, because the source cannot be read.
    fn reserve_names(&self, names: &mut ComponentNames, desired: &mut DesiredComponents) {
        let own = self
            .names
            .iter()
            .filter(|name| names.insert(name).is_none());
        desired.unknown.extend(own.cloned());
    }

    /// Returns the scan. If the source is missing, returns the result of the previous scan until the grace period is
    /// over.
    fn keep_while_missing(
        &mut self,
        scan: Scan,
        grace: Duration,
        desired: &mut DesiredComponents,
    ) -> Scan {
        let Some(why) = &scan.missing else {
            self.remember_scan(&scan);
            return scan;
        };
        let since = self.missing_since.get_or_insert_with(Instant::now);
        let left = grace.saturating_sub(since.elapsed());
        let what = if left.is_zero() {
            self.forget_scan();
            "its components are not served any more".to_owned()
        } else {
            desired.withdraw_after = earlier(desired.withdraw_after, Some(left + TIMER_SLACK));
            format!("its components are served for {grace:?} without it")
        };
        let error = format!("cannot read {}: {why}; {what}", self.source.location());
        report_once(
            &mut self.source_error,
            Some(error),
            &mut desired.new_problems,
        );
        let (artifacts, pending) = self.found.clone();
        Scan {
            artifacts,
            pending,
            ..scan
        }
    }

    fn remember_scan(&mut self, scan: &Scan) {
        self.source_error = None;
        self.missing_since = None;
        self.found = (scan.artifacts.clone(), scan.pending.clone());
    }

    fn forget_scan(&mut self) {
        self.found = Default::default();
        self.source.accept_replacement();
    }

    /// Returns the artifacts of a scan that are to be served. Approved pending artifacts are included.
    fn select(
        &mut self,
        config: &Config,
        names: &mut ComponentNames,
        scan: Scan,
        new_problems: &mut Vec<String>,
    ) -> Vec<Artifact> {
        let Scan {
            mut artifacts,
            pending,
            unreadable,
            reserved,
            ..
        } = scan;
        let approvals_error = self.apply_approvals(config, &mut artifacts, pending).err();
        let mut selected = Vec::new();
        let mut duplicates = Vec::new();
        for artifact in artifacts {
            match names.insert(&artifact.name) {
                None => selected.push(artifact),
                Some(used) => duplicates.push(Duplicate::new(artifact, used)),
            }
        }
        for name in &reserved {
            names.insert(name);
        }
        self.names = selected
            .iter()
            .map(|artifact| artifact.name.clone())
            .collect();
        let mut error = approvals_error.map(|error| format!("cannot read the approvals: {error}"));
        append(&mut error, describe_unreadable(&unreadable).as_deref());
        append(&mut error, describe_duplicates(&duplicates).as_deref());
        report_once(&mut self.artifact_error, error, new_problems);
        selected
    }

    /// Replaces artifacts by the approved pending artifacts of the same name. Records the other pending artifacts.
    fn apply_approvals(
        &mut self,
        config: &Config,
        artifacts: &mut Vec<Artifact>,
        pending: Vec<PendingArtifact>,
    ) -> Result<(), ApprovalsError> {
        let before = std::mem::take(&mut self.pending_approvals);
        let mut result = Ok(());
        for request in pending.into_iter().filter_map(ApprovalRequest::of) {
            let unapproved = request.unapproved(config);
            let unapproved = unapproved.unwrap_or_else(|error| {
                result = Err(error);
                request.lines.clone()
            });
            let rejection = request.rejection(config, &unapproved);
            let rejection = rejection.unwrap_or_else(|error| {
                result = Err(error);
                None
            });
            let artifact = request.artifact;
            if let Some(rejection) = rejection {
                tracing::debug!(origin = artifact.origin, "not loaded: {rejection}");
            } else if unapproved.is_empty() {
                self.source.accept(&artifact);
                artifacts.retain(|other| other.name != artifact.name);
                artifacts.push(*artifact);
            } else if let Ok(provider) = ProviderName::parse(&artifact.name) {
                let digest = request.digest;
                let pending = pending_approval(config, provider, digest, unapproved, &before);
                self.pending_approvals.push(pending);
            }
        }
        result
    }
}

/// An artifact that is used once its lines are approved.
struct ApprovalRequest {
    artifact: Box<Artifact>,
    digest: Digest,
    lines: BTreeSet<String>,
    /// Whether the operator accepts an update, rather than grants.
    is_update: bool,
}

impl ApprovalRequest {
    /// Returns the request of an artifact that is complete.
    fn of(pending: PendingArtifact) -> Option<Self> {
        let is_update = matches!(pending, PendingArtifact::Update { .. });
        match pending {
            PendingArtifact::NeedsApproval {
                artifact,
                digest,
                lines,
            }
            | PendingArtifact::Update {
                artifact,
                digest,
                lines,
            } => Some(Self {
                artifact,
                digest,
                lines,
                is_update,
            }),
            PendingArtifact::Incomplete { origin } => {
                tracing::debug!(origin, "not loaded yet: it is not complete");
                None
            }
        }
    }

    /// Returns the lines that are not approved. An artifact with an invalid name cannot be approved, but its load will be
    /// rejected. The approval mode applies only to grants, so an update needs an approval in any mode.
    fn unapproved(&self, config: &Config) -> Result<BTreeSet<String>, ApprovalsError> {
        let asks = || {
            let config = provider_config(config, &self.artifact.name);
            self.is_update || config.approval_mode == ApprovalMode::Ask
        };
        match ProviderName::parse(&self.artifact.name) {
            Ok(provider) if asks() => {
                let digest = Some(self.digest);
                config
                    .approvals
                    .unapproved_for(&config.team, &provider, digest, &self.lines)
            }
            _ => Ok(BTreeSet::new()),
        }
    }

    /// Returns the rejection of these lines, if an operator rejected them.
    fn rejection(
        &self,
        config: &Config,
        lines: &BTreeSet<String>,
    ) -> Result<Option<RejectedRequest>, ApprovalsError> {
        let name = &self.artifact.name;
        config
            .approvals
            .rejection(&config.team, name, self.digest, lines)
    }
}

fn pending_approval(
    config: &Config,
    provider: ProviderName,
    digest: Digest,
    lines: BTreeSet<String>,
    before: &[PendingApproval],
) -> PendingApproval {
    let before = before.iter().find(|before| before.provider == provider);
    PendingApproval::new(config.team.clone(), provider, digest, lines).keep_since(before)
}

/// Records the current problem and adds it to `new_problems` if it is new. Repeated scans do not report it again.
fn report_once(before: &mut Option<String>, now: Option<String>, new_problems: &mut Vec<String>) {
    if *before != now {
        new_problems.extend(now.clone());
        *before = now;
    }
}

/// Appends a problem to the problems that are already described.
fn append(problems: &mut Option<String>, more: Option<&str>) {
    match (problems.as_mut(), more) {
        (Some(problems), Some(more)) => *problems = format!("{problems}; {more}"),
        (None, Some(more)) => *problems = Some(more.to_owned()),
        (_, None) => {}
    }
}

/// Describes what cannot be read, in one sentence.
fn describe_unreadable(unreadable: &BTreeMap<String, io::Error>) -> Option<String> {
    let (origin, error) = unreadable.first_key_value()?;
    let others = and_more(unreadable.len());
    Some(format!(
        "cannot read {origin} ({error}){others}: the previous revision stays"
    ))
}

/// An artifact whose name another artifact has, maybe in another case.
struct Duplicate {
    artifact: Artifact,
    used: String,
}

impl Duplicate {
    fn new(artifact: Artifact, used: &str) -> Self {
        Self {
            artifact,
            used: used.to_owned(),
        }
    }
}

/// Describes these artifacts, in one sentence.
fn describe_duplicates(duplicates: &[Duplicate]) -> Option<String> {
    let Duplicate { artifact, used } = duplicates.first()?;
    let Artifact { origin, name, .. } = artifact;
    let others = and_more(duplicates.len());
    let reason = if name == used {
        format!("another source has a component named {name}")
    } else {
        format!("its name differs from {used} only in case (give it another name)")
    };
    Some(format!("not used, because {reason}: {origin}{others}"))
}

fn and_more(count: usize) -> String {
    match count - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    }
}
