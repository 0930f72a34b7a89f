//! The state that the tasks and the teams of this replica share.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{Mutex as AsyncMutex, Notify};

use crate::config::ClusterConfig;
use crate::connection::Connection;
use crate::inbox::Inbox;
use crate::outbox::{EventMessage, Outbox, TeamEvent};
use crate::replica::{InterestBatch, MessageKind, Replica, UriHash};
use crate::replica_id::ReplicaId;
use crate::seal::{OpenMessage, Sealer};
use crate::traffic::{Direction, Kind, Traffic};
use larder_core::replicas::ReplicaEvent;
use larder_model::name::TeamName;
use larder_runtime::drain::{Drain, SupervisedTask};
use larder_runtime::health::{Health, Impact};

/// The replica of this process.
pub(crate) struct Node {
    pub(crate) id: ReplicaId,
    pub(crate) config: ClusterConfig,
    pub(crate) connection: Connection,
    pub(crate) health: Health,
    pub(crate) drain: Drain,
    pub(crate) traffic: Traffic,
    pub(crate) outbox: Outbox,
    sealer: Sealer,
    replica: Mutex<Replica>,
    inboxes: Mutex<HashMap<TeamName, Weak<Inbox>>>,
    /// This lock is held while batches of interest are sent, so that they are sent in the order of their numbers.
    sending_interest: AsyncMutex<()>,
    pub(crate) interest_changed: Notify,
}

impl Node {
    pub(crate) fn new(
        id: ReplicaId,
        config: ClusterConfig,
        connection: Connection,
        health: Health,
        drain: Drain,
    ) -> Self {
        let replica = Mutex::new(Replica::new(id, config.version.clone(), config.lease));
        let sealer = Sealer::new(&config.keys, config.require_sealed);
        let (traffic, outbox, inboxes, sending_interest, interest_changed) = Default::default();
        Self {
            id,
            config,
            connection,
            health,
            drain,
            traffic,
            outbox,
            sealer,
            replica,
            inboxes,
            sending_interest,
            interest_changed,
        }
    }

    /// Runs a task of this replica until shutdown.
    pub(crate) fn keep_running<T>(
        self: &Arc<Self>,
        name: &str,
        task: impl Fn(Arc<Self>) -> T + Send + Sync + 'static,
    ) where
        T: Future<Output = ()> + Send + 'static,
    {
        let node = self.clone();
        let start = move || task(node.clone());
        self.drain
            .supervise_restarting(SupervisedTask::new(name, Impact::OperatorOnly), start);
    }

