//! What should be served: the components that are seen, each with the terms that it has now.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::{Config, Terms};
use crate::name::ProviderName;
use crate::policy::Ceiling;
use crate::source::{File, Folder, Seen};
use crate::stamp::Stamp;

/// A component that should be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) file: File,
    pub(super) beside: Option<File>,
    pub(super) terms: Terms,
    pub(super) ceiling: Arc<Ceiling>,
    /// Whether its team has as many providers before it as it may have.
    pub(super) is_too_many: bool,
    /// Of the file of approvals: another one may approve what was held back.
    approvals: Option<Stamp>,
}

/// What a look found.
pub(super) struct Found {
    pub(super) wanted: Vec<Wanted>,
    pub(super) again: Option<Duration>,
}

/// Knows what is wanted.
pub(super) struct Wants {
    config: Config,
    folder: Folder,
    orders: watch::Receiver<Config>,
    trouble: Option<String>,
    unclear: Option<String>,
    most: usize,
}

impl Wants {
    pub(super) fn new(orders: watch::Receiver<Config>) -> Self {
        let config = orders.borrow().clone();
        warn_of_cuts(&config);
        let folder = Folder::new(config.plugins.clone());
        Self { folder, config, orders, trouble: None, unclear: None, most: usize::MAX }
    }

    /// Wants no more components than this; the first by name.
    pub(super) fn at_most(&mut self, most: usize) {
        self.most = most;
    }

    /// Why the folder cannot be looked at, if it cannot.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// What is wrong with single files, if anything is.
    pub(super) fn unclear(&self) -> Option<&str> {
        self.unclear.as_deref()
    }

    /// The folders in which something may change.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let approvals = self.config.approvals.file().parent().map(Path::to_owned);
        approvals.into_iter().chain([self.config.plugins.clone()]).collect()
    }

    /// Looks at everything. None if the folder cannot be looked at: then all stays as it is.
    pub(super) fn look(&mut self, troubles: &mut Vec<String>) -> Option<Found> {
        self.take_orders();
        match self.folder.look() {
            Ok(seen) => {
                self.trouble = None;
                note(&mut self.unclear, unclear(&seen), troubles);
                let approvals = Stamp::of(&self.config.approvals.file()).ok();
                let wanted = seen.components.into_iter().enumerate();
                let wanted = wanted
                    .map(|(at, (file, beside))| {
                        let (terms, ceiling) = (self.terms(file.stem()), self.config.ceiling.clone());
                        let is_too_many = at >= self.most;
                        Wanted { terms, ceiling, file, beside, is_too_many, approvals }
                    })
                    .collect();
                let again = seen.again;
                Some(Found { wanted, again })
            }
            Err(error) => {
                let trouble = format!("cannot look into {}: {error}", self.folder.path().display());
                note(&mut self.trouble, Some(trouble), troubles);
                None
            }
        }
    }

    /// Takes over what the operator has decided since.
    fn take_orders(&mut self) {
        if self.orders.has_changed().unwrap_or(false) {
            self.config = self.orders.borrow_and_update().clone();
            warn_of_cuts(&self.config);
        }
    }

    fn terms(&self, stem: &str) -> Terms {
        let named = ProviderName::parse(stem).ok().and_then(|name| self.config.terms.get(&name));
        let terms = named.unwrap_or(&self.config.default).clone();
        Terms { grant: Arc::new(self.config.ceiling.cut(&terms.grant).left), ..terms }
    }
}

/// What is wrong now. Told once, not at every look.
fn note(before: &mut Option<String>, now: Option<String>, troubles: &mut Vec<String>) {
    if *before != now {
        troubles.extend(now.clone());
        *before = now;
    }
}

/// Files that cannot be looked at, in one sentence.
fn unclear(seen: &Seen) -> Option<String> {
    let (name, error) = seen.unclear.first_key_value()?;
    let others = match seen.unclear.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Some(format!("cannot look at {name} ({error}){others}: what was served before stays"))
}

/// An operator who lowers a ceiling means it, also where a grant below it still says otherwise.
fn warn_of_cuts(config: &Config) {
    for (provider, terms) in &config.terms {
        for line in config.ceiling.cut(&terms.grant).off {
            let team = &config.team;
            tracing::warn!(%team, %provider, line, "not granted: it is beyond the ceiling of the team");
        }
    }
}
