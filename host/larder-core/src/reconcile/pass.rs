//! The changes of one reconcile pass, and their log line.

use std::fmt;
use std::time::Duration;

use crate::catalog::{Collision, Offer, PendingApproval, RejectedComponent};
use larder_model::name::{Digest, ProviderName};

/// The changes of one reconcile pass.
#[derive(Debug, Clone, Default)]
pub struct ReconcilePass {
    /// New providers.
    pub loaded: Vec<RevisionSummary>,
    /// New revisions of providers that were served before.
    pub replaced: Vec<RevisionSummary>,
    /// Components that are rejected since this pass.
    pub rejected: Vec<RejectedComponent>,
    /// Revisions that wait for approval since this pass.
    pub pending_approvals: Vec<PendingApproval>,
    /// Providers that are not served any more.
    pub removed: Vec<ProviderName>,
    /// URIs and templates that two providers offer.
    pub collisions: Vec<Collision>,
    /// What was omitted from lists or changed in them, unless it was reported before.
    pub omitted: Vec<String>,
    /// Problems with sources or their artifacts.
    pub problems: Vec<String>,
    /// How long the pass took.
    pub duration: Duration,
    /// Components whose problem is resolved.
    pub(super) resolved: Vec<String>,
    /// Whether a provider's lists were refreshed.
    pub(super) lists_refreshed: bool,
    /// Whether a part of a list that the catalog does not hold may have changed.
    pub(super) unlisted_changes: bool,
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
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let more = if offer.next_cursor.is_some() { " and more" } else { "" };
        let entries = count(offer.entries.len(), "resource");
        let contents = format!("{entries}{more}, {}", count(offer.templates.len(), "template"));
        let (provider, digest) = (offer.name().clone(), offer.provider.digest());
        Self { provider, digest, contents }
    }
}

impl fmt::Display for RevisionSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.provider, self.digest.short(), self.contents)
    }
}

impl ReconcilePass {
    /// Returns whether there is nothing to publish or to log.
    pub(super) fn is_empty(&self) -> bool {
        let nothing_new = self.loaded.is_empty() && self.replaced.is_empty() && self.removed.is_empty();
        nothing_new
            && self.rejected.is_empty()
            && self.pending_approvals.is_empty()
            && self.omitted.is_empty()
            && self.problems.is_empty()
            && self.resolved.is_empty()
    }

    /// Logs the changes, if there are any.
    pub(super) fn log(&self) {
        if self.is_empty() {
            return;
        }
        if self.rejected.is_empty()
            && self.pending_approvals.is_empty()
            && self.omitted.is_empty()
            && self.problems.is_empty()
            && self.collisions.is_empty()
        {
            tracing::info!("{self}");
        } else {
            tracing::warn!("{self}");
        }
    }
}

impl fmt::Display for ReconcilePass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = self.problems.clone();
        parts.extend(self.loaded.iter().map(|revision| format!("loaded {revision}")));
        parts.extend(self.replaced.iter().map(|revision| format!("replaced {revision}")));
        parts.extend(self.rejected.iter().map(|line| format!("rejected {}: {}", line.origin, line.reason)));
        parts.extend(self.pending_approvals.iter().map(ToString::to_string));
        parts.extend(self.removed.iter().map(|name| format!("removed {name}")));
        parts.extend(self.resolved.iter().map(|name| format!("resolved: {name}")));
        parts.extend(self.omitted.iter().cloned());
        parts.extend(self.collisions.iter().map(ToString::to_string));
        if parts.is_empty() {
            parts.push("no changes".into());
        }
        f.write_str(&parts.join("; "))?;
        // A pass that only scanned has no duration.
        if self.duration.is_zero() { Ok(()) } else { write!(f, " (in {:.1?})", self.duration) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_is_one_line() {
        let since = std::time::SystemTime::now();
        let rejected = RejectedComponent {
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
        assert_eq!(pass.to_string(), "rejected c.wasm: the file is empty; removed a (in 12.0ms)");
        assert_eq!(ReconcilePass::default().to_string(), "no changes");
    }
}
