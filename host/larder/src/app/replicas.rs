//! The other replicas of this server.

use std::sync::Arc;

use super::RunError;
use larder_cluster::{Cluster, ClusterParts, ReplicaStatus};
use larder_config::Config;
use larder_core::replicas::TeamReplicas;
use larder_mcp::Endpoint;
use larder_model::name::TeamName;
use larder_runtime::drain::Drain;
use larder_runtime::health::Health;
use larder_runtime::metrics::Metrics;

/// The connection to the other replicas. Clones share it.
#[derive(Clone)]
pub(super) struct Replicas(Cluster);

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
        let parts = ClusterParts {
            health: health.clone(),
            metrics: metrics.clone(),
            drain: drain.clone(),
        };
        let cluster = Cluster::start(config, parts).map_err(RunError::Cluster)?;
        Ok(Some(Self(cluster)))
    }

    /// Connects a team with the same team at the other replicas.
    pub(super) fn team(&self, team: &TeamName) -> Arc<dyn TeamReplicas> {
        self.0.team(team)
    }

    /// Shares the sessions of the endpoint with the other replicas.
    pub(super) fn share_sessions(&self, endpoint: &Endpoint) {
        // Replicas always have a key.
        if let Some(keys) = self.0.sealing_keys() {
            endpoint.share_sessions(self.0.session_store(), keys);
        }
    }

    /// Returns what the admin address shows.
    pub(super) fn status(&self) -> larder_admin::Cluster {
        let status = self.0.status();
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
