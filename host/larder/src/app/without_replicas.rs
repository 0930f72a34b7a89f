//! Without the feature `cluster`, a server has no other replicas: a configuration with `[cluster]` is refused.

use std::sync::Arc;

use super::RunError;
use larder_config::Config;
use larder_core::replicas::TeamReplicas;
use larder_mcp::Replica;
use larder_model::name::{ReplicaName, TeamName};
use larder_runtime::drain::Drain;
use larder_runtime::health::Health;
use larder_runtime::metrics::Metrics;

/// This type has no values.
#[derive(Clone)]
pub(super) enum Replicas {}

impl Replicas {
    pub(super) fn start(
        _: &Config,
        _: &Health,
        _: &Metrics,
        _: &Drain,
    ) -> Result<Option<Self>, RunError> {
        Ok(None)
    }

    pub(super) fn team(&self, _: &TeamName) -> Arc<dyn TeamReplicas> {
        match *self {}
    }

    pub(super) fn this_replica(&self) -> Option<Replica> {
        match *self {}
    }

    pub(super) fn configured_name(&self) -> Option<&ReplicaName> {
        match *self {}
    }

    pub(super) fn status(&self) -> larder_admin::Cluster {
        match *self {}
    }
}