    /// The state of this replica, and its knowledge about other replicas. The lock is held only for computations.
    pub(crate) fn replica(&self) -> MutexGuard<'_, Replica> {
        self.replica.lock()
    }

    /// The subject of this name, in this deployment.
    pub(crate) fn subject(&self, name: &str) -> String {
        format!("{}.{name}", self.config.prefix.as_str())
    }

    /// Adds a team. An earlier team of the same name, which was removed, gets no more events.
    pub(crate) fn add_team(&self, team: &TeamName) -> Arc<Inbox> {
        let inbox = Arc::default();
        self.inboxes().insert(team.clone(), Arc::downgrade(&inbox));
        inbox
    }

    /// Changes the URIs that a team watches.
    pub(crate) fn watch(&self, added: &[UriHash], removed: &[UriHash]) {
        self.replica().watch(added, removed);
        self.interest_changed.notify_one();
    }

    /// Queues an event for the other replicas.
    pub(crate) fn publish(&self, team: &TeamName, event: ReplicaEvent) {
        let Some(kind) = Kind::of(&event) else { return };
        // The number is used also if the event is dropped: the gap shows other replicas that an event was lost.
        let number = self.replica().count_events(1);
        let event = TeamEvent {
            team: team.as_str().to_owned(),
            event,
        };
        if !self.connection.is_connected() || !self.outbox.push(number, event) {
            self.traffic.count(Direction::Dropped, kind, 1);
        }
    }

    /// Passes on an event that another replica sent.
    pub(crate) fn received(&self, from: ReplicaId, message: EventMessage) {
        let count = message.events.len() as u64;
        if self
            .replica()
            .events_received(from, message.first, count, Instant::now())
        {
            self.compare_all("events of another replica were lost");
        }
        for TeamEvent { team, event } in message.events {
            if let Some(kind) = Kind::of(&event) {
                self.traffic.count(Direction::Received, kind, 1);
            }
            let inbox = TeamName::parse(&team)
                .ok()
                .and_then(|team| self.inboxes().get(&team)?.upgrade());
            // Only other replicas have this team. This is possible during a change of the configuration.
            let Some(inbox) = inbox else { continue };
            inbox.push(event);
        }
    }

    /// Makes all teams compare everything that is watched.
    pub(crate) fn compare_all(&self, reason: &str) {
        tracing::debug!(reason, "everything that is watched is compared");
        self.inboxes().retain(|_, inbox| inbox.strong_count() > 0);
        for inbox in self.inboxes().values().filter_map(Weak::upgrade) {
            inbox.push(ReplicaEvent::CompareAll);
        }
    }

    /// Sends the batches of interest that `take` returns. After them, sends the other messages that `take` returns,
    /// because these must be sent after the batches.
    pub(crate) async fn send_interest<T>(
        &self,
        take: impl FnOnce(&mut Replica) -> (Vec<InterestBatch>, T),
    ) -> T {
        let _sending = self.sending_interest.lock().await;
        let (batches, rest) = take(&mut self.replica());
        let subject = self.subject(&format!("interest.{}", self.id));
        for batch in batches {
            if self.send(&subject, &subject, &batch).await {
                self.traffic.count(Direction::Sent, Kind::Interest, 1);
            }
        }
        rest
    }

    /// Writes a message with a seal for this context.
    pub(crate) fn seal<T: Serialize>(
        &self,
        context: &str,
        message: &T,
    ) -> serde_json::Result<Vec<u8>> {
        self.sealer.seal(context, message)
    }

    /// Reads a message. Another version of the program may send messages that this version cannot parse.
    pub(crate) fn open<T: DeserializeOwned>(
        &self,
        context: &str,
        bytes: &[u8],
    ) -> Option<OpenMessage<T>> {
        self.sealer
            .open(context, bytes)
            .map_err(|error| {
                self.connection
                    .report_error("a message of another replica is refused", &error)
            })
            .ok()
    }

    /// Reads a message of an ordered sequence of another replica. `None` if the message must not be used.
    pub(crate) fn admit<T: DeserializeOwned>(
        &self,
        from: ReplicaId,
        kind: MessageKind,
        context: &str,
        bytes: &[u8],
    ) -> Option<T> {
        let OpenMessage { content, sequence } = self.open(context, bytes)?;
        self.replica()
            .admits(from, kind, sequence, Instant::now())
            .then_some(content)
    }

    /// Sends a message that is read in this context. Returns whether the connection accepted the message. The receivers
    /// detect a loss.
    pub(crate) async fn send<T: Serialize>(
        &self,
        subject: &str,
        context: &str,
        message: &T,
    ) -> bool {
        match self.try_send(subject, context, message).await {
            Ok(()) => true,
            Err(error) => {
                self.connection
                    .report_error("a message cannot be sent", &*error);
                false
            }
        }
    }

    async fn try_send<T: Serialize>(
        &self,
        subject: &str,
        context: &str,
        message: &T,
    ) -> Result<(), Box<dyn Display + Send + Sync>> {
        let payload = self
            .seal(context, message)
            .map_err(|error| Box::new(error) as Box<_>)?;
        let sent = self
            .connection
            .client()
            .publish(subject.to_owned(), payload.into())
            .await;
        sent.map_err(|error| Box::new(error) as Box<_>)
    }

    fn inboxes(&self) -> MutexGuard<'_, HashMap<TeamName, Weak<Inbox>>> {
        self.inboxes.lock()
    }
}
