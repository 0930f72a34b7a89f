//! A source that is missing for a while: its components stay, and are withdrawn only after the grace period.

use std::time::Duration;

use larder_core::source::MemorySource;
use tokio::time::Instant;

use super::{compile_and_pause, not_served, start};
use crate::support::harness::TestServer;
use crate::support::revision::{NOW, revision, text};

fn set_missing(source: &MemorySource, missing: bool) {
    source.change(|content| content.missing = missing.then(|| "it is not there".to_owned()));
}

fn problems(server: &TestServer) -> Vec<String> {
    server
        .health
        .problems()
        .into_iter()
        .map(|problem| problem.message)
        .collect()
}

#[tokio::test]
async fn a_source_that_comes_back_in_time_has_lost_nothing() {
    compile_and_pause(&[&revision(1)]).await;
    let source = MemorySource::default();
    source.put("revision", revision(1));
    let mut server = start(&source).await;
    let mut published = server.reader.published();
    published.mark_unchanged();
    for _ in 0..3 {
        set_missing(&source, true);
        let pass = server.reconciler().run_pass().await;
        assert_eq!(pass.removed.len(), 0, "{pass}");
        // Tokio advances a paused clock while the guest works, so the call would time out.
        tokio::time::resume();
        assert_eq!(server.text(NOW).await, text(1), "{pass}");
        tokio::time::pause();
        let problem =
            "cannot read memory: it is not there; its components are served for 30s without it";
        assert_eq!(
            (&pass.problems[..], problems(&server)),
            (
                &[problem.to_owned()][..],
                vec![format!("team default: {problem}")]
            )
        );
        let pass = server.reconciler().run_pass().await;
        assert!(
            pass.problems.is_empty(),
            "a repeated pass reports it again: {pass}"
        );
        tokio::time::advance(Duration::from_secs(20)).await;
        set_missing(&source, false);
        let pass = server.reconciler().run_pass().await;
        assert!(pass.loaded.is_empty() && pass.replaced.is_empty(), "{pass}");
        assert!(problems(&server).is_empty());
    }
}

#[tokio::test]
async fn the_components_are_withdrawn_after_the_grace_period() {
    compile_and_pause(&[&revision(1)]).await;
    let source = MemorySource::default();
    source.put("revision", revision(1));
    let builder = TestServer::builder("")
        .source(source.clone())
        .scan_interval(Duration::from_secs(3_600));
    let mut server = builder.start().await;
    server.run_reconciler();
    // The first scan of the loop registers the trigger.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut published = server.reader.published();
    set_missing(&source, true);
    let began = Instant::now();
    while !server.reader.snapshot().offers().is_empty() {
        tokio::time::timeout(Duration::from_secs(60), published.changed())
            .await
            .unwrap()
            .unwrap();
    }
    let took = began.elapsed();
    assert!(
        (Duration::from_secs(30)..Duration::from_secs(31)).contains(&took),
        "{took:?}"
    );
    assert_eq!(server.text(NOW).await, not_served());
    let problem =
        "team default: cannot read memory: it is not there; its components are not served any more";
    assert_eq!(problems(&server), [problem]);
    set_missing(&source, false);
    while server.reader.snapshot().offers().is_empty() {
        tokio::time::timeout(Duration::from_secs(1), published.changed())
            .await
            .unwrap()
            .unwrap();
    }
    assert!(problems(&server).is_empty());
}
