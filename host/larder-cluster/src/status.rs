//! The data of the cluster that operators see: the status, and metrics.

use std::sync::Arc;

use crate::node::Node;
use crate::replica_id::ReplicaId;
use larder_runtime::metrics::{ComputedFamily, Metrics};

/// The state of the connection, and the known replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterStatus {
    /// Whether there is a connection to NATS.
    pub connected: bool,
    /// The name and version of the NATS server.
    pub server: Option<String>,
    /// The name of this replica.
    pub replica: ReplicaId,
    /// The other replicas that are alive.
    pub replicas: Vec<ReplicaStatus>,
    /// The number of URIs that are watched at this replica.
    pub watched: usize,
    /// The number of watched URIs that this replica checks.
    pub polled: usize,
    /// How often the connection was made again.
    pub reconnects: u64,
    /// The last error of the connection, or of an operation.
    pub last_error: Option<String>,
}

/// Another replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaStatus {
    /// The name of the replica.
    pub id: ReplicaId,
    /// The version of the replica's program.
    pub version: String,
    /// The time since the replica's lease was renewed.
    pub last_seen_seconds: u64,
}

/// Returns the current status.
pub(crate) fn status(node: &Node) -> ClusterStatus {
    let replica = node.replica();
    let connection = &node.connection;
    let replicas = replica.live_peers().into_iter().map(|peer| ReplicaStatus {
        id: peer.id,
        version: peer.version,
        last_seen_seconds: peer.last_seen.elapsed().as_secs(),
    });
    ClusterStatus {
        connected: connection.is_connected(),
        server: connection.server(),
        replica: node.id,
        replicas: replicas.collect(),
        watched: replica.watched_count(),
        polled: replica.polled_count(),
        reconnects: connection.reconnects(),
        last_error: connection.last_error(),
    }
}

/// Registers the metrics.
pub(crate) fn register(node: &Arc<Node>, metrics: &Metrics) {
    node.traffic.register(metrics);
    let gauge = |name, help, value: fn(&Node) -> u64| {
        let node = node.clone();
        metrics.register_gauge(name, help, move || value(&node));
    };
    gauge(
        "larder_cluster_connected",
        "Whether there is a connection to NATS",
        |node| u64::from(node.connection.is_connected()),
    );
    gauge(
        "larder_cluster_replicas",
        "Replicas that are alive, with this one",
        |node| (node.replica().live_peers().len() as u64).saturating_add(1),
    );
    gauge(
        "larder_cluster_watched_uris",
        "URIs that are watched at this replica",
        |node| node.replica().watched_count() as u64,
    );
    gauge(
        "larder_cluster_polled_uris",
        "Watched URIs that this replica checks for all replicas",
        |node| node.replica().polled_count() as u64,
    );
    let node = node.clone();
    let reconnects =
        ComputedFamily::counters(move |samples| samples.counter(&[], node.connection.reconnects()));
    metrics.register(
        "larder_cluster_reconnects",
        "How often the connection to NATS was made again",
        reconnects,
    );
}
