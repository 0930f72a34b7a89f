//! Events of other replicas that wait for the change detector of a team.

use std::collections::VecDeque;

use parking_lot::Mutex;
use tokio::sync::Notify;

use larder_core::replicas::ReplicaEvent;

/// The maximum number of waiting events. For more events, one comparison of everything is cheaper.
const CAPACITY: usize = 4096;

/// The events of a team.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    waiting: Mutex<VecDeque<ReplicaEvent>>,
    ready: Notify,
}

impl Inbox {
    /// Adds an event. If there is no room, or if events were lost, one comparison replaces all waiting events.
    pub(crate) fn push(&self, event: ReplicaEvent) {
        let mut waiting = self.waiting.lock();
        let is_compared_anyway = waiting.front() == Some(&ReplicaEvent::CompareAll);
        if event == ReplicaEvent::CompareAll || waiting.len() == CAPACITY {
            waiting.clear();
            waiting.push_back(ReplicaEvent::CompareAll);
        } else if !is_compared_anyway {
            waiting.push_back(event);
        }
        drop(waiting);
        self.ready.notify_one();
    }

    /// Returns the next event. For a single consumer.
    pub(crate) async fn next(&self) -> ReplicaEvent {
        loop {
            if let Some(event) = self.waiting.lock().pop_front() {
                return event;
            }
            self.ready.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use larder_model::uri::Uri;

    fn event(n: usize) -> ReplicaEvent {
        ReplicaEvent::Signalled {
            uri: Uri::parse(&format!("x://{n}")).unwrap(),
        }
    }

    #[test]
    fn events_keep_their_order() {
        let inbox = Inbox::default();
        assert_eq!(inbox.next().now_or_never(), None);
        (0..3).for_each(|n| inbox.push(event(n)));
        for n in 0..3 {
            assert_eq!(inbox.next().now_or_never(), Some(event(n)));
        }
        assert_eq!(inbox.next().now_or_never(), None);
    }

    #[test]
    fn too_many_events_become_one_comparison() {
        let inbox = Inbox::default();
        (0..=CAPACITY + 5).for_each(|n| inbox.push(event(n)));
        assert_eq!(inbox.next().now_or_never(), Some(ReplicaEvent::CompareAll));
        assert_eq!(inbox.next().now_or_never(), None);
        inbox.push(event(1));
        assert_eq!(inbox.next().now_or_never(), Some(event(1)));
    }
}
