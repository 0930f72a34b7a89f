//! Artifacts that a source reports as pending.

use larder_core::catalog::PendingApproval;
use larder_core::reconcile::{Approvals, PendingApprovalRecord};
use larder_core::source::{Artifact, MemorySource, PendingArtifact};
use larder_model::name::Digest;
use larder_model::policy::ApprovalMode;

use super::{not_served, start};
use crate::support::harness::TestServer;
use crate::support::revision::{NOW, revision, text};

/// Revision 2, which waits for the approval of its tag.
fn moved_tag() -> PendingArtifact {
    PendingArtifact::NeedsApproval {
        artifact: Box::new(Artifact::in_memory("revision", revision(2))),
        digest: Digest::of(&revision(2)),
        lines: ["tag v1 has moved".to_owned()].into(),
    }
}

fn pending(server: &TestServer) -> Vec<PendingApproval> {
    server.reader.snapshot().pending_approvals().to_vec()
}

/// Approves the pending artifact, as `larder approve` does.
fn approve(server: &TestServer) {
    let approvals = Approvals::new(&server.folder.path().join(".state"), server.folder.path());
    for PendingApproval {
        team,
        provider,
        digest,
        lines,
        ..
    } in pending(server)
    {
        approvals
            .approve(
                &PendingApprovalRecord::new(&team, &provider, digest, lines),
                "somebody",
            )
            .unwrap();
    }
}

#[tokio::test]
async fn the_previous_artifact_serves_until_the_new_one_is_approved() {
    let source = MemorySource::default();
    source.put("revision", revision(1));
    let mut server = start(&source).await;
    source.change(|content| content.pending.push(moved_tag()));
    let pass = server.reconciler().run_pass().await;
    assert_eq!(
        (pass.pending_approvals.len(), server.text(NOW).await),
        (1, text(1)),
        "{pass}"
    );
    let before = pending(&server);
    assert_eq!(before[0].digest, Digest::of(&revision(2)));
    assert!(before[0].lines.contains("tag v1 has moved"));
    let pass = server.reconciler().run_pass().await;
    assert!(
        pass.pending_approvals.is_empty(),
        "a repeated pass reports it again: {pass}"
    );
    assert_eq!(pending(&server), before);
    approve(&server);
    let pass = server.reconciler().run_pass().await;
    assert_eq!(
        (pass.replaced.len(), server.text(NOW).await),
        (1, text(2)),
        "{pass}"
    );
    assert!(pending(&server).is_empty());
}

#[tokio::test]
async fn a_new_artifact_is_not_loaded_before_it_is_approved() {
    let source = MemorySource::default();
    source.change(|content| content.pending.push(moved_tag()));
    let mut server = start(&source).await;
    assert_eq!(
        (pending(&server).len(), server.text(NOW).await),
        (1, not_served())
    );
    // The source does not offer the artifact any more.
    source.change(|content| content.pending.clear());
    server.reconciler().run_pass().await;
    assert!(pending(&server).is_empty());
    source.change(|content| content.pending.push(moved_tag()));
    server.reconciler().run_pass().await;
    approve(&server);
    server.reconciler().run_pass().await;
    assert_eq!(server.text(NOW).await, text(2));
}

#[tokio::test]
async fn approval_mode_always_needs_no_approval_of_a_source() {
    let source = MemorySource::default();
    source.put("revision", revision(1));
    source.change(|content| content.pending.push(moved_tag()));
    let builder = TestServer::builder("")
        .source(source)
        .approve("revision", ApprovalMode::Always);
    assert_eq!(builder.start().await.text(NOW).await, text(2));
}

#[tokio::test]
async fn an_incomplete_artifact_changes_nothing() {
    let source = MemorySource::default();
    source.put("revision", revision(1));
    let mut server = start(&source).await;
    let incomplete = PendingArtifact::Incomplete {
        origin: "memory:revision".into(),
    };
    source.change(|content| content.pending.push(incomplete));
    let pass = server.reconciler().run_pass().await;
    assert_eq!(
        (
            pass.to_string().starts_with("no changes"),
            server.text(NOW).await
        ),
        (true, text(1)),
        "{pass}"
    );
    assert!(pending(&server).is_empty());
}
