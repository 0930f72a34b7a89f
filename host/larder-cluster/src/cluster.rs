//! Starts the replica of this process, and gives access to it.

use std::sync::Arc;

use futures_util::future::join_all;

use crate::config::{ClusterConfig, NatsServer};
use crate::connection::{self, Connection};
use crate::error::ClusterError;
use crate::node::Node;
use crate::replica_id::ReplicaId;
use crate::status::{self, ClusterStatus};
use crate::team::TeamConnection;
use crate::{bus, membership};
use larder_core::replicas::TeamReplicas;
use larder_model::name::TeamName;
use larder_runtime::drain::Drain;
use larder_runtime::health::Health;
use larder_runtime::metrics::Metrics;

/// The parts of the server that the cluster needs.
#[derive(Debug, Clone)]
pub struct ClusterParts {
    /// Receives a problem if there is no connection.
    pub health: Health,
    /// The metrics of the process.
    pub metrics: Metrics,
    /// Runs the tasks.
    pub drain: Drain,
}

/// The replica of this process. Clones share the same replica.
#[derive(Clone)]
pub struct Cluster(Arc<Node>);

impl Cluster {
    /// Starts to connect in the background. Succeeds also if NATS cannot be reached. Must be called in a runtime.
    pub fn start(config: ClusterConfig, parts: ClusterParts) -> Result<Self, ClusterError> {
        let ClusterParts {
            health,
            metrics,
            drain,
        } = parts;
        let connection = Connection::start(&config, health.clone())?;
        let node = Arc::new(Node::new(
            ReplicaId::random()?,
            config,
            connection,
            health,
            drain.clone(),
        ));
        status::register(&node, &metrics);
        tracing::info!(replica = %node.id, "this server is a replica");
        node.keep_running("messages from replicas", bus::receive);
        node.keep_running("messages to replicas", bus::send);
        node.keep_running("membership of replicas", membership::run);
        Ok(Self(node))
    }

    /// Tests each NATS server of a configuration: whether it can be used, and has JetStream.
    pub async fn probe(config: &ClusterConfig) -> Vec<(NatsServer, Result<String, String>)> {
        let tests = config.servers.iter().map(|server| async {
            let result = connection::probe(config, server).await;
            (server.clone(), result)
        });
        join_all(tests).await
    }

    /// The id of this replica, which is different after a restart.
    pub fn replica_id(&self) -> &ReplicaId {
        &self.0.id
    }

    /// Connects a team with the same team at the other replicas.
    pub fn team(&self, team: &TeamName) -> Arc<dyn TeamReplicas> {
        Arc::new(TeamConnection::new(self.0.clone(), team))
    }

    /// The state of the connection, and the known replicas.
    pub fn status(&self) -> ClusterStatus {
        status::status(&self.0)
    }
}
