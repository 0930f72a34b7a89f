//! The data about the replicas of the server.

use serde::{Deserialize, Serialize};

/// The connection to the other replicas, and the state of these replicas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// Whether there is a connection to NATS.
    pub connected: bool,
    /// The name and version of the NATS server.
    pub server: Option<String>,
    /// The name of this replica.
    pub replica: String,
    /// The other replicas that are alive.
    pub replicas: Vec<Replica>,
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replica {
    /// The name of the replica.
    pub id: String,
    /// The version of the replica's program.
    pub version: String,
    /// The time since the last message of the replica.
    pub last_seen_seconds: u64,
}
