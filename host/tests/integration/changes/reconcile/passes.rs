//! Single passes: the effect of a change of the source on the catalog.

use larder_core::source::{Artifact, Blob, BlobRevision, MemorySource};
use larder_model::name::Digest;

use super::{not_served, start};
use crate::support::harness::component_path;
use crate::support::revision::{NOW, revision, text};

#[tokio::test]
async fn adds_replaces_and_removes_a_component() {
    let source = MemorySource::default();
    let mut server = start(&source).await;
    assert_eq!(server.text(NOW).await, not_served());
    source.put("revision", revision(1));
    let pass = server.reconciler().run_pass().await;
    assert_eq!(
        (pass.loaded.len(), server.text(NOW).await),
        (1, text(1)),
        "{pass}"
    );
    source.put("revision", revision(2));
    let pass = server.reconciler().run_pass().await;
    assert_eq!(
        (pass.replaced.len(), server.text(NOW).await),
        (1, text(2)),
        "{pass}"
    );
    source.put("revision", revision(2));
    let pass = server.reconciler().run_pass().await;
    assert!(pass.loaded.is_empty() && pass.replaced.is_empty(), "{pass}");
    source.remove("revision");
    let pass = server.reconciler().run_pass().await;
    assert_eq!(
        (pass.removed.len(), server.text(NOW).await),
        (1, not_served()),
        "{pass}"
    );
}

#[tokio::test]
async fn two_changes_at_once_are_published_together() {
    let source = MemorySource::default();
    source.put("a", revision(1));
    let mut server = start(&source).await;
    let mut published = server.reader.published();
    let before = *published.borrow_and_update();
    source.change(|content| {
        content.artifacts.remove("a");
        content.put(Artifact::in_memory("b", revision(2)));
        content.put(Artifact::in_memory(
            "echo",
            std::fs::read(component_path("echo")).unwrap(),
        ));
    });
    let pass = server.reconciler().run_pass().await;
    assert_eq!((pass.removed.len(), pass.loaded.len()), (1, 2), "{pass}");
    assert_eq!(*published.borrow_and_update(), before + 1);
    assert_eq!(server.text(NOW).await, text(2));
}

#[tokio::test]
async fn a_broken_revision_keeps_the_last_good_one() {
    let source = MemorySource::default();
    source.put("revision", revision(1));
    let mut server = start(&source).await;
    let unknown = std::fs::read(component_path("unknown")).unwrap();
    for broken in [b"no component".to_vec(), unknown] {
        source.put("revision", broken);
        let pass = server.reconciler().run_pass().await;
        assert_eq!(pass.rejected[0].origin, "memory:revision");
        assert_eq!(server.text(NOW).await, text(1));
        let pass = server.reconciler().run_pass().await;
        assert!(
            pass.rejected.is_empty(),
            "a repeated pass reports it again: {pass}"
        );
    }
    source.put("revision", revision(2));
    server.reconciler().run_pass().await;
    assert_eq!(server.text(NOW).await, text(2));
    assert!(server.reader.snapshot().rejected().is_empty());
}

#[tokio::test]
async fn rejects_an_artifact_that_is_not_what_the_source_says() {
    let source = MemorySource::default();
    source.put("revision", revision(1));
    let mut server = start(&source).await;
    let other_digest = BlobRevision::Digest(Digest::of(b"something else"));
    let artifact = || Artifact::in_memory("revision", revision(2));
    let component = Blob::new(other_digest, bytes::Bytes::from(revision(2)));
    source.change(|content| {
        content.put(Artifact {
            component,
            ..artifact()
        })
    });
    let pass = server.reconciler().run_pass().await;
    let reason = "cannot read the file: the content does not have the digest";
    assert!(pass.rejected[0].reason.starts_with(reason), "{pass}");
    assert_eq!(server.text(NOW).await, text(1));
    source.change(|content| content.put(artifact()));
    server.reconciler().run_pass().await;
    assert_eq!(server.text(NOW).await, text(2));
}

#[tokio::test]
async fn applies_the_grant_request_of_an_artifact() {
    let source = MemorySource::default();
    let mut server = start(&source).await;
    let echo = std::fs::read(component_path("echo")).unwrap();
    for value in ["first", "second"] {
        let request = Blob::in_memory(format!("[settings]\nx = \"{value}\"\n"));
        let artifact = Artifact {
            grant_request: Some(request),
            ..Artifact::in_memory("echo", echo.clone())
        };
        source.change(|content| content.put(artifact));
        server.reconciler().run_pass().await;
        assert_eq!(server.text("echo://setting/x").await, value);
    }
}

#[tokio::test]
async fn an_unreadable_source_keeps_what_is_served() {
    let source = MemorySource::default();
    source.put("revision", revision(1));
    let mut server = start(&source).await;
    source.change(|content| {
        content.artifacts.clear();
        content.error = Some("the registry does not respond".into());
    });
    let pass = server.reconciler().run_pass().await;
    let problem = "cannot read memory: the registry does not respond";
    assert_eq!(
        (pass.problems, server.text(NOW).await),
        (vec![problem.to_owned()], text(1))
    );
    let problems: Vec<_> = server
        .health
        .problems()
        .into_iter()
        .map(|problem| problem.message)
        .collect();
    assert_eq!(problems, [format!("team default: {problem}")]);
    assert!(
        server.reconciler().run_pass().await.problems.is_empty(),
        "a repeated pass reports it again"
    );
    source.change(|content| content.error = None);
    let pass = server.reconciler().run_pass().await;
    assert_eq!(
        (pass.removed.len(), server.text(NOW).await),
        (1, not_served()),
        "{pass}"
    );
    assert!(server.health.problems().is_empty());
}
