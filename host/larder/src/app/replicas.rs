//! The other replicas of this server.

use std::sync::Arc;

use super::RunError;
use larder_cluster::{Cluster, ClusterParts, ReplicaStatus};
use larder_config::Config;
use larder_core::replicas::TeamReplicas;
use larder_mcp::{Replica, SealingKeys};
use larder_model::name::{ReplicaName, TeamName};
use larder_runtime::drain::Drain;
use larder_runtime::health::Health;
use larder_runtime::metrics::Metrics;

/// The connection to the other replicas. Clones share it.
#[derive(Clone)]
pub(super) struct Replicas {
    cluster: Cluster,
    configured_name: Option<ReplicaName>,
    keys: Option<SealingKeys>,
}

impl Replicas {
    /// Starts to connect, if the configuration says where.
    pub(super) fn start(
        config: &Config,
        health: &Health,
        metrics: &Metrics,
        drain: &Drain,
    ) -> Result<Option<Self>, RunError> {
        let Some(config) = config.cluster.clone() else {
            return Ok(None);
        };
        let configured_name = config.replica.clone();
        // Replicas always have a key.
        let keys = SealingKeys::new(config.keys.iter().map(|key| key.reveal()));
        let parts = ClusterParts {
            health: health.clone(),
            metrics: metrics.clone(),
            drain: drain.clone(),
        };
        let cluster = Cluster::start(config, parts).map_err(RunError::Cluster)?;
        Ok(Some(Self {
            cluster,
            configured_name,
            keys,
        }))
    }

    /// Connects a team with the same team at the other replicas.
    pub(super) fn team(&self, team: &TeamName) -> Arc<dyn TeamReplicas> {
        self.cluster.team(team)
    }

    /// Returns this server as one of the replicas.
    pub(super) fn this_replica(&self) -> Option<Replica> {
        Some(Replica {
            name: self.name(),
            keys: self.keys.clone()?,
        })
    }

    /// The name of this replica that the configuration sets.
    pub(super) fn configured_name(&self) -> Option<&ReplicaName> {
        self.configured_name.as_ref()
    }

    /// The configured name, or else the id, which is random.
    fn name(&self) -> ReplicaName {
        let configured = self.configured_name.clone();
        configured.unwrap_or_else(|| self.cluster.replica_id().as_name())
    }

    /// Returns what the admin address shows.
    pub(super) fn status(&self) -> larder_admin::Cluster {
        let status = self.cluster.status();
        let replica = |other: ReplicaStatus| larder_admin::Replica {
            id: other.id.to_string(),
            version: other.version,
            last_seen_seconds: other.last_seen_seconds,
        };
        larder_admin::Cluster {
            connected: status.connected,
            server: status.server,
            replica: status.replica.to_string(),
            replicas: status.replicas.into_iter().map(replica).collect(),
            watched: status.watched,
            polled: status.polled,
            reconnects: status.reconnects,
            last_error: status.last_error,
        }
    }
}
