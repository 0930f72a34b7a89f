//! The approved requests that exceed the grants, the pending approvals, and the imports of the revisions that were
//! served last.
//!
//! Each kind is a small JSON file that only Larder writes. A file that cannot be read is an error; it never counts as
//! "nothing is approved" or "everything is approved".
//!
//! The reconciler calls [`Approvals::unapproved`] before it loads a revision, and records what waits for approval with
//! [`Approvals::set_pending`]. `larder approve`, which is another process, reads these records and calls
//! [`Approvals::approve`]. [`Approvals::record_served`] stores which revisions were served, so that a restart does not
//! bypass an approval.

mod keys;
mod pins;
mod rejections;
mod snapshots;
mod store;
mod tool_change;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use self::keys::StoredState;
pub(crate) use self::pins::{PinCheck, PinDecision, PinKind, Pins};
pub use self::rejections::RejectedRequest;
use self::store::JsonStore;
pub use self::tool_change::ToolChange;
use crate::catalog::{OfferRecord, WithheldContent, WithheldTool};
use larder_model::name::{Digest, ProviderName, TeamName};
use larder_model::state_key::StateKey;
use larder_runtime::private_files::FileTrustError;

/// What is stored for one plugins folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approvals {
    store: JsonStore,
    /// Two servers of one user share the state directory. They have different folders, which may hold providers of the
    /// same name.
    key: StateKey,
}

/// Why approvals cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalsError {
    /// The file is not in the expected format.
    #[error("{} is damaged ({why}): move it away, then approve again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with the file.
        why: String,
    },
    /// Other users can change the file or its folder, and could thus approve requests.
    #[error("{} {why}. Who can change it could approve", path.display())]
    Untrusted {
        /// The file or folder.
        path: PathBuf,
        /// Why the file is not trusted.
        why: FileTrustError,
    },
    /// The file contains the pins of too many providers.
    #[error("{} has the pins of {MAX_REMEMBERED_PROVIDERS} providers of team {team}: remove those that do not exist", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// The team.
        team: TeamName,
    },
    /// An I/O error.
    #[error("cannot access {}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
}

/// A revision that waits for approval, in its stored form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PendingApprovalRecord {
    /// The name of the team.
    pub team: String,
    /// The name of the provider.
    pub provider: String,
    /// The component's digest.
    pub digest: String,
    /// The grant request lines that are not approved.
    pub lines: BTreeSet<String>,
    /// The tools, skills and pages whose definitions or contents are among the lines, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolChange>,
}

impl PendingApprovalRecord {
    /// Creates a record for a revision that waits for the approval of these lines.
    pub fn new(
        team: &TeamName,
        provider: &ProviderName,
        digest: Digest,
        lines: BTreeSet<String>,
    ) -> Self {
        Self {
            team: team.to_string(),
            provider: provider.to_string(),
            digest: digest.to_string(),
            lines,
            tools: Vec::new(),
        }
    }

    /// Adds the definitions of the tools and the contents that wait.
    pub(crate) fn with_definitions(
        self,
        tools: &[WithheldTool],
        contents: &[WithheldContent],
    ) -> Self {
        Self {
            tools: ToolChange::all(tools, contents),
            ..self
        }
    }

    /// Whether both records are the same request. The texts that are shown to people are not compared.
    fn is_same(&self, other: &Self) -> bool {
        self.id() == other.id()
    }

    /// Identifies what an operator approves or rejects: the component, and all lines that are not approved.
    pub fn id(&self) -> Digest {
        // The lines contain the digests of the definitions of tools.
        let Self {
            team,
            provider,
            digest,
            lines,
            tools: _,
        } = self;
        // Texts and lists are always written.
        Digest::of(&serde_json::to_vec(&(team, provider, digest, lines)).unwrap_or_default())
    }
}

/// When and by whom a line was approved, and for which components.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Approval {
    at: String,
    by: String,
    /// The digests of the components for which the line is approved. Empty: for every component of this name.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    digests: BTreeSet<String>,
}

impl Approval {
    fn now(by: &str) -> Self {
        Self {
            at: current_time(),
            by: by.to_owned(),
            digests: BTreeSet::new(),
        }
    }
}

fn current_time() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// Approves a line for the component with this digest, unless it is approved for every component.
fn approve_digest(
    lines: &mut BTreeMap<String, Approval>,
    line: &str,
    digest: &str,
    new: &Approval,
) {
    let is_for_all = |approval: &Approval| approval.digests.is_empty();
    if !lines.get(line).is_some_and(is_for_all) {
        let approval = lines.entry(line.to_owned()).or_insert_with(|| new.clone());
        approval.digests.insert(digest.to_owned());
    }
}

fn approve_name(lines: &mut BTreeMap<String, Approval>, line: &str, new: &Approval) {
    let approval = lines.entry(line.to_owned()).or_insert_with(|| new.clone());
    approval.digests.clear();
}

