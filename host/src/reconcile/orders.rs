//! What the operator decides about loading, and where to say what is decided since.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::Approvals;
use crate::name::{ProviderName, TeamName};
use crate::policy::{Approve, Ask, Ceiling, Grant};

/// What the operator decides about loading.
#[derive(Debug, Clone)]
pub struct Config {
    /// The folder with the components.
    pub plugins: PathBuf,
    /// Whose it is.
    pub team: TeamName,
    /// Providers that the configuration names.
    pub terms: BTreeMap<ProviderName, Terms>,
    /// All others.
    pub default: Terms,
    /// What none of them gets beyond, whoever approves it.
    pub ceiling: Arc<Ceiling>,
    /// How often the folder is looked at when nothing says that it changed.
    pub poll: Duration,
    /// Reads what stands beside a component; folders in it are relative to the given one.
    pub read_ask: fn(&str, &Path) -> Result<Ask, String>,
    /// That folder: the one with the components, unless they are copied there from where they are written.
    pub relative_to: PathBuf,
    /// What was approved beyond the grants.
    pub approvals: Approvals,
}

/// On what terms a provider is served.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Terms {
    /// What it gets.
    pub grant: Arc<Grant>,
    /// Decides, before the name does, who keeps a URI that two offer.
    pub priority: i32,
    /// Whether what it asks for beyond its grant has to be approved.
    pub approve: Approve,
}

/// Where to say what the operator has decided since.
#[derive(Clone)]
pub struct Orders {
    config: watch::Sender<Config>,
    wake: Arc<Notify>,
}

impl Orders {
    pub(super) fn new(config: Config) -> Self {
        Self { config: watch::Sender::new(config), wake: Arc::default() }
    }

    /// What was said last, whenever it is looked at.
    pub(super) fn config(&self) -> watch::Receiver<Config> {
        self.config.subscribe()
    }

    /// Says "look again".
    pub(super) fn wake(&self) -> Arc<Notify> {
        self.wake.clone()
    }

    /// These are the grants and limits from the next look on, which is at once. The folders stay where they are.
    pub fn give(&self, config: Config) {
        self.config.send_replace(config);
        self.wake.notify_one();
    }
}
