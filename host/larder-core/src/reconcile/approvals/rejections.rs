//! What operators rejected. A rejected revision is not loaded and not pending any more. A later approval of the same
//! lines takes precedence.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    APPROVALS_FILE, Approvals, ApprovalsByFolder, ApprovalsError, PendingApprovalRecord,
    current_time,
};
use crate::catalog::team_option;
use larder_model::name::{Digest, TeamName};

/// A request that an operator rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedRequest {
    /// The request.
    #[serde(flatten)]
    pub record: PendingApprovalRecord,
    /// When the request was rejected.
    pub at: String,
    /// Who rejected the request.
    pub by: String,
}

/// Key: folder.
pub(super) type RejectionsByFolder = BTreeMap<String, Vec<RejectedRequest>>;

pub(super) const REJECTIONS_FILE: &str = "rejections.json";
/// Maximum number of rejected requests that are stored for one folder. A request that was removed from the list is
/// pending again.
const MAX_REJECTIONS: usize = 1_000;

impl fmt::Display for RejectedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            record:
                PendingApprovalRecord {
                    team,
                    provider,
                    lines,
                    ..
                },
            at,
            by,
        } = self;
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let team = team_option(team);
        write!(
            f,
            "{by} rejected at {at} that it requests `{}`: remove or replace it, or approve it with \
             `larder approve {provider}{team}`",
            lines.join("`, `")
        )
    }
}

impl Approvals {
    /// Rejects exactly the recorded lines for this component. The request is not pending any more.
    pub fn reject(&self, record: &PendingApprovalRecord, by: &str) -> Result<(), ApprovalsError> {
        let rejected = RejectedRequest::new(record, by);
        self.store
            .change(REJECTIONS_FILE, |all: &mut RejectionsByFolder| {
                let rejections = all.entry(self.key.to_string()).or_default();
                store_rejection(rejections, rejected);
            })?;
        self.remove_pending(record)?;
        // Servers compare this file with the version that they read last.
        self.store
            .change(APPROVALS_FILE, |_: &mut ApprovalsByFolder| {})
    }

    /// Removes the rejection of a request, because the request is approved.
    pub(super) fn withdraw_rejection(
        &self,
        record: &PendingApprovalRecord,
    ) -> Result<(), ApprovalsError> {
        if !self
            .rejected()?
            .iter()
            .any(|one| one.record.is_same(record))
        {
            return Ok(());
        }
        self.store
            .change(REJECTIONS_FILE, |all: &mut RejectionsByFolder| {
                all.entry(self.key.to_string())
                    .or_default()
                    .retain(|one| !one.record.is_same(record));
            })
    }

    /// Returns the rejected requests, oldest first.
    pub fn rejected(&self) -> Result<Vec<RejectedRequest>, ApprovalsError> {
        let mut all: RejectionsByFolder = self.store.read(REJECTIONS_FILE)?;
        Ok(all.remove(self.key.as_str()).unwrap_or_default())
    }

    /// Returns the rejected requests of this component.
    pub(in crate::reconcile) fn rejections(
        &self,
        team: &TeamName,
        provider: &str,
        digest: Digest,
    ) -> Result<Vec<RejectedRequest>, ApprovalsError> {
        let mut rejected = self.rejected()?;
        let digest = digest.to_string();
        rejected.retain(|RejectedRequest { record, .. }| {
            record.team == team.as_str() && record.provider == provider && record.digest == digest
        });
        Ok(rejected)
    }

    /// Returns the rejection of this component, if the component requests only lines that were rejected.
    pub(in crate::reconcile) fn rejection(
        &self,
        team: &TeamName,
        provider: &str,
        digest: Digest,
        unapproved: &BTreeSet<String>,
    ) -> Result<Option<RejectedRequest>, ApprovalsError> {
        if unapproved.is_empty() {
            return Ok(None);
        }
        let rejections = self.rejections(team, provider, digest)?;
        Ok(rejections
            .into_iter()
            .rev()
            .find(|rejection| unapproved.is_subset(&rejection.record.lines)))
    }
}

impl RejectedRequest {
    /// Creates the rejection of a request, without the texts that are shown to people.
    fn new(record: &PendingApprovalRecord, by: &str) -> Self {
        Self {
            record: PendingApprovalRecord {
                tools: Vec::new(),
                ..record.clone()
            },
            at: current_time(),
            by: by.to_owned(),
        }
    }
}

fn store_rejection(all: &mut Vec<RejectedRequest>, new: RejectedRequest) {
    all.retain(|one| !one.record.is_same(&new.record));
    if all.len() >= MAX_REJECTIONS {
        all.remove(0);
    }
    all.push(new);
}