/// The components for which an approval holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalScope {
    /// Every component of this name, also after the component is replaced.
    Name,
    /// Only the component with the recorded digest.
    Digest,
}

/// Keys: folder, team, provider.
type ByProvider<T> = BTreeMap<String, BTreeMap<String, BTreeMap<String, T>>>;
/// By provider, the approvals by grant request line.
type ApprovalsByFolder = ByProvider<BTreeMap<String, Approval>>;
/// Key: folder.
type PendingByFolder = BTreeMap<String, Vec<PendingApprovalRecord>>;

/// By provider: the imports of the provider.
type ServedByFolder = ByProvider<BTreeSet<String>>;
/// By provider: the imports of the last served revision that reach outside the sandbox.
pub type Imports = BTreeMap<String, BTreeSet<String>>;
/// By provider: what the last served revision answered for.
pub(in crate::reconcile) type OfferRecords = BTreeMap<String, OfferRecord>;

/// Maximum number of providers that are stored for one team, because names come and go with files.
const MAX_REMEMBERED_PROVIDERS: usize = 10_000;

const APPROVALS_FILE: &str = "approvals.json";
const PENDING_FILE: &str = "held.json";
const SERVED_FILE: &str = "served.json";
const OFFERS_FILE: &str = "offers.json";

impl Approvals {
    /// Creates the store for this plugins folder in this state directory. Does not read or create anything
    /// yet.
    pub fn new(state: &Path, key: impl Into<StateKey>) -> Self {
        Self {
            store: JsonStore::new(state),
            key: key.into(),
        }
    }

    /// Omits all changes. For a command that loads components without serving them: such a load must not count as the
    /// first time that a component is served.
    pub fn read_only(self) -> Self {
        Self {
            store: self.store.read_only(),
            ..self
        }
    }

    /// Returns the key of everything that is stored for the plugins folder.
    pub fn key(&self) -> &StateKey {
        &self.key
    }

    /// Returns the path of the approvals file. It changes with each approval, so a watch of this file finds approvals.
    pub fn file(&self) -> PathBuf {
        self.store.path(APPROVALS_FILE)
    }

    /// Returns those lines that are not approved for every component of this name.
    pub fn unapproved(
        &self,
        team: &TeamName,
        provider: &ProviderName,
        lines: &BTreeSet<String>,
    ) -> Result<BTreeSet<String>, ApprovalsError> {
        self.unapproved_for(team, provider, None, lines)
    }

    /// Returns those lines that are not approved for the component with this digest.
    pub fn unapproved_for(
        &self,
        team: &TeamName,
        provider: &ProviderName,
        digest: Option<Digest>,
        lines: &BTreeSet<String>,
    ) -> Result<BTreeSet<String>, ApprovalsError> {
        if lines.is_empty() {
            return Ok(BTreeSet::new());
        }
        let all: ApprovalsByFolder = self.store.read(APPROVALS_FILE)?;
        let approved = self
            .of_team(&all, team)
            .and_then(|providers| providers.get(provider.as_str()));
        let digest = digest.map(|digest| digest.to_string());
        let is_unapproved = |line: &&String| {
            let approval = approved.and_then(|approved| approved.get(*line));
            !approval.is_some_and(|approval| approval.holds_for(digest.as_deref()))
        };
        Ok(lines.iter().filter(is_unapproved).cloned().collect())
    }

    /// Approves exactly the recorded lines, for every component of this name.
    pub fn approve(&self, record: &PendingApprovalRecord, by: &str) -> Result<(), ApprovalsError> {
        self.approve_for(ApprovalScope::Name, record, by)
    }

    /// Approves exactly the recorded lines. If the provider requests more by now, the additional lines stay unapproved.
    pub fn approve_for(
        &self,
        scope: ApprovalScope,
        record: &PendingApprovalRecord,
        by: &str,
    ) -> Result<(), ApprovalsError> {
        let new = Approval::now(by);
        self.store
            .change(APPROVALS_FILE, |all: &mut ApprovalsByFolder| {
                let providers = self.of_team_mut(all, &record.team);
                let lines = providers.entry(record.provider.clone()).or_default();
                for line in &record.lines {
                    match scope {
                        ApprovalScope::Digest => approve_digest(lines, line, &record.digest, &new),
                        ApprovalScope::Name => approve_name(lines, line, &new),
                    }
                }
            })?;
        self.remove_pending(record)?;
        self.withdraw_rejection(record)
    }

    fn remove_pending(&self, record: &PendingApprovalRecord) -> Result<(), ApprovalsError> {
        self.store
            .change(PENDING_FILE, |all: &mut PendingByFolder| {
                let pending = all.entry(self.key.to_string()).or_default();
                pending.retain(|one| !one.is_same(record));
            })
    }

