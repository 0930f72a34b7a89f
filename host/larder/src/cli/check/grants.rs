//! The grants of each provider: configured, requested, approved and pending.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::app::full_name;
use crate::cli::sanitize;
use larder_config::Team;
use larder_core::reconcile::{ApprovalsError, Config, MAX_GRANT_REQUEST_SIZE};
use larder_core::source::{Artifact, Blob, FetchOutcome, Folder, Source as _};
use larder_model::name::ProviderName;
use larder_model::policy::{ApprovalMode, Grant, GrantRequest, HostRule, grant_lines};
use larder_model::size;

#[derive(Debug, Default, Serialize)]
pub(in crate::cli) struct GrantReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    team: Option<String>,
    provider: String,
    /// The error in the NAME.toml of the component.
    fault: Option<String>,
    /// Grants that NAME.toml requests beyond the grant in the operator's configuration.
    requested: BTreeSet<String>,
    /// Granted or requested grants, within the ceiling of the team.
    allowed: BTreeSet<String>,
    /// Granted by the operator's configuration.
    granted: BTreeSet<String>,
    /// Requested and approved.
    approved: BTreeSet<String>,
    /// Grants that are requested and not approved.
    pending_approval: BTreeSet<String>,
    /// Granted or requested grants beyond the ceiling of the team.
    denied: BTreeSet<String>,
}

/// Returns the reports of all components in the folder of a team, except empty ones.
pub(super) fn of_team(team: &Team) -> Result<Vec<GrantReport>, ApprovalsError> {
    let config = &team.reconcile;
    let scan = Folder::new(team.plugins.clone()).scan().unwrap_or_default();
    // Requests that follow from the imports of a component are known only if a server has recorded them.
    let pending = config.approvals.pending()?;
    let mut reports = Vec::new();
    for artifact in &scan.artifacts {
        let Ok(name) = ProviderName::parse(&artifact.name) else {
            continue;
        };
        let mut report = of_provider(config, &name, artifact)?;
        report.team = team.quota.is_some().then(|| config.team.to_string());
        let own = pending
            .iter()
            .filter(|one| one.provider == name.as_str() && one.team == config.team.as_str());
        report
            .pending_approval
            .extend(own.flat_map(|one| one.lines.clone()));
        reports.push(report);
    }
    reports.retain(|report| !report.is_empty());
    Ok(reports)
}

/// Returns the report of a component in any folder, as if this configuration applied to it.
pub(in crate::cli) fn of_file(
    config: &Config,
    path: &Path,
) -> Result<Option<GrantReport>, ApprovalsError> {
    let config = Config {
        relative_to: folder_of(path),
        ..config.clone()
    };
    of_copied_file(&config, path)
}

/// Returns the folder of a file, without links if it exists.
pub(in crate::cli) fn folder_of(path: &Path) -> PathBuf {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => ".".into(),
    };
    folder.canonicalize().unwrap_or(folder)
}

/// Returns the report of a component whose folder is unrelated to the paths in its `NAME.toml`.
pub(in crate::cli) fn of_copied_file(
    config: &Config,
    path: &Path,
) -> Result<Option<GrantReport>, ApprovalsError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let scan = Folder::new(folder.to_owned()).scan().unwrap_or_default();
    let own = scan
        .artifacts
        .iter()
        .find(|artifact| Some(artifact.origin.as_ref()) == path.file_name());
    let Some(artifact) = own else { return Ok(None) };
    let Ok(name) = ProviderName::parse(&artifact.name) else {
        return Ok(None);
    };
    let report = of_provider(config, &name, artifact)?;
    Ok(Some(report).filter(|report| !report.is_empty()))
}

