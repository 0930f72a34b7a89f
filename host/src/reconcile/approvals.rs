//! What the operator approved beyond the grants, what is held back until then, and what the revisions import that
//! were served last: three small files of ours.
//! A file that cannot be read is an error, never "nothing is approved" nor "everything is".
//!
//! Reconcile asks [`Approvals::missing`] before it loads a revision, and tells with [`Approvals::hold`] what it
//! holds back; `larder approve`, another process, reads that and writes with [`Approvals::approve`]. What was served
//! ([`Approvals::serve`]) is remembered, so that a restart is no way around being held back.

mod store;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use self::store::Store;
use crate::name::{Digest, ProviderName, TeamName};

/// The approvals for one plugins folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approvals {
    store: Store,
    /// Two servers of one user have folders of their own, and providers of the same name in them.
    plugins: String,
}

/// Why approvals cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalsError {
    /// Not what we wrote.
    #[error("{} is damaged ({why}): move it away, then approve again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Others could approve.
    #[error("{} can be written by others, who could approve: `chmod 700` it", .0.display())]
    Open(PathBuf),
    /// The system says no.
    #[error("cannot use {}: {error}", path.display())]
    System {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

/// A revision that waits for the operator.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Held {
    /// Whose it is.
    pub team: String,
    /// The provider.
    pub provider: String,
    /// The component's digest.
    pub digest: String,
    /// What it asks for and was not approved.
    pub lines: BTreeSet<String>,
}

impl Held {
    /// A revision of this provider that waits for these lines.
    pub fn new(team: &TeamName, provider: &ProviderName, digest: Digest, lines: BTreeSet<String>) -> Self {
        Self { team: team.to_string(), provider: provider.to_string(), digest: digest.to_string(), lines }
    }
}

/// When, and by whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Approved {
    at: String,
    by: String,
}

/// By folder, team, provider and line.
type ByFolder = BTreeMap<String, BTreeMap<String, BTreeMap<String, BTreeMap<String, Approved>>>>;
/// By folder.
type HeldBack = BTreeMap<String, Vec<Held>>;

/// By folder and team.
type Served = BTreeMap<String, BTreeMap<String, Imports>>;
/// By provider: those imports of the revision that was served last which would let it reach out.
pub type Imports = BTreeMap<String, BTreeSet<String>>;

/// Providers of one team that are remembered. Names come and go with files.
const REMEMBERED: usize = 10_000;

const APPROVED: &str = "approvals.json";
const HELD: &str = "held.json";
const SERVED: &str = "served.json";

impl Approvals {
    /// Those in this directory for this plugins folder. Nothing is read or made yet.
    pub fn new(state: &Path, plugins: &Path) -> Self {
        let real = plugins.canonicalize().unwrap_or_else(|_| plugins.to_owned());
        Self { store: Store::new(state), plugins: real.to_string_lossy().into_owned() }
    }

    /// The file to watch: an approval changes it.
    pub fn file(&self) -> PathBuf {
        self.store.path(APPROVED)
    }

    /// Of these lines, those that were not approved.
    pub fn missing(
        &self,
        team: &TeamName,
        provider: &ProviderName,
        lines: &BTreeSet<String>,
    ) -> Result<BTreeSet<String>, ApprovalsError> {
        if lines.is_empty() {
            return Ok(BTreeSet::new());
        }
        let all: ByFolder = self.store.read(APPROVED)?;
        let approved = all.get(&self.plugins).and_then(|teams| teams.get(team.as_str()));
        let approved = approved.and_then(|providers| providers.get(provider.as_str()));
        let is_missing = |line: &&String| !approved.is_some_and(|approved| approved.contains_key(*line));
        Ok(lines.iter().filter(is_missing).cloned().collect())
    }

    /// Approves exactly what was shown: it may have come to ask for more since.
    pub fn approve(&self, held: &Held, by: &str) -> Result<(), ApprovalsError> {
        let at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        self.store.change(APPROVED, |all: &mut ByFolder| {
            let teams = all.entry(self.plugins.clone()).or_default();
            let providers = teams.entry(held.team.clone()).or_default();
            let lines = providers.entry(held.provider.clone()).or_default();
            for line in &held.lines {
                let approved = Approved { at: at.clone(), by: by.to_owned() };
                lines.entry(line.clone()).or_insert(approved);
            }
        })?;
        self.store.change(HELD, |all: &mut HeldBack| {
            all.entry(self.plugins.clone()).or_default().retain(|one| one != held);
        })
    }

    /// What is held back now, all of it; what was held back before and is not any more is left out.
    pub fn hold(&self, mut held: Vec<Held>) -> Result<(), ApprovalsError> {
        held.sort();
        if self.held()? == held {
            return Ok(());
        }
        self.store.change(HELD, |all: &mut HeldBack| {
            all.insert(self.plugins.clone(), held);
        })
    }

    /// What these providers import is what was served last. Of those that are not named, what is known stays.
    pub fn serve(&self, team: &TeamName, imports: &Imports) -> Result<(), ApprovalsError> {
        let all: Served = self.store.read(SERVED)?;
        let known = all.get(&self.plugins).and_then(|teams| teams.get(team.as_str()));
        if imports.iter().all(|(provider, lines)| known.and_then(|known| known.get(provider)) == Some(lines))
        {
            return Ok(());
        }
        self.store.change(SERVED, |all: &mut Served| {
            let known = all.entry(self.plugins.clone()).or_default().entry(team.to_string()).or_default();
            known.extend(imports.clone());
            let mut room = REMEMBERED.saturating_sub(imports.len());
            known.retain(|provider, _| {
                let stays = imports.contains_key(provider) || room > 0;
                room = room.saturating_sub(usize::from(!imports.contains_key(provider)));
                stays
            });
        })
    }

    /// What the revision imported that was served last; none if none ever was.
    pub fn served(
        &self,
        team: &TeamName,
        provider: &ProviderName,
    ) -> Result<Option<BTreeSet<String>>, ApprovalsError> {
        let mut all: Served = self.store.read(SERVED)?;
        let known = all.get_mut(&self.plugins).and_then(|teams| teams.get_mut(team.as_str()));
        Ok(known.and_then(|known| known.remove(provider.as_str())))
    }

    /// What is held back, as the server said last.
    pub fn held(&self) -> Result<Vec<Held>, ApprovalsError> {
        let mut all: HeldBack = self.store.read(HELD)?;
        Ok(all.remove(&self.plugins).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests;