    /// Replaces the pending approvals of this folder.
    pub fn set_pending(
        &self,
        mut pending: Vec<PendingApprovalRecord>,
    ) -> Result<(), ApprovalsError> {
        pending.sort();
        if self.pending()? == pending {
            return Ok(());
        }
        self.store
            .change(PENDING_FILE, |all: &mut PendingByFolder| {
                all.insert(self.key.to_string(), pending);
            })
    }

    /// Records the imports of the providers that are served, and what they answer for. Records of other providers stay.
    pub(crate) fn record_served(
        &self,
        team: &TeamName,
        imports: &Imports,
        offers: &OfferRecords,
    ) -> Result<(), ApprovalsError> {
        self.record(SERVED_FILE, team, imports)?;
        self.record(OFFERS_FILE, team, offers)
    }

    fn record<T: Clone + PartialEq + Serialize + DeserializeOwned>(
        &self,
        file: &'static str,
        team: &TeamName,
        now: &BTreeMap<String, T>,
    ) -> Result<(), ApprovalsError> {
        let all: ByProvider<T> = self.store.read(file)?;
        let known = self.of_team(&all, team);
        if now
            .iter()
            .all(|(provider, value)| known.and_then(|known| known.get(provider)) == Some(value))
        {
            return Ok(());
        }
        self.store.change(file, |all: &mut ByProvider<T>| {
            let known = self.of_team_mut(all, team.as_str());
            known.extend(now.clone());
            let mut remaining = MAX_REMEMBERED_PROVIDERS.saturating_sub(now.len());
            known.retain(|provider, _| {
                let stays = now.contains_key(provider) || remaining > 0;
                remaining = remaining.saturating_sub(usize::from(!now.contains_key(provider)));
                stays
            });
        })
    }

    /// Returns what the last served revisions answered for, by provider.
    pub(in crate::reconcile) fn last_offers(
        &self,
        team: &TeamName,
    ) -> Result<OfferRecords, ApprovalsError> {
        let mut all: ByProvider<OfferRecord> = self.store.read(OFFERS_FILE)?;
        let known = all
            .get_mut(self.key.as_str())
            .and_then(|teams| teams.remove(team.as_str()));
        Ok(known.unwrap_or_default())
    }

    /// Returns the imports of the revision that was served last, or `None` if the provider was never served. If only
    /// providers of the same name in folders that are gone were served, returns their imports. A folder that still
    /// exists was not renamed: it belongs to another project. Imports without a grant have no effect.
    pub fn last_served(
        &self,
        team: &TeamName,
        provider: &ProviderName,
    ) -> Result<Option<BTreeSet<String>>, ApprovalsError> {
        let all: ServedByFolder = self.store.read(SERVED_FILE)?;
        let is_gone = |key: &str| !StateKey::from_text(key).folder().is_some_and(Path::is_dir);
        let known = self.of_provider(&all, team, provider, is_gone);
        Ok((!known.is_empty()).then(|| known.into_iter().flatten().cloned().collect()))
    }

    /// Returns what is stored for the providers of a team of this folder.
    fn of_team<'a, T>(
        &self,
        all: &'a ByProvider<T>,
        team: &TeamName,
    ) -> Option<&'a BTreeMap<String, T>> {
        all.get(self.key.as_str())?.get(team.as_str())
    }

    /// Like [`Self::of_team`], to change it.
    fn of_team_mut<'a, T>(
        &self,
        all: &'a mut ByProvider<T>,
        team: &str,
    ) -> &'a mut BTreeMap<String, T> {
        let teams = all.entry(self.key.to_string()).or_default();
        teams.entry(team.to_owned()).or_default()
    }

    /// Returns what is stored for a provider. If nothing is stored, returns what is stored under those other keys for
    /// providers of the same name: their folder may have been renamed, so this provider is not served for the first
    /// time.
    fn of_provider<'a, T>(
        &self,
        all: &'a ByProvider<T>,
        team: &TeamName,
        provider: &ProviderName,
        is_considered: impl Fn(&str) -> bool,
    ) -> Vec<&'a T> {
        let of_team = |teams: &'a BTreeMap<String, BTreeMap<String, T>>| {
            teams
                .get(team.as_str())
                .and_then(|providers| providers.get(provider.as_str()))
        };
        match all.get(self.key.as_str()).and_then(of_team) {
            Some(own) => vec![own],
            None => {
                let others = all.iter().filter(|(key, _)| is_considered(key));
                others.filter_map(|(_, teams)| of_team(teams)).collect()
            }
        }
    }

    /// Returns the pending approvals that the server recorded last.
    pub fn pending(&self) -> Result<Vec<PendingApprovalRecord>, ApprovalsError> {
        let mut all: PendingByFolder = self.store.read(PENDING_FILE)?;
        Ok(all.remove(self.key.as_str()).unwrap_or_default())
    }
}

impl Approval {
    fn holds_for(&self, digest: Option<&str>) -> bool {
        self.digests.is_empty() || digest.is_some_and(|digest| self.digests.contains(digest))
    }
}

#[cfg(test)]
mod tests;
