//! The sessions of legacy clients, in a bucket of JetStream, and the messages of replicas about them. larder-mcp
//! encrypts the stored and sent bytes, and this crate does not read them.

mod bucket;
mod follow;
mod messages;

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;

use self::bucket::SessionBucket;
use self::messages::OutgoingMessage;
use crate::cluster::Cluster;
use crate::node::Node;
use crate::traffic::{Direction, Kind};
use larder_mcp::{
    PeerMessage, PutError, ReplicaName, ReplyAddress, RequestError, SealingKeys, SessionKey,
    SharedSessionStore, StoreChange, StoreEntry, StoredValue, Unavailable,
};
use larder_runtime::drain::SupervisedTask;
use larder_runtime::health::Impact;

/// The time limit for an operation of JetStream. Clients wait for the operation.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(2);
/// The time limit for the reply of another replica.
const REPLY_TIMEOUT: Duration = Duration::from_secs(15);
/// The maximum number of changes and messages that wait until they are handled.
const QUEUE: usize = 1_024;
/// The maximum number of messages that wait until they are sent.
const OUTGOING_QUEUE: usize = 4_096;
/// The number of bytes of a message in addition to a stored value.
const MESSAGE_OVERHEAD: usize = 8 << 10;

impl Cluster {
    /// The sessions of all replicas. This is called once, because their changes have only one receiver.
    pub fn session_store(&self) -> Arc<dyn SharedSessionStore> {
        Arc::new(NatsSessions::start(self.node()))
    }

    /// The keys that all replicas share. `None` if no keys are configured.
    pub fn sealing_keys(&self) -> Option<SealingKeys> {
        SealingKeys::new(self.node().config.keys.iter().map(|key| key.reveal()))
    }
}

/// The sessions of all replicas.
struct NatsSessions {
    node: Arc<Node>,
    replica: ReplicaName,
    bucket: Arc<SessionBucket>,
    changes: Mutex<mpsc::Receiver<StoreChange>>,
    messages: Mutex<mpsc::Receiver<PeerMessage>>,
    outgoing: mpsc::Sender<OutgoingMessage>,
}

impl NatsSessions {
    fn start(node: &Arc<Node>) -> Self {
        let (changed, changes) = mpsc::channel(QUEUE);
        let (received, messages) = mpsc::channel(QUEUE);
        let (outgoing, waiting) = mpsc::channel(OUTGOING_QUEUE);
        let bucket = Arc::new(SessionBucket::default());
        let followed = bucket.clone();
        node.keep_running("sessions of replicas", move |node| {
            follow::follow(node, followed.clone(), changed.clone())
        });
        node.keep_running("session messages from replicas", move |node| {
            messages::receive(node, received.clone())
        });
        let task = SupervisedTask::new("session messages to replicas", Impact::OperatorOnly);
        node.drain
            .supervise(task, messages::send(node.clone(), waiting));
        let replica = ReplicaName::of(node.id.number());
        Self {
            node: node.clone(),
            replica,
            bucket,
            changes: Mutex::new(changes),
            messages: Mutex::new(messages),
            outgoing,
        }
    }

    /// Runs an operation of JetStream, for a limited time.
    async fn run<T, E: Display>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Unavailable> {
        let ended = timeout(OPERATION_TIMEOUT, work).await;
        let result = match ended {
            Ok(result) => result.map_err(|error| error.to_string()),
            Err(_) => Err("NATS did not answer in time".to_owned()),
        };
        result.map_err(|error| {
            self.node
                .connection
                .report_error("the sessions of legacy clients", &error);
            Unavailable(error)
        })
    }
}

#[async_trait]
impl SharedSessionStore for NatsSessions {
    fn replica(&self) -> &ReplicaName {
        &self.replica
    }

    fn is_connected(&self) -> bool {
        self.node.connection.is_connected()
    }

    fn max_value_bytes(&self) -> usize {
        // The value is 0 before the first connection.
        let max_payload = self.node.connection.client().server_info().max_payload;
        let max_payload = if max_payload == 0 {
            1 << 20
        } else {
            max_payload
        };
        max_payload.min(1 << 20).saturating_sub(MESSAGE_OVERHEAD)
    }

    async fn load(&self, key: SessionKey) -> Result<StoreEntry, Unavailable> {
        self.run(self.bucket.load(&self.node, key)).await
    }

    async fn put(
        &self,
        key: SessionKey,
        value: StoredValue,
        after: Option<u64>,
    ) -> Result<u64, PutError> {
        self.run(self.bucket.put(&self.node, key, value, after))
            .await?
            .ok_or(PutError::Conflict)
    }

    async fn remove(&self, key: SessionKey) -> Result<(), Unavailable> {
        self.run(self.bucket.remove(&self.node, key)).await
    }

    async fn next_change(&self) -> StoreChange {
        match self.changes.lock().await.recv().await {
            Some(change) => change,
            // The server stops.
            None => std::future::pending().await,
        }
    }

    fn send(&self, to: Option<&ReplicaName>, message: Vec<u8>) -> bool {
        let subject = messages::subject(&self.node, to.map(ReplicaName::as_str));
        let is_sent = self.is_connected()
            && self
                .outgoing
                .try_send(OutgoingMessage {
                    subject,
                    payload: message.into(),
                })
                .is_ok();
        if !is_sent {
            self.node
                .traffic
                .count(Direction::Dropped, Kind::Session, 1);
        }
        is_sent
    }

    async fn request(&self, to: &ReplicaName, message: Vec<u8>) -> Result<Vec<u8>, RequestError> {
        if !self.is_connected() {
            return Err(Unavailable("there is no connection to NATS".to_owned()).into());
        }
        self.node.traffic.count(Direction::Sent, Kind::Session, 1);
        let request = async_nats::Request::new()
            .payload(message.into())
            .timeout(Some(REPLY_TIMEOUT));
        let subject = messages::subject(&self.node, Some(to.as_str()));
        match self
            .node
            .connection
            .client()
            .send_request(subject, request)
            .await
        {
            Ok(reply) => Ok(reply.payload.into()),
            Err(error) if error.kind() == async_nats::RequestErrorKind::NoResponders => {
                Err(RequestError::Gone)
            }
            Err(error) => Err(Unavailable(error.to_string()).into()),
        }
    }

    async fn next_message(&self) -> PeerMessage {
        match self.messages.lock().await.recv().await {
            Some(message) => message,
            // The server stops.
            None => std::future::pending().await,
        }
    }

    fn reply(&self, to: ReplyAddress, message: Vec<u8>) {
        // If the message is dropped, the waiting call gets an error.
        _ = self.outgoing.try_send(OutgoingMessage {
            subject: to.0,
            payload: message.into(),
        });
    }
}
