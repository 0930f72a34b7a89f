//! The changes of a reconcile pass as events for operators.

use super::pass::ReconcilePass;
use larder_model::name::{Digest, TeamName};
use larder_runtime::history::{Event, EventKind, EventLog};

/// Records what is served since this pass, and what is not.
pub(super) fn record(pass: &ReconcilePass, team: &TeamName, events: &EventLog) {
    let digest =
        |digest: Option<Digest>| digest.map(|digest| digest.to_string()).unwrap_or_default();
    let record = |event: Event| events.record(event.of_team(team));
    for (kind, verb, revisions) in [
        (EventKind::Load, "loaded", &pass.loaded),
        (EventKind::Reload, "replaced", &pass.replaced),
    ] {
        for revision in revisions {
            let event =
                Event::new(kind, format!("{verb} {revision}")).of_provider(&revision.provider);
            record(event.with("digest", digest(Some(revision.digest))));
        }
    }
    for rejected in &pass.rejected {
        let text = format!("rejected {}: {}", rejected.origin, rejected.reason);
        let event = Event::new(EventKind::Rejection, text).of_provider(&rejected.name);
        record(
            event
                .with("digest", digest(rejected.digest))
                .with("stderr", &*rejected.stderr),
        );
    }
    for pending in &pass.pending_approvals {
        let text = format!("{} waits for approval", pending.provider);
        let lines: Vec<&str> = pending.lines.iter().map(String::as_str).collect();
        let event = Event::new(EventKind::Approval, text).of_provider(&pending.provider);
        record(
            event
                .with("digest", digest(Some(pending.digest)))
                .with("requests", lines.join("\n")),
        );
    }
    for provider in &pass.removed {
        record(
            Event::new(
                EventKind::Removal,
                format!("{provider} is not served any more"),
            )
            .of_provider(provider),
        );
    }
}
