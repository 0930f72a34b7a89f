//! The desired state: the components in the folder, each with its current configuration.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::{Config, ProviderConfig};
use crate::source::{File, Folder, FolderScan};
use larder_model::name::ProviderName;
use larder_model::policy::Ceiling;
use larder_runtime::file_fingerprint::FileFingerprint;

/// A component that should be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DesiredComponent {
    pub(super) file: File,
    pub(super) request_file: Option<File>,
    pub(super) config: ProviderConfig,
    pub(super) ceiling: Arc<Ceiling>,
    /// Whether the team has reached its provider quota with the components before this one.
    pub(super) exceeds_quota: bool,
    /// Fingerprint of the approvals file. When it changes, a pending revision may be approved by now.
    approvals: Option<FileFingerprint>,
}

/// The result of a scan.
pub(super) struct DesiredComponents {
    pub(super) components: Vec<DesiredComponent>,
    pub(super) rescan_after: Option<Duration>,
}

/// Computes the desired state.
pub(super) struct DesiredState {
    config: Config,
    folder: Folder,
    config_updates: watch::Receiver<Config>,
    folder_error: Option<String>,
    file_errors: Option<String>,
    max_components: usize,
}

impl DesiredState {
    pub(super) fn new(config_updates: watch::Receiver<Config>) -> Self {
        let config = config_updates.borrow().clone();
        warn_about_ceiling(&config);
        let folder = Folder::new(config.plugins.clone());
        Self {
            folder,
            config,
            config_updates,
            folder_error: None,
            file_errors: None,
            max_components: usize::MAX,
        }
    }

    /// Limits the number of components. The first ones by name count.
    pub(super) fn limit_components(&mut self, max_components: usize) {
        self.max_components = max_components;
    }

    /// Returns why the folder cannot be read, while it cannot.
    pub(super) fn folder_error(&self) -> Option<&str> {
        self.folder_error.as_deref()
    }

    /// Returns the problem with single files, while there is one.
    pub(super) fn file_errors(&self) -> Option<&str> {
        self.file_errors.as_deref()
    }

    /// Returns the folders to watch for changes.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let approvals = self.config.approvals.file().parent().map(Path::to_owned);
        approvals.into_iter().chain([self.config.plugins.clone()]).collect()
    }

    /// Scans the folder. Returns `None` if it cannot be read; then everything stays as it is.
    pub(super) fn scan(&mut self, problems: &mut Vec<String>) -> Option<DesiredComponents> {
        self.apply_config_update();
        match self.folder.scan() {
            Ok(scan) => {
                self.folder_error = None;
                report_once(&mut self.file_errors, describe_file_errors(&scan), problems);
                let approvals = FileFingerprint::of(&self.config.approvals.file()).ok();
                let components = scan.components.into_iter().enumerate();
                let components = components
                    .map(|(at, (file, request_file))| {
                        let (config, ceiling) =
                            (self.provider_config(file.stem()), self.config.ceiling.clone());
                        let exceeds_quota = at >= self.max_components;
                        DesiredComponent { config, ceiling, file, request_file, exceeds_quota, approvals }
                    })
                    .collect();
                let rescan_after = scan.rescan_after;
                Some(DesiredComponents { components, rescan_after })
            }
            Err(cause) => {
                let error = format!("cannot read {}: {cause}", self.folder.path().display());
                report_once(&mut self.folder_error, Some(error), problems);
                None
            }
        }
    }

    /// Applies a configuration that was set since the last scan.
    fn apply_config_update(&mut self) {
        if self.config_updates.has_changed().unwrap_or(false) {
            self.config = self.config_updates.borrow_and_update().clone();
            warn_about_ceiling(&self.config);
        }
    }

    fn provider_config(&self, stem: &str) -> ProviderConfig {
        let named = ProviderName::parse(stem).ok().and_then(|name| self.config.providers.get(&name));
        let config = named.unwrap_or(&self.config.default).clone();
        ProviderConfig { grant: Arc::new(self.config.ceiling.cap(&config.grant).allowed), ..config }
    }
}

/// Records the current problem and adds it to `problems` if it is new. Repeated scans do not report it again.
fn report_once(before: &mut Option<String>, now: Option<String>, problems: &mut Vec<String>) {
    if *before != now {
        problems.extend(now.clone());
        *before = now;
    }
}

/// Describes the files that cannot be read, in one sentence.
fn describe_file_errors(scan: &FolderScan) -> Option<String> {
    let (name, error) = scan.unreadable.first_key_value()?;
    let others = match scan.unreadable.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Some(format!("cannot read {name} ({error}){others}: the previous revision stays"))
}

/// Warns about grants that exceed the team's ceiling. The ceiling takes precedence.
fn warn_about_ceiling(config: &Config) {
    for (provider, provider_config) in &config.providers {
        for line in config.ceiling.cap(&provider_config.grant).denied {
            let team = &config.team;
            tracing::warn!(%team, %provider, line, "not granted: beyond the ceiling of the team");
        }
    }
}
