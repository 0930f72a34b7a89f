//! Which grant requests and imports of a revision the operator has approved.

use std::collections::BTreeSet;
use std::time::SystemTime;

use super::super::{Approvals, ApprovalsError};
use super::{DesiredComponent, Loader, Outcome, PreviousRevisions};
use crate::catalog::PendingApproval;
use larder_model::name::{Digest, ProviderName, TeamName};
use larder_model::policy::{ApprovalMode, GrantRequest};
use larder_sandbox::provider::LoadError;

impl Loader {
    /// Returns whether everything that the serving revision has is still granted or approved. A revocation
    /// takes effect whether or not there is a newer revision to serve.
    pub(super) async fn still_permitted(
        &self,
        desired: &DesiredComponent,
        previous: &PreviousRevisions,
    ) -> bool {
        let (Some(serving), Ok(name)) = (&previous.serving, ProviderName::parse(&desired.artifact.name))
        else {
            return true;
        };
        let current = desired.ceiling.cap_request(GrantRequest::from_grant(&serving.config.grant));
        if !current.denied.is_empty() {
            return false;
        }
        let beyond = current.allowed.lines_beyond(&desired.config.grant);
        // If the approvals cannot be read, nothing is known to be revoked.
        let unapproved = self.unapproved((&name, serving.digest), beyond, desired.config.approval_mode).await;
        unapproved.map_or(true, |unapproved| unapproved.is_empty())
    }

    pub(super) fn pending_approval(
        &self,
        provider: ProviderName,
        digest: Digest,
        lines: BTreeSet<String>,
    ) -> Outcome {
        let (team, since) = (self.team.clone(), SystemTime::now());
        Outcome::PendingApproval(PendingApproval { team, provider, digest, lines, since })
    }

    /// Returns the requested lines that are not approved for the component with this digest.
    pub(super) async fn unapproved(
        &self,
        (name, digest): (&ProviderName, Digest),
        lines: BTreeSet<String>,
        approval_mode: ApprovalMode,
    ) -> Result<BTreeSet<String>, LoadError> {
        if approval_mode == ApprovalMode::Always || lines.is_empty() {
            return Ok(BTreeSet::new());
        }
        let name = name.clone();
        self.with_approvals(move |approvals, team| {
            approvals.unapproved_for((team, &name, Some(digest)), &lines)
        })
        .await
    }

    /// Returns those of these imports that the previous revision did not have. Toolchains import more than is ever
    /// called, so only new imports need an approval. The first revision of a provider has no new imports.
    pub(super) async fn new_imports(
        &self,
        name: &ProviderName,
        imports: BTreeSet<String>,
        serving: Option<BTreeSet<String>>,
    ) -> Result<BTreeSet<String>, LoadError> {
        let before = match serving {
            Some(serving) => Some(serving),
            None => self.last_served_imports(name).await?,
        };
        Ok(before.map(|before| &imports - &before).unwrap_or_default())
    }

    /// Returns the imports of the revision that was served last, before a restart or before its file was
    /// missing.
    async fn last_served_imports(&self, name: &ProviderName) -> Result<Option<BTreeSet<String>>, LoadError> {
        let name = name.clone();
        self.with_approvals(move |approvals, team| approvals.last_served(team, &name)).await
    }

    /// Reads the approval files on a blocking thread.
    pub(super) async fn with_approvals<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Approvals, &TeamName) -> Result<T, ApprovalsError> + Send + 'static,
    ) -> Result<T, LoadError> {
        let (approvals, team) = (self.approvals.clone(), self.team.clone());
        let result = self.drain.spawn_blocking(move || read(&approvals, &team)).await;
        let result = result.map_err(|error| LoadError::Approvals(error.to_string()))?;
        result.map_err(|error| LoadError::Approvals(error.to_string()))
    }
}
