//! Which grant requests and imports of a revision the operator has approved.

use std::collections::BTreeSet;

use super::super::{Approvals, ApprovalsError};
use super::{DesiredComponent, Loader, Outcome, PreviousRevisions, Revision};
use crate::catalog::PendingApproval;
use larder_model::name::{Digest, ProviderName, TeamName};
use larder_model::policy::{ApprovalMode, GrantRequest};
use larder_provider::LoadError;

impl Loader {
    /// Returns whether everything that the serving revision has is still granted or approved, and whether its signer is
    /// still trusted. A revocation takes effect also if there is no newer revision to serve.
    pub(super) async fn still_permitted(
        &self,
        desired: &DesiredComponent,
        previous: &PreviousRevisions,
    ) -> bool {
        let (Some(serving), Ok(name)) = (
            &previous.serving,
            ProviderName::parse(&desired.artifact.name),
        ) else {
            return true;
        };
        if !desired.trust.0.still_trusts(&previous.signers) {
            return false;
        }
        let current = desired
            .ceiling
            .cap_request(GrantRequest::from_grant(&serving.config.grant));
        if !current.denied.is_empty() {
            return false;
        }
        let beyond = current.allowed.lines_beyond(&desired.config.grant);
        // If the approvals cannot be read, it is not known that anything was revoked.
        let unapproved = self
            .unapproved(&name, serving.digest, beyond, desired.config.approval_mode)
            .await;
        unapproved.map_or(true, |unapproved| unapproved.is_empty())
    }

    /// Returns the outcome for a revision whose grant requests are not all approved. Its imports are not known yet.
    pub(super) async fn hold_for_requests(
        &self,
        name: &ProviderName,
        revision: &Revision,
        requests: &BTreeSet<String>,
        previous: &PreviousRevisions,
    ) -> Result<Option<Outcome>, LoadError> {
        let is_request = |line: &&String| !line.starts_with("import ");
        let before = previous.requests.iter().flatten().filter(is_request);
        let before = before.cloned().collect();
        self.hold_unapproved(name, revision, requests.clone(), requests, &before)
            .await
    }

    /// Returns the outcome for a revision whose new imports are not all approved. Toolchains import more than is ever
    /// called, so only new imports need an approval. The first revision of a provider has no new imports.
    pub(super) async fn hold_for_imports(
        &self,
        name: &ProviderName,
        revision: &Revision,
        imports: BTreeSet<String>,
        requests: &BTreeSet<String>,
        before: Option<BTreeSet<String>>,
    ) -> Result<Option<Outcome>, LoadError> {
        let Some(before) = before else {
            return Ok(None);
        };
        self.hold_unapproved(name, revision, &imports - &before, requests, &before)
            .await
    }

    async fn hold_unapproved(
        &self,
        name: &ProviderName,
        revision: &Revision,
        lines: BTreeSet<String>,
        requests: &BTreeSet<String>,
        before: &BTreeSet<String>,
    ) -> Result<Option<Outcome>, LoadError> {
        let digest = revision.digest;
        let mode = revision.config.approval_mode;
        let lines = self.unapproved(name, digest, lines, mode).await?;
        if lines.is_empty() {
            return Ok(None);
        }
        let held = self.hold(name, digest, lines, requests, before).await?;
        Ok(Some(held))
    }

    /// Returns the outcome for a revision that requests these unapproved lines. The revision waits, unless an operator
    /// rejected the lines.
    async fn hold(
        &self,
        provider: &ProviderName,
        digest: Digest,
        lines: BTreeSet<String>,
        requests: &BTreeSet<String>,
        before: &BTreeSet<String>,
    ) -> Result<Outcome, LoadError> {
        let name = provider.clone();
        let copy = lines.clone();
        let rejection = self
            .with_approvals(move |approvals, team| {
                approvals.rejection(team, name.as_str(), digest, &copy)
            })
            .await?;
        match rejection {
            Some(rejection) => Err(LoadError::NotApproved(rejection.to_string())),
            None => {
                let pending =
                    PendingApproval::new(self.team.clone(), provider.clone(), digest, lines);
                Ok(Outcome::PendingApproval(pending.compared(requests, before)))
            }
        }
    }

    /// Returns the requested lines that are not approved for the component with this digest.
    async fn unapproved(
        &self,
        name: &ProviderName,
        digest: Digest,
        lines: BTreeSet<String>,
        approval_mode: ApprovalMode,
    ) -> Result<BTreeSet<String>, LoadError> {
        if approval_mode == ApprovalMode::Always || lines.is_empty() {
            return Ok(BTreeSet::new());
        }
        let name = name.clone();
        self.with_approvals(move |approvals, team| {
            approvals.unapproved_for(team, &name, Some(digest), &lines)
        })
        .await
    }

    /// Returns the requests of the previous revision. If they are unknown, returns its imports. `None` if there was no
    /// revision.
    pub(super) async fn requests_before(
        &self,
        name: &ProviderName,
        serving: Option<BTreeSet<String>>,
    ) -> Result<Option<BTreeSet<String>>, LoadError> {
        match serving {
            Some(serving) => Ok(Some(serving)),
            None => self.last_served_imports(name).await,
        }
    }

    /// Returns the imports of the revision that was served last, before a restart or before its file was missing.
    async fn last_served_imports(
        &self,
        name: &ProviderName,
    ) -> Result<Option<BTreeSet<String>>, LoadError> {
        let name = name.clone();
        self.with_approvals(move |approvals, team| approvals.last_served(team, &name))
            .await
    }

    /// Reads the approval files on a blocking thread.
    pub(in crate::reconcile) async fn with_approvals<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Approvals, &TeamName) -> Result<T, ApprovalsError> + Send + 'static,
    ) -> Result<T, LoadError> {
        let approvals = self.approvals.clone();
        let team = self.team.clone();
        let result = self
            .drain
            .spawn_blocking(move || read(&approvals, &team))
            .await;
        let result = result.map_err(|error| LoadError::Approvals(error.to_string()))?;
        result.map_err(|error| LoadError::Approvals(error.to_string()))
    }
}
