//! The replicas of the server as plain data.

use serde::{Deserialize, Serialize};

/// The connection to the other replicas, and what is known of them.
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
    /// The number of those that this replica checks.
    pub polled: usize,
    /// How often the connection was made again.
    pub reconnects: u64,
    /// The last error of the connection, or of an operation.
    pub last_error: Option<String>,
}

/// Another replica.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replica {
    /// Its name.
    pub id: String,
    /// The version of its program.
    pub version: String,
    /// The time since it was last heard of.
    pub last_seen_seconds: u64,
}
