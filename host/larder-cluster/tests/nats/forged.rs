//! Another program with the permissions of the replicas in NATS.

use async_nats::jetstream;
use futures_util::StreamExt as _;
use larder_cluster::ClusterConfig;

use crate::replica::{Replica, config, uris};
use crate::server::{NatsServer, WAIT, eventually};

/// The URIs that both replicas watch.
const WATCHED: usize = 300;
/// How many replicas are invented, so that most URIs have one of them as their poller.
const INVENTED: usize = 8;

/// A client of NATS that is no replica.
struct Neighbour {
    client: async_nats::Client,
    interest: async_nats::Subscriber,
}

impl Neighbour {
    async fn connect(nats: &NatsServer) -> Self {
        let client = async_nats::connect(nats.url()).await.unwrap();
        let interest = client.subscribe("larder.interest.*").await.unwrap();
        client.flush().await.unwrap();
        Self { client, interest }
    }

    /// Copies what a replica watches, and its lease, under invented names and with a lease of 115 days. They have no seal.
    async fn invent_replicas(&mut self) {
        let batch = tokio::time::timeout(WAIT, self.interest.next())
            .await
            .unwrap()
            .unwrap();
        let batch = without_seal(&batch.payload);
        let context = jetstream::new(self.client.clone());
        let bucket = context.get_key_value("larder_replicas").await.unwrap();
        let mut keys = bucket.keys().await.unwrap().boxed();
        let key = keys.next().await.unwrap().unwrap();
        let mut lease = serde_json::Value::Null;
        while lease["batch"].as_u64().is_none_or(|batch| batch == 0) {
            lease = without_seal(&bucket.get(&key).await.unwrap().unwrap());
        }
        lease["milliseconds"] = 10_000_000_000_u64.into();
        for number in 0..INVENTED {
            let name = format!("{number:016x}");
            self.client
                .publish(format!("larder.interest.{name}"), batch.to_string().into())
                .await
                .unwrap();
            bucket.put(name, lease.to_string().into()).await.unwrap();
        }
    }
}

fn without_seal(message: &[u8]) -> serde_json::Value {
    let mut message: serde_json::Value = serde_json::from_slice(message).unwrap();
    message.as_object_mut().unwrap().remove("seal");
    message
}

/// Starts two replicas that watch the same URIs, and share the work.
async fn start(nats: &NatsServer, require_sealed: bool) -> (Neighbour, [Replica; 2]) {
    let config = || ClusterConfig {
        require_sealed,
        ..config(&nats.url())
    };
    let replicas = [Replica::start(config()), Replica::start(config())];
    for replica in &replicas {
        replica.sees(1).await;
    }
    let neighbour = Neighbour::connect(nats).await;
    for replica in &replicas {
        replica.team.watch(&uris(0..WATCHED), &[]);
    }
    eventually("the replicas share the work", || {
        polled(&replicas) == WATCHED
    })
    .await;
    (neighbour, replicas)
}

fn polled(replicas: &[Replica; 2]) -> usize {
    replicas.iter().map(Replica::polled).sum()
}

#[tokio::test]
async fn an_invented_replica_is_ignored_where_seals_are_required() {
    let Some(nats) = NatsServer::start() else {
        return;
    };
    let (mut neighbour, replicas) = start(&nats, true).await;
    neighbour.invent_replicas().await;
    for replica in &replicas {
        let error = || replica.cluster.status().last_error.unwrap_or_default();
        eventually("the message is refused", || {
            error().contains("it has no seal")
        })
        .await;
    }
    // Its lease is read after those that were invented.
    let third = Replica::start(ClusterConfig {
        require_sealed: true,
        ..config(&nats.url())
    });
    for replica in &replicas {
        replica.sees(2).await;
    }
    assert_eq!(polled(&replicas), WATCHED);
    third.sees(2).await;
}

#[tokio::test]
async fn the_lease_of_an_invented_replica_ends_in_time() {
    let Some(nats) = NatsServer::start() else {
        return;
    };
    let (mut neighbour, replicas) = start(&nats, false).await;
    neighbour.invent_replicas().await;
    // Its lease is read after those that were invented.
    let _third = Replica::start(config(&nats.url()));
    for replica in &replicas {
        replica.sees(2).await;
    }
    eventually("the replicas check everything again", || {
        polled(&replicas) == WATCHED
    })
    .await;
}

#[tokio::test]
async fn a_replica_with_another_key_is_not_a_member() {
    let Some(nats) = NatsServer::start() else {
        return;
    };
    let [one] = Replica::start_all(&nats.url()).await;
    let keys = vec![larder_model::policy::Secret::new(&"x".repeat(32))];
    let other = Replica::start(ClusterConfig {
        keys,
        ..config(&nats.url())
    });
    for replica in [&one, &other] {
        let error = || replica.cluster.status().last_error.unwrap_or_default();
        eventually("the seal is refused", || {
            error().contains("its seal is not valid")
        })
        .await;
        assert_eq!(replica.cluster.status().replicas.len(), 0);
    }
}

#[tokio::test]
async fn the_user_of_replicas_cannot_delete_their_buckets() {
    let user = include_str!("../../../../deploy/nats/larder.conf")
        .replace("$NATS_PASSWORD", "\"pa55word\"");
    let Some(nats) =
        NatsServer::with_lines(&format!("jetstream {{}}\n{}", user.replace("1800", "60")))
    else {
        return;
    };
    let url = format!("nats://larder:pa55word@127.0.0.1:{}", nats.port);
    let [one, other] = Replica::start_all(&url).await;
    one.team.watch(&uris(0..WATCHED), &[]);
    other.team.watch(&uris(0..WATCHED), &[]);
    eventually("the replicas share the work", || {
        one.polled() + other.polled() == WATCHED
    })
    .await;
    let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
    let options =
        async_nats::ConnectOptions::with_user_and_password("larder".into(), "pa55word".into())
            .event_callback(move |event| {
                _ = sender.send(event.to_string());
                std::future::ready(())
            });
    let client = options.connect(nats.url()).await.unwrap();
    for operation in ["DELETE", "PURGE", "UPDATE", "SNAPSHOT"] {
        let subject = format!("$JS.API.STREAM.{operation}.KV_larder_replicas");
        client.publish(subject.clone(), "{}".into()).await.unwrap();
        let refused = async {
            while !events
                .recv()
                .await
                .unwrap()
                .to_lowercase()
                .contains(&subject.to_lowercase())
            {}
        };
        tokio::time::timeout(WAIT, refused)
            .await
            .expect("NATS refuses it");
    }
    assert_eq!(one.health.problems(), []);
}
