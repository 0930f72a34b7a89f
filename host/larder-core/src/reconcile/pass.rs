//! The changes of one reconcile pass, and their log line.

use std::fmt;
use std::time::Duration;

use crate::audit::{AuditEvent, AuditLog};
use crate::catalog::{Collision, Offer, PendingApproval, RejectedComponent};
use larder_model::name::{Digest, ProviderName, TeamName};
use larder_runtime::log_limit::shorten;

/// Maximum number of changes of one kind in the log line.
const MAX_PARTS: usize = 10;

/// The changes of one reconcile pass.
#[derive(Debug, Clone, Default)]
pub struct ReconcilePass {
    /// New providers.
    pub loaded: Vec<RevisionSummary>,
    /// New revisions of providers that were already served.
    pub replaced: Vec<RevisionSummary>,
    /// Components that are rejected since this pass.
    pub rejected: Vec<RejectedComponent>,
    /// Revisions that wait for approval since this pass.
    pub pending_approvals: Vec<PendingApproval>,
    /// Requested grants that are refused since this pass.
    pub denied_requests: Vec<DeniedRequest>,
    /// Providers that are not served any more.
    pub removed: Vec<ProviderName>,
    /// URIs and templates that two providers offer.
    pub collisions: Vec<Collision>,
    /// The items that were omitted from lists or changed in them, unless that was reported before.
    pub omitted: Vec<String>,
    /// Problems with sources or their artifacts.
    pub problems: Vec<String>,
    /// How long the pass took.
    pub duration: Duration,
    /// Components whose problem is resolved.
    pub(super) resolved: Vec<String>,
    /// Whether a provider was removed from the unavailable providers, because its component is gone.
    pub(super) unavailable_changed: bool,
    /// Whether a provider's lists were refreshed.
    pub(super) lists_refreshed: bool,
    /// Whether a part of a list that the catalog does not hold may have changed.
    pub(super) unlisted_changes: bool,
}

/// The lines of a grant request that are beyond the ceiling of the team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeniedRequest {
    /// The name of the provider.
    pub provider: String,
    /// The refused lines.
    pub lines: Vec<String>,
}

/// Summary of a published revision. It does not keep the provider alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisionSummary {
    /// The provider.
    pub provider: ProviderName,
    /// The digest of the component.
    pub digest: Digest,
    contents: String,
}

impl RevisionSummary {
    pub(super) fn of(offer: &Offer) -> Self {
        Self {
            provider: offer.name().clone(),
            digest: offer.provider.digest(),
            contents: contents(offer).join(", "),
        }
    }
}

fn contents(offer: &Offer) -> Vec<String> {
    let more = if offer.next_cursor.is_some() {
        " and more"
    } else {
        ""
    };
    let entries = count(offer.entries.len(), "resource");
    let definitions = [
        (offer.definitions.tools.len(), "tool"),
        (offer.definitions.prompts.len(), "prompt"),
    ];
    let definitions = definitions
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| count(n, what));
    let lists = [
        format!("{entries}{more}"),
        count(offer.templates.len(), "template"),
    ];
    lists.into_iter().chain(definitions).collect()
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

impl fmt::Display for RevisionSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} ({})",
            self.provider,
            self.digest.short(),
            self.contents
        )
    }
}

impl ReconcilePass {
    /// Returns whether there are no changes to publish or to log.
    pub(super) fn is_empty(&self) -> bool {
        !self.changes_components()
            && !self.needs_attention()
            && self.denied_requests.is_empty()
            && self.resolved.is_empty()
    }

    fn changes_components(&self) -> bool {
        !self.loaded.is_empty() || !self.replaced.is_empty() || !self.removed.is_empty()
    }

    /// Whether something is not served as its provider or the operator intends.
    fn needs_attention(&self) -> bool {
        !self.rejected.is_empty()
            || !self.pending_approvals.is_empty()
            || !self.omitted.is_empty()
            || !self.problems.is_empty()
            || !self.collisions.is_empty()
    }

