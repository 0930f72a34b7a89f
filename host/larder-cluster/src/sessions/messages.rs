//! Messages of replicas about sessions.

use std::sync::Arc;

use async_nats::{Subject, SubscribeError, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{SelectAll, select_all};
use tokio::sync::mpsc;

use crate::node::Node;
use crate::traffic::{Direction, Kind};
use larder_mcp::{PeerMessage, ReplyAddress};

/// The last part of the subject of messages to all replicas.
const ALL: &str = "all";

/// A message that waits until it is sent.
pub(super) struct OutgoingMessage {
    pub(super) subject: String,
    pub(super) payload: Bytes,
}

/// The subject of messages to one replica, or to all replicas.
pub(super) fn subject(node: &Node, replica: Option<&str>) -> String {
    node.subject(&format!("session.{}", replica.unwrap_or(ALL)))
}

/// Receives messages until the server stops.
pub(super) async fn receive(node: Arc<Node>, received: mpsc::Sender<PeerMessage>) {
    let mut messages = match subscribe(&node).await {
        Ok(messages) => messages,
        Err(error) => return node.connection.report_error("cannot subscribe", &error),
    };
    while let Some(Some(message)) = node.drain.run_until_stopping(messages.next()).await {
        node.traffic.count(Direction::Received, Kind::Session, 1);
        let reply = message
            .reply
            .map(|subject: Subject| ReplyAddress(subject.to_string()));
        let passed = received.send(PeerMessage {
            content: message.payload.into(),
            reply,
        });
        if !matches!(node.drain.run_until_stopping(passed).await, Some(Ok(()))) {
            return;
        }
    }
}

/// The subscriptions remain after the connection ends: the client creates them again.
async fn subscribe(node: &Node) -> Result<SelectAll<Subscriber>, SubscribeError> {
    let own = node.id.to_string();
    let mut all = Vec::new();
    for replica in [None, Some(own.as_str())] {
        all.push(
            node.connection
                .client()
                .subscribe(subject(node, replica))
                .await?,
        );
    }
    Ok(select_all(all))
}

/// Sends messages in order, until the server stops.
pub(super) async fn send(node: Arc<Node>, mut waiting: mpsc::Receiver<OutgoingMessage>) {
    while let Some(Some(OutgoingMessage { subject, payload })) =
        node.drain.run_until_stopping(waiting.recv()).await
    {
        match node.connection.client().publish(subject, payload).await {
            Ok(()) => node.traffic.count(Direction::Sent, Kind::Session, 1),
            Err(error) => node
                .connection
                .report_error("a message about a session cannot be sent", &error),
        }
    }
}
