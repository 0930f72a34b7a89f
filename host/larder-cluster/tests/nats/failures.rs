//! NATS is away, or returns, or cannot do what is needed.

use larder_cluster::{Cluster, ClusterConfig, NatsServer as NatsUrl};
use larder_core::replicas::ReplicaEvent;

use crate::replica::{Replica, config, uri, uris};
use crate::server::{NatsServer, eventually};

fn is_comparison(event: &ReplicaEvent) -> bool {
    *event == ReplicaEvent::CompareAll
}

#[tokio::test]
async fn a_replica_starts_without_nats_and_compares_when_it_comes() {
    let Some(mut nats) = NatsServer::prepare("jetstream {}") else {
        return;
    };
    let replica = Replica::start(config(&nats.url()));
    replica.team.watch(&uris(0..10), &[]);
    assert!(replica.team.is_poller(&uri(1)));
    replica
        .team
        .publish(ReplicaEvent::Signalled { uri: uri(1) });
    eventually("the reason is known", || {
        replica.cluster.status().last_error.is_some()
    })
    .await;
    let status = replica.cluster.status();
    assert!(!status.connected && status.polled == 10);
    let problems = replica.health.problems();
    assert!(
        problems.len() == 1 && problems[0].message.contains("not connected to NATS"),
        "{problems:?}"
    );
    assert!(problems[0].message.contains("refused"), "{problems:?}");
    assert_eq!(replica.metric("larder_cluster_connected"), 0);
    assert_eq!(
        replica.metric(r#"larder_cluster_messages_total{direction="dropped",kind="signal"}"#),
        1
    );
    nats.run();
    replica.receives(is_comparison);
    assert!(replica.health.problems().is_empty() && replica.cluster.status().connected);
}

#[tokio::test]
async fn replicas_continue_when_nats_was_killed() {
    let Some(mut nats) = NatsServer::start() else {
        return;
    };
    let [one, two] = Replica::start_all(&nats.url()).await;
    [&one, &two]
        .iter()
        .for_each(|replica| replica.team.watch(&uris(0..100), &[]));
    let is_shared = || one.polled() + two.polled() == 100;
    eventually("the URIs are shared", is_shared).await;
    for _ in 0..2 {
        [&one, &two]
            .iter()
            .for_each(|replica| replica.ignore_events());
        nats.kill();
        eventually("each polls everything", || {
            one.polled() + two.polled() == 200
        })
        .await;
        nats.run();
        one.receives(is_comparison);
        two.receives(is_comparison);
        eventually("the URIs are shared again", is_shared).await;
    }
    one.team.publish(ReplicaEvent::Signalled { uri: uri(5) });
    two.receives(|event| *event == ReplicaEvent::Signalled { uri: uri(5) });
    assert!(one.cluster.status().reconnects >= 2);
}

#[tokio::test]
async fn without_jetstream_the_reason_is_reported_and_everything_is_polled() {
    let Some(nats) = NatsServer::with_lines("") else {
        return;
    };
    let replica = Replica::start(config(&nats.url()));
    replica.team.watch(&uris(0..10), &[]);
    let problems = || {
        replica
            .health
            .problems()
            .into_iter()
            .map(|problem| problem.message)
    };
    eventually("it is reported", || {
        problems().any(|message| message.contains("JetStream must be enabled"))
    })
    .await;
    assert!(replica.cluster.status().connected && replica.polled() == 10);
}

#[tokio::test]
async fn events_that_were_not_sent_make_the_others_compare() {
    let Some(mut nats) = NatsServer::start() else {
        return;
    };
    let [one, two] = Replica::start_all(&nats.url()).await;
    nats.kill();
    eventually("it is noticed", || !one.cluster.status().connected).await;
    one.team.publish(ReplicaEvent::Signalled { uri: uri(1) });
    nats.run();
    two.receives(is_comparison);
    one.sees(1).await;
    // More than fit.
    two.ignore_events();
    (0..20_000).for_each(|n| one.team.publish(ReplicaEvent::Signalled { uri: uri(n) }));
    two.receives(|event| {
        is_comparison(event) || *event == ReplicaEvent::Signalled { uri: uri(19_999) }
    });
}

#[tokio::test]
async fn a_probe_says_which_server_cannot_be_used() {
    let Some(nats) = NatsServer::start() else {
        return;
    };
    let Some(plain) = NatsServer::with_lines("") else {
        return;
    };
    let closed = "nats://127.0.0.1:1".to_owned();
    let urls = [nats.url(), plain.url(), closed];
    let config = ClusterConfig {
        servers: urls.map(|url| NatsUrl::parse(&url).unwrap()).into(),
        ..config(&nats.url())
    };
    let probed = Cluster::probe(&config).await;
    let [(_, works), (_, no_jetstream), (server, closed)] = &probed[..] else {
        panic!("{probed:?}");
    };
    assert!(works.as_ref().unwrap().contains('('), "{works:?}");
    let error = no_jetstream.as_ref().unwrap_err();
    assert!(error.contains("it has no JetStream"), "{error}");
    assert_eq!(server.to_string(), "nats://127.0.0.1:1");
    let error = closed.as_ref().unwrap_err();
    assert!(error.contains("refused"), "{error}");
}
