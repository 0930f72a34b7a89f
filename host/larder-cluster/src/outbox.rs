//! Events for the other replicas, until they are sent. A dropped event leaves a gap in the numbers of the events, which
//! the receivers detect.

use std::collections::VecDeque;

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use larder_core::replicas::ReplicaEvent;

/// The maximum number of waiting events.
const CAPACITY: usize = 8192;
/// The maximum number of events in one message. With URIs of 8 KiB, which is the maximum, a message has less than 512
/// KiB.
const MAX_EVENTS: usize = 32;

/// Events in one message.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct EventMessage {
    /// The number of the first event. A replica counts its events from 0.
    pub(crate) first: u64,
    pub(crate) events: Vec<TeamEvent>,
}

/// An event of a team.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TeamEvent {
    pub(crate) team: String,
    pub(crate) event: ReplicaEvent,
}

/// Events that wait until they are sent.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: Mutex<VecDeque<(u64, TeamEvent)>>,
    ready: Notify,
}

impl Outbox {
    /// Adds an event with its number. Returns whether there was room for the event.
    pub(crate) fn push(&self, number: u64, event: TeamEvent) -> bool {
        let mut waiting = self.lock();
        let has_room = waiting.len() < CAPACITY;
        if has_room {
            waiting.push_back((number, event));
        }
        drop(waiting);
        self.ready.notify_one();
        has_room
    }

    /// Completes when there may be events.
    pub(crate) async fn ready(&self) {
        self.ready.notified().await;
    }

    /// Takes events with successive numbers.
    pub(crate) fn take(&self) -> Option<EventMessage> {
        let mut waiting = self.lock();
        let (first, _) = waiting.front()?;
        let mut message = EventMessage {
            first: *first,
            events: Vec::new(),
        };
        while message.events.len() < MAX_EVENTS {
            let next = message.first.saturating_add(message.events.len() as u64);
            let Some((_, event)) = waiting.pop_front_if(|(number, _)| *number == next) else {
                break;
            };
            message.events.push(event);
        }
        Some(message)
    }

    /// Drops all events.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(u64, TeamEvent)>> {
        self.waiting.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_no_gap() {
        let outbox = Outbox::default();
        let event = TeamEvent {
            team: "default".into(),
            event: ReplicaEvent::CompareAll,
        };
        for number in (0..MAX_EVENTS as u64 + 2).chain([100]) {
            assert!(outbox.push(number, event.clone()));
        }
        let taken = || {
            outbox
                .take()
                .map(|message| (message.first, message.events.len()))
        };
        assert_eq!(taken(), Some((0, MAX_EVENTS)));
        assert_eq!(taken(), Some((MAX_EVENTS as u64, 2)));
        assert_eq!(taken(), Some((100, 1)));
        assert_eq!(taken(), None);
    }
}
