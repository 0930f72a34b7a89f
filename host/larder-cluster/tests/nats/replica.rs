//! A replica in a runtime of its own, so that it can end like a process that is killed.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use larder_cluster::{Cluster, ClusterConfig, ClusterParts, NatsServer, Prefix};
use larder_core::replicas::{ReplicaEvent, TeamReplicas};
use larder_model::name::TeamName;
use larder_model::policy::Secret;
use larder_model::uri::Uri;
use larder_runtime::drain::Drain;
use larder_runtime::health::Health;
use larder_runtime::metrics::{Metrics, TextFormat};
use tokio::runtime::Runtime;

use crate::server::{WAIT, eventually};

pub(crate) fn config(url: &str) -> ClusterConfig {
    ClusterConfig {
        replica: None,
        servers: vec![NatsServer::parse(url).unwrap()],
        prefix: Prefix::default(),
        credentials: None,
        ca: None,
        keys: vec![Secret::new(&"k".repeat(32))],
        require_sealed: false,
        lease: Duration::from_secs(3),
        copies: 1,
        version: "1.2.3".into(),
    }
}

pub(crate) fn uri(n: usize) -> Uri {
    Uri::parse(&format!("note://{n}")).unwrap()
}

pub(crate) fn uris(numbers: std::ops::Range<usize>) -> Vec<Uri> {
    numbers.map(uri).collect()
}

pub(crate) struct Replica {
    runtime: Option<Runtime>,
    pub(crate) cluster: Cluster,
    pub(crate) team: Arc<dyn TeamReplicas>,
    pub(crate) health: Health,
    metrics: Metrics,
    drain: Drain,
    events: Receiver<ReplicaEvent>,
}

impl Replica {
    pub(crate) fn start(config: ClusterConfig) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let (health, metrics, drain) = (Health::default(), Metrics::default(), Drain::new());
        let parts = ClusterParts {
            health: health.clone(),
            metrics: metrics.clone(),
            drain: drain.clone(),
        };
        let entered = runtime.enter();
        let cluster = Cluster::start(config, parts).unwrap();
        let team = cluster.team(&TeamName::default_team());
        let (sender, events) = mpsc::channel();
        let (receiving, stopping) = (team.clone(), drain.clone());
        drain.spawn(async move {
            let receive = async { while sender.send(receiving.next().await).is_ok() {} };
            stopping.run_until_stopping(receive).await;
        });
        drop(entered);
        Self {
            runtime: Some(runtime),
            cluster,
            team,
            health,
            metrics,
            drain,
            events,
        }
    }

    /// Starts replicas, and waits until all know each other.
    pub(crate) async fn start_all<const N: usize>(url: &str) -> [Self; N] {
        let replicas = std::array::from_fn(|_| Self::start(config(url)));
        for replica in &replicas {
            replica.sees(N - 1).await;
        }
        replicas
    }

    /// Waits until it knows this number of others.
    pub(crate) async fn sees(&self, others: usize) {
        let what = format!("{} sees {others} others", self.cluster.replica_id());
        eventually(&what, || {
            self.cluster.status().connected && self.cluster.status().replicas.len() == others
        })
        .await;
    }

    pub(crate) fn polled(&self) -> usize {
        self.cluster.status().polled
    }

    /// Waits for an event for which this holds.
    pub(crate) fn receives(&self, is_it: impl Fn(&ReplicaEvent) -> bool) {
        loop {
            let event = self.events.recv_timeout(WAIT).expect("an event arrives");
            if is_it(&event) {
                return;
            }
        }
    }

    /// Drops events that have arrived.
    pub(crate) fn ignore_events(&self) {
        while self.events.try_recv().is_ok() {}
    }

    /// Returns the events that have arrived.
    pub(crate) fn arrived(&self) -> Vec<ReplicaEvent> {
        self.events.try_iter().collect()
    }

    pub(crate) fn metric(&self, line: &str) -> u64 {
        let text = self.metrics.encode(TextFormat::OpenMetrics, None).unwrap();
        let value = text
            .lines()
            .find_map(|found| found.strip_prefix(line)?.trim().parse().ok());
        value.unwrap_or_else(|| panic!("no metric {line}:\n{text}"))
    }

    /// Ends like a process that is killed.
    pub(crate) fn kill(mut self) {
        self.runtime.take().unwrap().shutdown_background();
    }

    /// Ends like a server that is stopped.
    pub(crate) fn stop(mut self) {
        let runtime = self.runtime.take().unwrap();
        assert!(runtime.block_on(self.drain.finish(WAIT)));
        runtime.shutdown_background();
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
