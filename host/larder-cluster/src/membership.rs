//! The leases of the replicas, in a bucket of JetStream. Each replica renews its own lease, and watches the leases of
//! the others. The end of a lease is measured with the clock of the replica that observes it, so the clocks of machines
//! may differ.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::jetstream::kv::{Entry, Operation, Store};
use futures_util::StreamExt as _;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::bucket;
use crate::node::Node;
use crate::replica::{Lease, MessageKind};
use crate::replica_id::ReplicaId;
use larder_runtime::health::Impact;

/// The time between two attempts to join.
const RETRY_DELAY: Duration = Duration::from_millis(500);
/// The time limit for an operation of JetStream.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(5);
/// How long removing the lease may take when the server stops.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(1);
/// The part of health that this module reports.
const HEALTH_PART: &str = "cluster leases";

/// Keeps this replica a member until the server stops.
pub(crate) async fn run(node: Arc<Node>) {
    let mut connected = node.connection.connected();
    while let Some(()) = node
        .drain
        .run_until_stopping(Box::pin(member(&node, &mut connected)))
        .await
    {}
    if node.connection.is_connected() {
        _ = timeout(LEAVE_TIMEOUT, leave(&node)).await;
    }
}

/// Keeps this replica a member while one connection exists.
async fn member(node: &Node, connected: &mut watch::Receiver<bool>) {
    node.replica().disconnected();
    if connected
        .wait_for(|is_connected| *is_connected)
        .await
        .is_err()
    {
        return std::future::pending().await;
    }
    let mut is_new_connection = true;
    let membership = async {
        loop {
            if let Err(error) = join_and_renew(node, &mut is_new_connection).await {
                node.connection
                    .report_error("the lease of this replica cannot be renewed", &error);
                report_failure(node, &error);
            }
            tokio::time::sleep(RETRY_DELAY).await;
        }
    };
    tokio::select! {
        () = membership => {}
        // Changes may have been missed, also if the connection was made again in the meantime.
        _ = connected.changed() => {}
    }
}

fn report_failure(node: &Node, error: &async_nats::Error) {
    let message = format!(
        "the lease of this replica cannot be renewed in NATS ({error}): it checks all that it watches itself; \
         JetStream must be enabled, and the user must be allowed to use it"
    );
    node.health
        .report(HEALTH_PART, message, Impact::OperatorOnly);
}

/// Opens the bucket, and keeps the lease until something fails.
async fn join_and_renew(
    node: &Node,
    is_new_connection: &mut bool,
) -> Result<(), async_nats::Error> {
    let bucket = in_time(bucket::open(node)).await?;
    let entries = in_time(async { Ok(bucket.watch_with_history(">").await?) }).await?;
    in_time(renew(node, &bucket)).await?;
    node.health.resolve(HEALTH_PART);
    // The server has answered, so it has all subscriptions.
    if std::mem::take(is_new_connection) {
        node.compare_all("connected to NATS");
    }
    let renewals = async {
        loop {
            tokio::time::sleep(node.config.lease.div_f64(3.0)).await;
            in_time(renew(node, &bucket)).await?;
        }
    };
    let observations = async {
        let mut entries = entries;
        while let Some(entry) = entries.next().await {
            observe(node, &entry?);
        }
        Err("the watch of the leases ended".into())
    };
    tokio::select! {
        ended = renewals => ended,
        ended = observations => ended,
    }
}

async fn in_time<T>(
    work: impl Future<Output = Result<T, async_nats::Error>>,
) -> Result<T, async_nats::Error> {
    timeout(OPERATION_TIMEOUT, work)
        .await
        .map_err(|_| "no answer in time")?
}

async fn renew(node: &Node, bucket: &Store) -> Result<(), async_nats::Error> {
    let lease = node.send_interest(|replica| replica.lease()).await;
    let started = Instant::now();
    bucket
        .put(
            node.id.to_string(),
            node.seal(&lease_context(node, node.id), &lease)?.into(),
        )
        .await?;
    node.replica().renewed(started);
    Ok(())
}

/// Where the lease of a replica is read.
fn lease_context(node: &Node, id: ReplicaId) -> String {
    node.subject(&format!("lease.{id}"))
}

/// Looks at a change of the bucket.
fn observe(node: &Node, entry: &Entry) {
    let Some(id) = ReplicaId::parse(&entry.key) else {
        return;
    };
    match entry.operation {
        Operation::Put => {
            let lease = node.admit::<Lease>(
                id,
                MessageKind::Lease,
                &lease_context(node, id),
                &entry.value,
            );
            if let Some(lease) = lease {
                node.replica().lease_seen(id, lease, Instant::now());
            }
        }
        Operation::Delete | Operation::Purge => node.replica().left(id),
    }
}

/// Removes the lease, so that the other replicas take over at once.
async fn leave(node: &Node) -> Result<(), async_nats::Error> {
    bucket::open(node)
        .await?
        .delete(node.id.to_string())
        .await?;
    Ok(node.connection.client().flush().await?)
}