    /// Records in the audit log which components are served and which are not served.
    pub(super) fn record(&self, audit: &AuditLog, team: &TeamName) {
        if !audit.is_on() {
            return;
        }
        let revision = |one: &RevisionSummary| format!("{} {}", one.provider, one.digest);
        let pending = |one: &PendingApproval| format!("{} {}", one.provider, one.digest);
        let rejected = |one: &RejectedComponent| format!("{}: {}", one.origin, one.reason);
        let outcomes: [(_, Vec<String>); 5] = [
            ("loaded", self.loaded.iter().map(revision).collect()),
            ("replaced", self.replaced.iter().map(revision).collect()),
            (
                "pending-approval",
                self.pending_approvals.iter().map(pending).collect(),
            ),
            ("rejected", self.rejected.iter().map(rejected).collect()),
            (
                "removed",
                self.removed.iter().map(ToString::to_string).collect(),
            ),
        ];
        for (outcome, details) in outcomes.iter().filter(|(_, details)| !details.is_empty()) {
            let team = Some(team.as_str());
            audit.record(&AuditEvent {
                team,
                details,
                ..AuditEvent::new("components", outcome)
            });
        }
        for denied in &self.denied_requests {
            audit.record(&AuditEvent {
                team: Some(team.as_str()),
                provider: Some(&denied.provider),
                details: &denied.lines,
                ..AuditEvent::new("grant-request", "denied")
            });
        }
    }

    /// Logs which requested grants are refused.
    pub(super) fn log_denied(&self, team: &TeamName) {
        let team = team.non_default();
        for DeniedRequest { provider, lines } in &self.denied_requests {
            let lines = lines.join("`, `");
            tracing::warn!(
                team,
                provider,
                "grant request refused, because it is beyond the ceiling of the team: `{lines}`"
            );
        }
    }

    /// Logs the changes, if there are any.
    pub(super) fn log(&self) {
        if self.parts().is_empty() {
            return;
        }
        if self.needs_attention() {
            tracing::warn!("{self}");
        } else {
            tracing::info!("{self}");
        }
    }
}

impl ReconcilePass {
    /// Returns the parts of the log line.
    fn parts(&self) -> Vec<String> {
        let rejected = self.rejected.iter();
        let rejected = rejected.map(|one| format!("rejected {}: {}", one.origin, one.reason));
        let pending = self.pending_approvals.iter();
        let resolved = self.resolved.iter();
        let resolved = resolved.map(|name| format!("resolved: {name}"));
        let parts = [
            self.problems.clone(),
            changes("loaded", &self.loaded),
            changes("replaced", &self.replaced),
            shorten(rejected, MAX_PARTS, "rejected"),
            shorten(pending, MAX_PARTS, "pending approvals"),
            changes("removed", &self.removed),
            shorten(resolved, MAX_PARTS, "resolved"),
            shorten(self.omitted.iter(), MAX_PARTS, "changes of lists"),
            Collision::summarize(&self.collisions),
        ];
        parts.concat()
    }
}

fn changes(verb: &str, items: &[impl fmt::Display]) -> Vec<String> {
    let lines = items.iter().map(|item| format!("{verb} {item}"));
    shorten(lines, MAX_PARTS, verb)
}

impl fmt::Display for ReconcilePass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.parts()[..] {
            [] => f.write_str("no changes")?,
            parts => f.write_str(&parts.join("; "))?,
        }
        // A pass that only scanned has no duration.
        if self.duration.is_zero() {
            Ok(())
        } else {
            write!(f, " (in {:.1?})", self.duration)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_is_one_line() {
        let since = std::time::SystemTime::now();
        let rejected = RejectedComponent {
            name: "c".into(),
            origin: "c.wasm".into(),
            digest: None,
            reason: "the file is empty".into(),
            stderr: String::new(),
            since,
        };
        let pass = ReconcilePass {
            rejected: vec![rejected],
            removed: vec![ProviderName::parse("a").unwrap()],
            duration: Duration::from_millis(12),
            ..ReconcilePass::default()
        };
        assert_eq!(
            pass.to_string(),
            "rejected c.wasm: the file is empty; removed a (in 12.0ms)"
        );
        assert_eq!(ReconcilePass::default().to_string(), "no changes");
        let resolved = (0..10_000).map(|n| n.to_string()).collect();
        let long = ReconcilePass {
            resolved,
            ..ReconcilePass::default()
        }
        .to_string();
        assert!(
            long.starts_with("resolved: 0; ")
                && long.ends_with("; resolved: 9; and 9990 more resolved")
        );
    }
}
