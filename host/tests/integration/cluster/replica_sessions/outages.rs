//! Sessions while NATS cannot be reached.

use serde_json::json;

use super::replicas::Replicas;
use super::server::{NatsServer, WAIT};
use crate::support::harness::eventually_within;

#[tokio::test]
async fn sessions_continue_while_nats_is_away_and_are_shared_when_it_returns() {
    let Some(mut replicas) = Replicas::start(2, "").await else {
        return;
    };
    let (known, ended) = (replicas.session(0).await, replicas.session(0).await);
    let elsewhere = replicas.session(1).await;
    replicas.subscribe(0, &known, "a").await;
    let mut stream = replicas.listen(0, &known, None).await;
    stream.priming_event().await;
    assert_eq!(replicas.read(1, &ended, "a").await, 200);
    replicas.nats.kill();
    (0..2).for_each(|replica| replicas.wait_for_disconnection(replica));

    assert_eq!(replicas.read(0, &known, "a").await, 200);
    replicas.write("a", "second, without NATS");
    stream.until("a").await;
    replicas.subscribe(0, &known, "b").await;
    let opened = replicas.session(0).await;
    replicas.subscribe(0, &opened, "c").await;
    // The client must not assume that the session of another replica has ended.
    let answer = replicas.post(0, Some(&elsewhere), "ping", json!({})).await;
    assert_eq!(
        (answer.status, answer.retry_after.as_deref()),
        (503, Some("1")),
        "{}",
        answer.body
    );
    assert_eq!(replicas.read(1, &elsewhere, "a").await, 200);
    assert_eq!(replicas.delete(0, &ended).await, 204);
    assert_eq!(
        replicas.read(0, &ended, "a").await,
        404,
        "it has ended here"
    );

    replicas.nats.run();
    (0..2).for_each(|replica| replicas.wait_for_reconnection(replica));
    for (replica, session) in [(1, &opened), (0, &elsewhere), (1, &known)] {
        let is_shared = async || replicas.read(replica, session, "a").await == 200;
        eventually_within(WAIT, "the session is known at the other replica", is_shared).await;
    }
    let has_ended = async || replicas.read(1, &ended, "a").await == 404;
    eventually_within(
        WAIT,
        "the session has ended at the other replica",
        has_ended,
    )
    .await;
    // The stream has the subscriptions that were made in the meantime.
    let mut moved = replicas.listen(1, &opened, None).await;
    moved.priming_event().await;
    replicas.write("c", "second, at the other replica");
    moved.until("c").await;
    let last = stream.last.clone();
    let mut moved = replicas.listen(1, &known, Some(&last)).await;
    replicas.write("b", "second, at the other replica");
    moved.until("b").await;
}

#[tokio::test]
async fn a_replica_that_starts_without_nats_serves_new_sessions() {
    let Some(nats) = NatsServer::prepare("jetstream {}") else {
        return;
    };
    let mut replicas = Replicas::prepare(nats, 2);
    for replica in 0..2 {
        replicas.configure(replica, "['key']", "");
        replicas.run(replica);
    }
    let session = replicas.session(0).await;
    replicas.subscribe(0, &session, "a").await;
    assert_eq!(replicas.read(0, &session, "a").await, 200);
    assert_eq!(replicas.read(1, &session, "a").await, 503);
    replicas.nats.run();
    let is_shared = async || replicas.read(1, &session, "a").await == 200;
    eventually_within(WAIT, "the session is known at the other replica", is_shared).await;
}
