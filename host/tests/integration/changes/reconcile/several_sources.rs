//! One team with several sources.

use larder_core::source::MemorySource;

use crate::support::harness::{TestServer, component_path};
use crate::support::revision::{NOW, revision, text};

#[tokio::test]
async fn an_unreadable_source_does_not_affect_the_others() {
    let (one, other) = (MemorySource::default(), MemorySource::default());
    one.put("echo", std::fs::read(component_path("echo")).unwrap());
    other.put("revision", revision(1));
    let mut server = TestServer::builder("")
        .source(one.clone())
        .source(other.clone())
        .start()
        .await;
    assert_eq!(server.text(NOW).await, text(1));
    one.change(|content| content.error = Some("it does not respond".into()));
    other.put("revision", revision(2));
    let pass = server.reconciler().run_pass().await;
    assert_eq!(
        (pass.replaced.len(), server.text(NOW).await),
        (1, text(2)),
        "{pass}"
    );
    assert!(server.text("echo://hello").await.starts_with("uri:"));
}

#[tokio::test]
async fn the_first_source_with_a_name_is_used() {
    let (one, other) = (MemorySource::default(), MemorySource::default());
    one.put("revision", revision(1));
    other.put("revision", revision(2));
    let mut server = TestServer::builder("")
        .source(one.clone())
        .source(other.clone())
        .start()
        .await;
    let problem =
        "not used, because another source has a component named revision: memory:revision";
    assert_eq!(server.first_pass.problems, [problem]);
    // While the first source cannot be read, the other source does not replace it.
    one.change(|content| content.error = Some("it does not respond".into()));
    server.reconciler().run_pass().await;
    assert_eq!(server.text(NOW).await, text(1));
    one.change(|content| {
        content.error = None;
        content.artifacts.clear();
    });
    let pass = server.reconciler().run_pass().await;
    assert_eq!(
        (pass.replaced.len(), server.text(NOW).await),
        (1, text(2)),
        "{pass}"
    );
}
