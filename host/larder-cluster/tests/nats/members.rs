//! Replicas that come and go while NATS is there.

use larder_cluster::ClusterConfig;
use larder_core::catalog::ContentState;
use larder_core::replicas::ReplicaEvent;
use larder_model::name::ProviderName;

use crate::replica::{Replica, config, uri, uris};
use crate::server::{NatsServer, WAIT, eventually};

/// Waits until each of these URIs has one poller.
async fn share(replicas: &[&Replica], watched: std::ops::Range<usize>) {
    let watched = uris(watched);
    let pollers = |uri| {
        replicas
            .iter()
            .filter(|replica| replica.team.is_poller(uri))
            .count()
    };
    eventually("each URI has one poller", || {
        watched.iter().all(|uri| pollers(uri) == 1)
    })
    .await;
}

#[tokio::test]
async fn one_replica_polls_what_several_watch() {
    let Some(nats) = NatsServer::start() else {
        return;
    };
    let [one, two, three] = Replica::start_all(&nats.url()).await;
    let all = [&one, &two, &three];
    all.iter()
        .for_each(|replica| replica.team.watch(&uris(0..300), &[]));
    share(&all, 0..300).await;
    all.iter().for_each(|replica| {
        assert!(
            (50..150).contains(&replica.polled()),
            "{}",
            replica.polled()
        )
    });
    assert!(one.team.is_watched_elsewhere(&uri(1)) && !one.team.is_watched_elsewhere(&uri(1000)));
    let status = one.cluster.status();
    assert_eq!(
        (status.watched, status.replicas[0].version.as_str()),
        (300, "1.2.3")
    );
    assert_eq!(
        (
            one.metric("larder_cluster_replicas"),
            one.metric("larder_cluster_watched_uris")
        ),
        (3, 300)
    );
    assert!(one.health.problems().is_empty());
    // What nobody else watches any more is polled by the one that does.
    two.team.watch(&[], &uris(0..300));
    three.team.watch(&[], &uris(0..100));
    eventually("one polls it", || {
        uris(0..100).iter().all(|uri| one.team.is_poller(uri))
    })
    .await;
    share(&[&one, &three], 100..300).await;
}

#[tokio::test]
async fn a_replica_that_joins_learns_all_that_is_watched() {
    let Some(nats) = NatsServer::start() else {
        return;
    };
    // A snapshot of several messages.
    let watched = 40_000;
    let [one] = Replica::start_all(&nats.url()).await;
    one.team.watch(&uris(0..watched), &[]);
    let two = Replica::start(config(&nats.url()));
    two.team.watch(&uris(0..watched), &[]);
    two.sees(1).await;
    let polled = || one.polled() + two.polled();
    eventually("each URI has one poller", || {
        polled() == watched && two.polled() < watched
    })
    .await;
}

#[tokio::test]
async fn another_replica_takes_over() {
    let Some(nats) = NatsServer::start() else {
        return;
    };
    let [one, two] = Replica::start_all(&nats.url()).await;
    [&one, &two]
        .iter()
        .for_each(|replica| replica.team.watch(&uris(0..100), &[]));
    share(&[&one, &two], 0..100).await;
    two.kill();
    eventually("the survivor polls everything", || one.polled() == 100).await;
    assert!(one.cluster.status().replicas.is_empty());
}

#[tokio::test]
async fn another_replica_takes_over_from_one_that_stops_before_its_lease_ends() {
    let Some(nats) = NatsServer::start() else {
        return;
    };
    let start = || {
        Replica::start(ClusterConfig {
            lease: WAIT * 5,
            ..config(&nats.url())
        })
    };
    let (one, two, three) = (start(), start(), start());
    for replica in [&one, &two, &three] {
        replica.sees(2).await;
        replica.team.watch(&uris(0..100), &[]);
    }
    share(&[&one, &two, &three], 0..100).await;
    std::thread::spawn(move || three.stop()).join().unwrap();
    one.sees(1).await;
    share(&[&one, &two], 0..100).await;
}

#[tokio::test]
async fn what_one_replica_reports_all_others_receive_once() {
    let Some(nats) = NatsServer::start() else {
        return;
    };
    let [one, two, three] = Replica::start_all(&nats.url()).await;
    [&one, &two, &three]
        .iter()
        .for_each(|replica| replica.receives(|event| *event == ReplicaEvent::CompareAll));
    let sent = [
        ReplicaEvent::Updated {
            uri: uri(1),
            state: ContentState::Missing,
        },
        ReplicaEvent::Signalled { uri: uri(2) },
        ReplicaEvent::ListChanged {
            provider: ProviderName::parse("notes").unwrap(),
        },
    ];
    sent.iter()
        .for_each(|event| one.team.publish(event.clone()));
    for replica in [&two, &three] {
        sent.iter()
            .for_each(|expected| replica.receives(|event| event == expected));
        assert_eq!(replica.arrived(), []);
    }
    for n in 0..1000 {
        one.team.publish(ReplicaEvent::Signalled { uri: uri(n) });
    }
    for n in 0..1000 {
        two.receives(|event| *event == ReplicaEvent::Signalled { uri: uri(n) });
    }
    assert_eq!(one.arrived(), [], "a replica does not tell itself");
    let line = r#"larder_cluster_messages_total{direction="sent",kind="signal"}"#;
    eventually("it is counted", || one.metric(line) == 1001).await;
    assert_eq!(two.metric(&line.replace("sent", "received")), 1001);
}

#[tokio::test]
async fn deployments_with_other_prefixes_are_separate() {
    let Some(nats) = NatsServer::start() else {
        return;
    };
    let prefixed = |prefix: &str| {
        let prefix = larder_cluster::Prefix::parse(prefix).unwrap();
        Replica::start(larder_cluster::ClusterConfig {
            prefix,
            ..config(&nats.url())
        })
    };
    let (one, other, two) = (prefixed("a"), prefixed("b"), prefixed("a"));
    one.sees(1).await;
    two.sees(1).await;
    assert!(other.cluster.status().replicas.is_empty());
}
