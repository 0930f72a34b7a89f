//! Sessions of legacy clients at several replicas: real NATS, real `larder serve` processes with a common folder of
//! documents, and plain HTTP requests to one replica or another.

mod limits;
mod outages;
mod replicas;
mod requests;
#[allow(dead_code, reason = "the tests of larder-cluster use the rest of it")]
#[expect(dead_code, reason = "the tests of larder-cluster use more of it")]
#[path = "../../../larder-cluster/tests/nats/server.rs"]
mod server;
mod streams;

use serde_json::json;

use self::replicas::{Replicas, uri};
use self::server::WAIT;
use crate::support::harness::eventually_within;

#[tokio::test]
async fn a_session_is_used_at_every_replica_and_ends_at_all_of_them() {
    let Some(replicas) = Replicas::start(3, "").await else {
        return;
    };
    let session = replicas.session(0).await;
    // The session is used at once and concurrently, and every replica finds it.
    for replica in [1, 2] {
        let reads = (0..20).map(|_| replicas.read(replica, &session, "a"));
        assert_eq!(
            futures_util::future::join_all(reads).await,
            [200; 20],
            "replica {replica}"
        );
    }
    assert_eq!(replicas.read(1, "never-was", "a").await, 404);
    let ended = replicas.delete(2, &session).await;
    assert_eq!(ended, 204);
    for replica in [0, 1, 2] {
        let is_gone = async || replicas.read(replica, &session, "a").await == 404;
        eventually_within(WAIT, "the session has ended everywhere", is_gone).await;
    }
}

#[tokio::test]
async fn subscriptions_change_at_one_replica_while_the_stream_is_at_another() {
    let Some(replicas) = Replicas::start(3, "").await else {
        return;
    };
    let session = replicas.session(0).await;
    replicas.subscribe(0, &session, "a").await;
    let mut stream = replicas.listen(1, &session, None).await;
    replicas.subscribe(2, &session, "b").await;
    replicas.write("b", "second");
    stream.until("b").await;
    replicas.write("a", "second");
    stream.until("a").await;
    let unsubscribed = replicas
        .post(
            0,
            Some(&session),
            "resources/unsubscribe",
            json!({ "uri": uri("a") }),
        )
        .await;
    assert_eq!(unsubscribed.status, 200, "{}", unsubscribed.body);
    // The replica with the stream is notified soon, but not at once.
    let mut round = 0;
    let is_unsubscribed = async || {
        round += 1;
        replicas.write("a", &format!("more {round}{}", "x".repeat(round)));
        replicas.write("b", &format!("more {round}{}", "x".repeat(round)));
        !stream.until("b").await.contains(&"a".to_owned())
    };
    eventually_within(WAIT, "the client is not subscribed to a", is_unsubscribed).await;
    assert_eq!(replicas.delete(0, &session).await, 204);
    stream.ends().await;
}
