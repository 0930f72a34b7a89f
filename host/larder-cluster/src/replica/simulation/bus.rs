//! The simulated network: messages arrive some milliseconds later, in order between two replicas on each way.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;
use std::time::Duration;

use super::super::{InterestBatch, Lease, SnapshotPart};
use crate::replica_id::ReplicaId;

/// A message.
#[derive(Debug, Clone)]
pub(super) enum Message {
    Lease(Rc<Lease>),
    Left,
    Batch(Rc<InterestBatch>),
    SnapshotRequest,
    Snapshot(Rc<SnapshotPart>),
    Events { first: u64, count: u64 },
}

/// A message on its way.
#[derive(Debug)]
struct Delivery {
    from: ReplicaId,
    to: ReplicaId,
    message: Message,
}

/// All messages in transit.
#[derive(Debug, Default)]
pub(super) struct Bus {
    queue: BinaryHeap<Reverse<(Duration, u64)>>,
    deliveries: std::collections::HashMap<u64, Delivery>,
    count: u64,
    pub(super) traffic: Traffic,
}

/// The messages that the bus has transported.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Traffic {
    pub(super) published: u64,
    pub(super) published_bytes: u64,
    pub(super) delivered: u64,
    pub(super) delivered_bytes: u64,
}

impl Bus {
    /// Sends a message to one replica.
    pub(super) fn send(&mut self, now: Duration, from: ReplicaId, to: ReplicaId, message: Message) {
        let at = now + latency(from, to, &message);
        self.queue.push(Reverse((at, self.count)));
        self.deliveries
            .insert(self.count, Delivery { from, to, message });
        self.count += 1;
    }

    /// Counts a message that was published, and its deliveries.
    pub(super) fn record(&mut self, bytes: usize, receivers: u64) {
        let Traffic {
            published,
            published_bytes,
            delivered,
            delivered_bytes,
        } = &mut self.traffic;
        *published += 1;
        *published_bytes += bytes as u64;
        *delivered += receivers;
        *delivered_bytes += bytes as u64 * receivers;
    }

    /// Takes the next message that has arrived.
    pub(super) fn next(&mut self, now: Duration) -> Option<(ReplicaId, ReplicaId, Message)> {
        let Reverse((at, id)) = self.queue.peek().copied()?;
        if at > now {
            return None;
        }
        self.queue.pop();
        self.deliveries
            .remove(&id)
            .map(|delivery| (delivery.from, delivery.to, delivery.message))
    }
}

/// The order of leases and other messages may change, because leases are sent through JetStream.
fn latency(from: ReplicaId, to: ReplicaId, message: &Message) -> Duration {
    let way = match message {
        Message::Lease(_) | Message::Left => 7,
        Message::Batch(_) => 1,
        Message::SnapshotRequest | Message::Snapshot(_) => 3,
        Message::Events { .. } => 5,
    };
    let pair = from
        .number()
        .wrapping_mul(31)
        .wrapping_add(to.number())
        .wrapping_mul(way);
    Duration::from_millis(1 + (pair >> 7) % 25)
}
