//! What should be served: the components that are seen, each with the terms that it has now.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::{Config, Round, Terms};
use crate::name::ProviderName;
use crate::source::{File, Folder, Stamp};

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
    reread: Option<(Reread, Option<Stamp>)>,
    trouble: Option<String>,
}

impl Wants {
    pub(super) fn new(config: Config) -> Self {
        Self { folder: Folder::new(config.plugins.clone()), config, reread: None, trouble: None }
    }

    pub(super) fn reread(&mut self, reread: Reread) {
        let stamp = Stamp::of(&reread.file).ok();
        self.reread = Some((reread, stamp));
    }

    /// The folders in which something may change.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let configuration = self.reread.as_ref().and_then(|(reread, _)| reread.file.parent()).map(|folder| {
            // A bare file name has an empty parent, which means here.
            if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_owned() }
        });
        let approvals = self.config.approvals.file().parent().map(Path::to_owned);
        configuration.into_iter().chain(approvals).chain([self.config.plugins.clone()]).collect()
    }

    /// Looks at everything. None if the folder cannot be looked at: then all stays as it is.
    pub(super) fn look(&mut self, round: &mut Round) -> Option<Found> {
        self.look_at_terms(round);
        match self.folder.look() {
            Ok(seen) => {
                self.trouble = None;
                let approvals = Stamp::of(&self.config.approvals.file()).ok();
                let wanted = seen.components.into_iter();
                let wanted = wanted
                    .map(|(file, beside)| Wanted { terms: self.terms(file.stem()), file, beside, approvals })
                    .collect();
                Some(Found { wanted, again: seen.again })
            }
            Err(error) => {
                let trouble = format!("cannot look into {}: {error}", self.folder.path().display());
                // Told once, not at every look.
                if self.trouble.as_ref() != Some(&trouble) {
                    self.trouble = Some(trouble.clone());
                    round.troubles.push(trouble);
                }
                None
            }
        }
    }

    fn look_at_terms(&mut self, round: &mut Round) {
        let Some((reread, known)) = &mut self.reread else { return };
        let stamp = Stamp::of(&reread.file).ok();
        if stamp == *known || stamp.is_none() {
            return;
        }
        *known = stamp;
        match (reread.read)() {
            Ok(config) => {
                self.config = config;
                tracing::info!(file = %reread.file.display(), "read again");
            }
            Err(faults) => round.troubles.push(format!("the configuration stays as it was: {faults}")),
        }
    }

    fn terms(&self, stem: &str) -> Terms {
        let named = ProviderName::parse(stem).ok().and_then(|name| self.config.terms.get(&name));
        named.unwrap_or(&self.config.default).clone()
    }
}