/// Returns a warning for each secret that enters a guest, where it can be read and sent to others.
pub(super) fn secrets_in_guests(team: &Team, reports: &[GrantReport]) -> BTreeSet<String> {
    let config = &team.reconcile;
    let name_of_team = team.quota.is_some().then(|| config.team.to_string());
    let builtin = config
        .providers
        .iter()
        .filter(|(name, _)| team.builtin.contains_key(*name));
    let of_builtin = builtin.flat_map(|(name, provider)| {
        let lines = grant_lines(&config.ceiling.cap(&provider.grant).allowed);
        let name = full_name(name_of_team.as_deref(), name.as_str());
        lines.into_iter().map(move |line| (name.clone(), line))
    });
    let of_reports = reports.iter().flat_map(|report| {
        let lines = report.allowed.iter();
        lines.map(|line| (report.name(), line.clone()))
    });
    of_builtin
        .chain(of_reports)
        .filter_map(|(name, line)| Some(secret_in_guest(&name, line.strip_prefix("secret ")?)))
        .collect()
}

fn secret_in_guest(name: &str, secret: &str) -> String {
    format!(
        "{name}: the secret {secret} enters the provider, which can pass it on; if it is for HTTP requests, set `hosts` \
         in its [secret] section, and `auth` in `hosts` of the provider instead of `secrets`"
    )
}

/// Returns the rules for HTTP requests of each provider of a team, within its ceiling: those of the configuration, and
/// those that a NAME.toml requests if everything in it is granted or approved.
pub(in crate::cli) fn host_rules(
    team: &Team,
) -> Result<BTreeMap<ProviderName, Vec<HostRule>>, ApprovalsError> {
    let config = &team.reconcile;
    let configured = config.providers.iter().map(|(name, provider)| {
        let granted = config.ceiling.cap(&provider.grant).allowed;
        (name.clone(), granted.hosts)
    });
    let mut rules: BTreeMap<_, _> = configured.collect();
    let scan = Folder::new(team.plugins.clone()).scan().unwrap_or_default();
    for artifact in &scan.artifacts {
        let Ok(name) = ProviderName::parse(&artifact.name) else {
            continue;
        };
        if let Some(grant) = approved_grant(config, &name, artifact)? {
            rules.insert(name, grant.hosts);
        }
    }
    Ok(rules)
}

/// Returns the grant of a component with a NAME.toml that is valid, granted and approved.
fn approved_grant(
    config: &Config,
    name: &ProviderName,
    artifact: &Artifact,
) -> Result<Option<Grant>, ApprovalsError> {
    let Some(Ok(request)) = parse_request(config, artifact) else {
        return Ok(None);
    };
    let provider = config.providers.get(name).unwrap_or(&config.default);
    let granted = config.ceiling.cap(&provider.grant).allowed;
    let request = config.ceiling.cap_request(request).allowed;
    let beyond = request.lines_beyond(&granted);
    let unapproved = unapproved(config, name, artifact, &beyond)?;
    Ok(unapproved.is_empty().then(|| request.merged_into(&granted)))
}

fn of_provider(
    config: &Config,
    name: &ProviderName,
    artifact: &Artifact,
) -> Result<GrantReport, ApprovalsError> {
    let provider = config.providers.get(name).unwrap_or(&config.default);
    let capped = config.ceiling.cap(&provider.grant);
    let granted = grant_lines(&capped.allowed);
    let mut report = GrantReport {
        provider: name.to_string(),
        allowed: granted.clone(),
        granted,
        denied: capped.denied,
        ..GrantReport::default()
    };
    match parse_request(config, artifact) {
        None => {}
        Some(Err(fault)) => report.fault = Some(fault),
        Some(Ok(request)) => {
            report.requested = request.lines_beyond(&capped.allowed);
            let request = config.ceiling.cap_request(request);
            let beyond = request.allowed.lines_beyond(&capped.allowed);
            report.allowed.extend(beyond.clone());
            report.denied.extend(&report.requested - &beyond);
            report.pending_approval = unapproved(config, name, artifact, &beyond)?;
            report.approved = beyond
                .difference(&report.pending_approval)
                .cloned()
                .collect();
        }
    }
    Ok(report)
}

