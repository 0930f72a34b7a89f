//! Replicas of one server, connected by NATS: the list of replicas, the replica that checks a watched URI, and the
//! reports about changes. Reads never wait for NATS. Without a connection, a replica works like a single server.
//!
//! Only this crate uses async-nats. Code that needs no network is in `replica`, and the simulation also runs this code.

// Leases, sequences and numbers of other replicas must not overflow.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod bucket;
mod bus;
mod cluster;
mod config;
mod connection;
mod error;
mod inbox;
mod membership;
mod node;
mod outbox;
mod replica;
mod replica_id;
mod seal;
mod status;
mod team;
mod traffic;

pub use self::cluster::{Cluster, ClusterParts};
pub use self::config::{
    BadNatsCredentials, BadNatsServer, BadPrefix, ClusterConfig, NatsCredentials, NatsServer,
    Prefix,
};
pub use self::error::ClusterError;
pub use self::replica_id::ReplicaId;
pub use self::status::{ClusterStatus, ReplicaStatus};
