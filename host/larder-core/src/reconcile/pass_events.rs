//! The changes of a reconcile pass as events for operators.

use super::pass::{DeniedRequest, ReconcilePass, RevisionSummary};
use crate::catalog::{PendingApproval, RejectedComponent};
use larder_model::name::{ProviderName, TeamName};
use larder_runtime::history::{Event, EventKind, EventLog};

/// Records what is served since this pass, and what is not served any more.
pub(super) fn record(pass: &ReconcilePass, team: &TeamName, events: &EventLog) {
    let loaded = pass.loaded.iter();
    let loaded = loaded.map(|revision| served(EventKind::Load, "loaded", revision));
    let replaced = pass.replaced.iter();
    let replaced = replaced.map(|revision| served(EventKind::Reload, "replaced", revision));
    let rejected = pass.rejected.iter().map(rejection);
    let pending = pass.pending_approvals.iter().map(approval);
    let denied = pass.denied_requests.iter().map(denial);
    let removed = pass.removed.iter().map(removal);
    let all = loaded
        .chain(replaced)
        .chain(rejected)
        .chain(pending)
        .chain(denied)
        .chain(removed);
    all.for_each(|event| events.record(event.of_team(team)));
}

fn served(kind: EventKind, verb: &str, revision: &RevisionSummary) -> Event {
    Event::new(kind, format!("{verb} {revision}"))
        .of_provider(&revision.provider)
        .with("digest", revision.digest.to_string())
}

fn rejection(rejected: &RejectedComponent) -> Event {
    let text = format!("rejected {}: {}", rejected.origin, rejected.reason);
    let digest = rejected.digest.map(|digest| digest.to_string());
    Event::new(EventKind::Rejection, text)
        .of_provider(&rejected.name)
        .with("digest", digest.unwrap_or_default())
        .with("stderr", &*rejected.stderr)
}

fn approval(pending: &PendingApproval) -> Event {
    let lines: Vec<&str> = pending.lines.iter().map(String::as_str).collect();
    let text = format!("{} waits for approval", pending.provider);
    Event::new(EventKind::Approval, text)
        .of_provider(&pending.provider)
        .with("digest", pending.digest.to_string())
        .with("requests", lines.join("\n"))
}

fn denial(denied: &DeniedRequest) -> Event {
    let text = format!(
        "a part of what {} requests is refused: it is beyond the ceiling of the team",
        denied.provider
    );
    Event::new(EventKind::Approval, text)
        .of_provider(&denied.provider)
        .with("lines", denied.lines.join("\n"))
}

fn removal(provider: &ProviderName) -> Event {
    let text = format!("{provider} is not served any more");
    Event::new(EventKind::Removal, text).of_provider(provider)
}
