//! The operator's configuration of loading, and the handle that replaces it at run time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::Approvals;
use larder_model::name::{ProviderName, TeamName};
use larder_model::policy::{ApprovalMode, Ceiling, Grant, GrantRequest, OwnFiles};
use larder_model::signature::SignatureVerifier;

/// The operator's configuration of loading.
#[derive(Debug, Clone)]
pub struct Config {
    /// The team whose components are loaded.
    pub team: TeamName,
    /// Settings of the providers that the configuration names.
    pub providers: BTreeMap<ProviderName, ProviderConfig>,
    /// Settings of all other providers.
    pub default: ProviderConfig,
    /// The upper limit for every grant. An approval cannot exceed it.
    pub ceiling: Arc<Ceiling>,
    /// The interval between scans when no file event arrives.
    pub scan_interval: Duration,
    /// How long the components of a missing source are still served.
    pub missing_source_grace: Duration,
    /// The files of the host, which no folder of a grant request may contain.
    pub own_files: Arc<OwnFiles>,
    /// Parses the grant request of a component, the content of `NAME.toml`. Relative folders in it are resolved against
    /// the given folder.
    pub parse_grant_request: fn(&str, &Path) -> Result<GrantRequest, String>,
    /// The folder for relative paths. It is the plugins folder, unless components are copied there from their
    /// sources.
    pub relative_to: PathBuf,
    /// The approvals beyond the grants.
    pub approvals: Approvals,
    /// Which signatures are trusted, and whether a signature is required.
    pub trust: Arc<dyn SignatureVerifier>,
    /// Whether clients are offered the server's own tools, which read resources.
    pub resource_tools: bool,
    /// Whether a provider is rejected if a required setting is missing. If false, the provider is loaded so that it can
    /// be examined.
    pub requires_settings: bool,
}

/// The operator's settings for one provider.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProviderConfig {
    /// What the provider may access.
    pub grant: Arc<Grant>,
    /// If two providers offer a URI in the same pass, the provider with the higher priority owns it. If both have the
    /// same priority, the name decides.
    pub priority: i32,
    /// Whether grant requests beyond the grant need an approval.
    pub approval_mode: ApprovalMode,
}

/// Replaces the configuration of a running reconciler.
#[derive(Clone)]
pub struct ConfigHandle {
    config: watch::Sender<Config>,
    wake: Arc<Notify>,
}

impl ConfigHandle {
    pub(super) fn new(config: Config) -> Self {
        Self {
            config: watch::Sender::new(config),
            wake: Arc::default(),
        }
    }

    /// Returns a receiver for the latest configuration.
    pub(super) fn subscribe(&self) -> watch::Receiver<Config> {
        self.config.subscribe()
    }

    /// Whether clients are offered the server's own tools.
    pub(super) fn has_resource_tools(&self) -> bool {
        self.config.borrow().resource_tools
    }

    /// Returns the notification that triggers a scan.
    pub(super) fn wake(&self) -> Arc<Notify> {
        self.wake.clone()
    }

    /// Replaces grants and limits, and triggers a scan that applies them. The sources do not change.
    pub fn update(&self, config: Config) {
        self.config.send_replace(config);
        self.wake.notify_one();
    }
}
