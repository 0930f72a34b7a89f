//! The tasks that send and receive messages: interest, snapshots of interest, and events.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::{Message, SubscribeError};
use futures_util::StreamExt as _;
use futures_util::stream::{SelectAll, select_all};
use tokio::time::{MissedTickBehavior, timeout};

use crate::node::Node;
use crate::outbox::EventMessage;
use crate::replica::{InterestBatch, MessageKind, SnapshotPart};
use crate::replica_id::ReplicaId;
use crate::traffic::{Direction, Kind};

/// The interval of batches of interest, and of looking at leases.
const TICK: Duration = Duration::from_millis(100);
/// The time within which all parts of a snapshot must arrive.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(5);

/// Receives messages until the server stops.
pub(crate) async fn receive(node: Arc<Node>) {
    let mut messages = match subscribe(&node).await {
        Ok(messages) => messages,
        Err(error) => return node.connection.report_error("cannot subscribe", &error),
    };
    while let Some(Some(message)) = node.drain.run_until_stopping(messages.next()).await {
        handle(&node, &message).await;
    }
}

/// The subscriptions remain after the connection ends: the client creates them again.
async fn subscribe(node: &Node) -> Result<SelectAll<async_nats::Subscriber>, SubscribeError> {
    let own_snapshot = format!("snapshot.{}", node.id);
    let mut all = Vec::new();
    for name in ["interest.*", "events.*", &own_snapshot] {
        all.push(
            node.connection
                .client()
                .subscribe(node.subject(name))
                .await?,
        );
    }
    Ok(select_all(all))
}

async fn handle(node: &Node, message: &Message) {
    let mut parts = message.subject.rsplit('.');
    let from = parts.next().and_then(ReplicaId::parse);
    let kind = parts.next();
    let Some(from) = from else { return };
    if kind == Some("snapshot") {
        return send_snapshot(node, message).await;
    }
    // A replica also receives its own messages.
    if from == node.id {
        return;
    }
    match kind {
        Some("interest") => {
            let batch = node.admit::<InterestBatch>(
                from,
                MessageKind::Interest,
                &message.subject,
                &message.payload,
            );
            let Some(batch) = batch else { return };
            node.traffic.count(Direction::Received, Kind::Interest, 1);
            node.replica().batch_received(from, batch, Instant::now());
        }
        Some("events") => {
            let events = node.admit::<EventMessage>(
                from,
                MessageKind::Events,
                &message.subject,
                &message.payload,
            );
            let Some(events) = events else { return };
            node.received(from, events);
        }
        _ => {}
    }
}

/// The place at which a snapshot is read: the answers of one replica to one request.
fn snapshot_context(inbox: &str, from: ReplicaId) -> String {
    format!("snapshot {inbox} {from}")
}

/// Answers a replica that missed a batch.
async fn send_snapshot(node: &Node, request: &Message) {
    let Some(reply) = &request.reply else { return };
    for part in node.send_interest(|replica| replica.snapshot()).await {
        if node
            .send(reply, &snapshot_context(reply, node.id), &part)
            .await
        {
            node.traffic.count(Direction::Sent, Kind::Interest, 1);
        }
    }
}

/// Sends the waiting messages, and checks the leases, until the server stops.
pub(crate) async fn send(node: Arc<Node>) {
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut connected = node.connection.connected();
    loop {
        let next = async {
            tokio::select! {
                () = node.outbox.ready() => {}
                _ = ticks.tick() => tick(&node).await,
            }
        };
        let is_running = node.drain.run_until_stopping(next).await.is_some();
        send_events(&node).await;
        if !is_running {
            return;
        }
        if !node.connection.is_connected() {
            node.outbox.clear();
            let reconnect = connected.wait_for(|is_connected| *is_connected);
            let Some(Ok(_)) = node.drain.run_until_stopping(reconnect).await else {
                return;
            };
        }
    }
}

async fn send_events(node: &Node) {
    let subject = node.subject(&format!("events.{}", node.id));
    while node.connection.is_connected() {
        let Some(message) = node.outbox.take() else {
            return;
        };
        let is_sent = node.send(&subject, &subject, &message).await;
        let direction = if is_sent {
            Direction::Sent
        } else {
            Direction::Dropped
        };
        for kind in message
            .events
            .iter()
            .filter_map(|event| Kind::of(&event.event))
        {
            node.traffic.count(direction, kind, 1);
        }
    }
}

async fn tick(node: &Arc<Node>) {
    let due = node.replica().tick(Instant::now());
    if due.events_lost {
        node.compare_all("events of another replica did not arrive");
    }
    for replica in due.snapshots {
        node.drain.spawn(request_snapshot(node.clone(), replica));
    }
    if node.replica().has_unsent_interest() {
        node.send_interest(|replica| (replica.take_batches(), ()))
            .await;
    }
}

/// Requests from another replica all URIs that it watches. If the replica does not answer, the request is repeated
/// later.
async fn request_snapshot(node: Arc<Node>, replica: ReplicaId) {
    let collecting = timeout(SNAPSHOT_TIMEOUT, collect_snapshot(&node, replica));
    match node.drain.run_until_stopping(collecting).await {
        None | Some(Ok(Ok(()))) => {}
        Some(Ok(Err(error))) => node
            .connection
            .report_error("a snapshot cannot be requested", &error),
        Some(Err(_)) => tracing::debug!(%replica, "the snapshot did not arrive in time"),
    }
}

async fn collect_snapshot(node: &Node, replica: ReplicaId) -> Result<(), async_nats::Error> {
    let client = node.connection.client();
    let inbox = client.new_inbox();
    let mut parts = client.subscribe(inbox.clone()).await?;
    let subject = node.subject(&format!("snapshot.{replica}"));
    let context = snapshot_context(&inbox, replica);
    client
        .publish_with_reply(subject, inbox, bytes::Bytes::new())
        .await?;
    while let Some(message) = parts.next().await {
        // NATS itself answers if a replica does not exist any more.
        if message.status.is_some() {
            return Ok(());
        }
        let Some(opened) = node.open::<SnapshotPart>(&context, &message.payload) else {
            continue;
        };
        if !node
            .replica()
            .admits_snapshot(replica, opened.sequence.is_some())
        {
            continue;
        }
        let part = opened.content;
        let is_last = part.part.saturating_add(1) >= part.parts;
        node.traffic.count(Direction::Received, Kind::Interest, 1);
        node.replica()
            .snapshot_received(replica, part, Instant::now());
        if is_last {
            return Ok(());
        }
    }
    Ok(())
}