/// Returns the request in the NAME.toml of a component, or its error. None without a NAME.toml.
fn parse_request(config: &Config, artifact: &Artifact) -> Option<Result<GrantRequest, String>> {
    let text = text(artifact.grant_request.as_ref()?);
    Some(text.and_then(|text| (config.parse_grant_request)(&text, &config.relative_to)))
}

fn text(grant_request: &Blob) -> Result<String, String> {
    match grant_request.fetch(MAX_GRANT_REQUEST_SIZE) {
        Ok(FetchOutcome::Bytes(bytes)) => {
            String::from_utf8(bytes.into()).map_err(|error| error.to_string())
        }
        Ok(FetchOutcome::TooLarge(size)) => Err(format!(
            "it has {}; the limit is {}",
            size::show(size),
            size::show(MAX_GRANT_REQUEST_SIZE)
        )),
        Err(error) => Err(format!("cannot read it: {error}")),
    }
}

/// Returns the lines that are not approved for this component. The component is read only if an approval may depend on
/// its digest.
fn unapproved(
    config: &Config,
    name: &ProviderName,
    artifact: &Artifact,
    lines: &BTreeSet<String>,
) -> Result<BTreeSet<String>, ApprovalsError> {
    let provider = config.providers.get(name).unwrap_or(&config.default);
    if provider.approval_mode == ApprovalMode::Always {
        return Ok(BTreeSet::new());
    }
    let unapproved = config.approvals.unapproved(&config.team, name, lines)?;
    if unapproved.is_empty() {
        return Ok(unapproved);
    }
    // If the component cannot be read, that is reported as a problem of its own.
    let digest = artifact.component.digest().ok();
    config
        .approvals
        .unapproved_for(&config.team, name, digest, lines)
}

impl GrantReport {
    /// Returns the lines of NAME.toml's requests, or its error.
    pub(in crate::cli) fn request_lines(&self) -> impl Iterator<Item = String> {
        let fault = self.fault.iter().map(|fault| format!("NAME.toml: {fault}"));
        fault.chain(self.requested.iter().cloned())
    }

    fn is_empty(&self) -> bool {
        self.is_fine() && self.requested.is_empty() && self.granted.is_empty()
    }

    /// Returns whether there are no problems.
    pub(super) fn is_fine(&self) -> bool {
        self.fault.is_none() && self.pending_approval.is_empty() && self.denied.is_empty()
    }

    fn name(&self) -> String {
        full_name(self.team.as_deref(), &self.provider)
    }

    /// Formats the report for a terminal.
    pub(in crate::cli) fn show(&self) -> String {
        let mut shown = format!("{}\n", self.name());
        for (group, lines) in self.groups() {
            for line in lines {
                shown += &format!("  {group:9}  {}\n", sanitize::line(line));
            }
        }
        shown
    }

    fn groups(&self) -> [(&'static str, &BTreeSet<String>); 4] {
        [
            ("granted", &self.granted),
            ("approved", &self.approved),
            ("pending", &self.pending_approval),
            ("denied", &self.denied),
        ]
    }

    /// Returns the problems, and how to solve them.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let name = self.name();
        if let Some(fault) = &self.fault {
            problems.push(format!("{name}.toml: {fault}"));
        }
        if !self.pending_approval.is_empty() {
            problems.push(self.pending_problem());
        }
        if !self.denied.is_empty() {
            problems.push(match &self.team {
                Some(team) => format!(
                    "{name} exceeds [team.{team}.ceiling]: raise the ceiling, or remove the grant or the request"
                ),
                None => {
                    format!(
                        "{name} requests a secret that is not configured, or for a host that it may not be sent to: \
                         add [secret.NAME], or `hosts` in it"
                    )
                }
            });
        }
        problems
    }

    fn pending_problem(&self) -> String {
        let option = self.team.as_ref().map(|team| format!(" --team {team}"));
        format!(
            "{} requests more than it was granted: start a server, then run \
             `larder approve {}{}`",
            self.name(),
            self.provider,
            option.unwrap_or_default()
        )
    }
}
