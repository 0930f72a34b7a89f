//! Notification streams that move to another replica.

use super::replicas::Replicas;

#[tokio::test]
async fn a_stream_that_moves_to_another_replica_misses_nothing() {
    let Some(replicas) = Replicas::start(2, "").await else {
        return;
    };
    let session = replicas.session(0).await;
    for name in ["a", "b", "c"] {
        replicas.subscribe(1, &session, name).await;
    }
    let mut stream = replicas.listen(0, &session, None).await;
    replicas.write("a", "second");
    assert!(stream.until("a").await.is_empty());
    let last = stream.last.clone();
    drop(stream);
    replicas.write("b", "second, without a stream");
    let mut stream = replicas.listen(1, &session, Some(&last)).await;
    // A change that another replica finds later may be reported twice, but c has not changed.
    let before = stream.until("b").await;
    assert!(!before.contains(&"c".to_owned()), "{before:?}");
    replicas.write("c", "second");
    stream.until("c").await;
    // And back again.
    let last = stream.last.clone();
    let mut other = replicas.listen(0, &session, Some(&last)).await;
    stream.ends().await;
    replicas.write("a", "third and longer");
    other.until("a").await;
    replicas.write("b", "third, after both moves");
    other.until("b").await;
}

#[tokio::test]
async fn a_client_of_a_killed_replica_loses_no_subscription() {
    let Some(mut replicas) = Replicas::start(3, "").await else {
        return;
    };
    let session = replicas.session(0).await;
    for name in ["a", "b"] {
        replicas.subscribe(0, &session, name).await;
    }
    let mut stream = replicas.listen(0, &session, None).await;
    replicas.write("a", "second");
    stream.until("a").await;
    let last = stream.last.clone();
    replicas.stop(0, "KILL");
    stream.ends().await;
    replicas.write("b", "second, while the client has no replica");
    let mut stream = replicas.listen(1, &session, Some(&last)).await;
    stream.until("b").await;
    replicas.write("a", "third, with another replica");
    stream.until("a").await;
    // An event of a stopped replica does not help, and neither does an event of another client's stream.
    let foreign = replicas.session(1).await;
    let answer = super::replicas::Answer::of(replicas.get(2, &foreign, Some(&last))).await;
    assert_eq!(answer.status, 400, "{}", answer.body);
}

#[tokio::test]
async fn a_rolling_restart_loses_neither_sessions_nor_changes() {
    let Some(mut replicas) = Replicas::start(2, "").await else {
        return;
    };
    let session = replicas.session(0).await;
    for name in ["a", "b"] {
        replicas.subscribe(0, &session, name).await;
    }
    let mut stream = replicas.listen(0, &session, None).await;
    stream.priming_event().await;
    for (stopped, other) in [(0, 1), (1, 0)] {
        let last = stream.last.clone();
        replicas.stop(stopped, "TERM");
        stream.ends().await;
        let last = if stream.last.is_empty() {
            last
        } else {
            stream.last.clone()
        };
        replicas.write("a", &format!("changed while {stopped} is down"));
        stream = replicas.listen(other, &session, Some(&last)).await;
        let before = stream.until("a").await;
        assert!(
            !before.contains(&"b".to_owned()),
            "b has not changed: {before:?}"
        );
        replicas.run(stopped);
        replicas.wait_for_connection(stopped);
        assert_eq!(replicas.read(stopped, &session, "a").await, 200);
    }
}
