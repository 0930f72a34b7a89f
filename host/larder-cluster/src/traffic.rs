//! Counts messages by direction and kind.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use larder_core::replicas::ReplicaEvent;
use larder_runtime::metrics::{ComputedFamily, Metrics};

/// The direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Sent,
    Received,
    /// The message was not sent, because there was no connection or no room.
    Dropped,
}

/// The subject of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Updated,
    Signal,
    ListChanged,
    Interest,
}

const DIRECTIONS: [&str; 3] = ["sent", "received", "dropped"];
const KINDS: [&str; 4] = ["updated", "signal", "list_changed", "interest"];

/// The numbers of messages. Clones share the same numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traffic(Arc<[[AtomicU64; KINDS.len()]; DIRECTIONS.len()]>);

impl Traffic {
    /// Counts messages.
    pub(crate) fn count(&self, direction: Direction, kind: Kind, messages: u64) {
        self.0[direction as usize][kind as usize].fetch_add(messages, Ordering::Relaxed);
    }

    pub(crate) fn register(&self, metrics: &Metrics) {
        let counts = self.0.clone();
        let family = ComputedFamily::counters(move |samples| {
            for (direction, kinds) in DIRECTIONS.iter().zip(counts.iter()) {
                for (kind, count) in KINDS.iter().zip(kinds) {
                    samples.counter(
                        &[("direction", direction), ("kind", kind)],
                        count.load(Ordering::Relaxed),
                    )?;
                }
            }
            Ok(())
        });
        let help = "Messages to and from other replicas over NATS, by direction and kind";
        metrics.register("larder_cluster_messages", help, family);
    }
}

impl Kind {
    /// The kind of an event. A comparison has no kind, because it is not sent.
    pub(crate) fn of(event: &ReplicaEvent) -> Option<Self> {
        match event {
            ReplicaEvent::Updated { .. } => Some(Self::Updated),
            ReplicaEvent::Signalled { .. } => Some(Self::Signal),
            ReplicaEvent::ListChanged { .. } => Some(Self::ListChanged),
            ReplicaEvent::CompareAll => None,
        }
    }
}
