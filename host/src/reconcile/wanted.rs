//! What should be served: the components that are seen, each with the terms that it has now.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Config, Terms};
use crate::name::ProviderName;
use crate::policy::Ceiling;
use crate::source::{File, Folder, REST, Stamp};

/// The configuration's file, and how to read it again.
#[derive(Clone)]
pub struct Reread {
    /// Where it is.
    pub file: PathBuf,
    /// Reads it; all its faults are one text.
    pub read: Arc<dyn Fn() -> Result<Config, String> + Send + Sync>,
}

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

/// The configuration's file as it was when it was read, and as it was seen last.
struct Rereading {
    reread: Reread,
    known: Option<Stamp>,
    latest: (Option<Stamp>, Instant),
}

/// Knows what is wanted.
pub(super) struct Wants {
    config: Config,
    folder: Folder,
    reread: Option<Rereading>,
    trouble: Option<String>,
    most: usize,
}

impl Wants {
    pub(super) fn new(config: Config) -> Self {
        warn_of_cuts(&config);
        Self {
            folder: Folder::new(config.plugins.clone()),
            config,
            reread: None,
            trouble: None,
            most: usize::MAX,
        }
    }

    pub(super) fn reread(&mut self, reread: Reread) {
        let known = Stamp::of(&reread.file).ok();
        self.reread = Some(Rereading { reread, known, latest: (known, Instant::now()) });
    }

    /// Wants no more components than this; the first by name.
    pub(super) fn at_most(&mut self, most: usize) {
        self.most = most;
    }

    /// Why the folder cannot be looked at, if it cannot.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// The folders in which something may change.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let configuration =
            self.reread.as_ref().and_then(|reading| reading.reread.file.parent()).map(|folder| {
                // A bare file name has an empty parent, which means here.
                if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_owned() }
            });
        let approvals = self.config.approvals.file().parent().map(Path::to_owned);
        configuration.into_iter().chain(approvals).chain([self.config.plugins.clone()]).collect()
    }

    /// Looks at everything. None if the folder cannot be looked at: then all stays as it is.
    pub(super) fn look(&mut self, troubles: &mut Vec<String>) -> Option<Found> {
        let terms_again = self.look_at_terms(troubles);
        match self.folder.look() {
            Ok(seen) => {
                self.trouble = None;
                let approvals = Stamp::of(&self.config.approvals.file()).ok();
                let wanted = seen.components.into_iter().enumerate();
                let wanted = wanted
                    .map(|(at, (file, beside))| {
                        let (terms, ceiling) = (self.terms(file.stem()), self.config.ceiling.clone());
                        let is_too_many = at >= self.most;
                        Wanted { terms, ceiling, file, beside, is_too_many, approvals }
                    })
                    .collect();
                let again = seen.again.into_iter().chain(terms_again).min();
                Some(Found { wanted, again })
            }
            Err(error) => {
                let trouble = format!("cannot look into {}: {error}", self.folder.path().display());
                // Told once, not at every look.
                if self.trouble.as_ref() != Some(&trouble) {
                    self.trouble = Some(trouble.clone());
                    troubles.push(trouble);
                }
                None
            }
        }
    }

    /// Reads the configuration again once it is at rest: half of it may be valid too, and grants nothing. Says when
    /// to look again if it is not at rest yet.
    fn look_at_terms(&mut self, troubles: &mut Vec<String>) -> Option<Duration> {
        let reading = self.reread.as_mut()?;
        let stamp = Stamp::of(&reading.reread.file).ok();
        if stamp == reading.known {
            return None;
        }
        if stamp != reading.latest.0 {
            reading.latest = (stamp, Instant::now());
        }
        let rested = reading.latest.1.elapsed();
        if rested < REST {
            return Some(REST - rested);
        }
        reading.known = stamp;
        let file = reading.reread.file.display();
        if stamp.is_none() {
            troubles.push(format!("{file} is gone; what it granted stays until it is there again"));
            return None;
        }
        match (reading.reread.read)() {
            Ok(config) => {
                tracing::info!(%file, "read again");
                warn_of_cuts(&config);
                self.config = config;
            }
            Err(faults) => troubles.push(format!("the configuration stays as it was: {faults}")),
        }
        None
    }

    fn terms(&self, stem: &str) -> Terms {
        let named = ProviderName::parse(stem).ok().and_then(|name| self.config.terms.get(&name));
        let terms = named.unwrap_or(&self.config.default).clone();
        Terms { grant: Arc::new(self.config.ceiling.cut(&terms.grant).left), ..terms }
    }
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
