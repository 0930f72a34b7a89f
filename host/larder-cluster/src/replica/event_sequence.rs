//! Uses the numbers of events to find out that events of another replica were lost.

use std::time::{Duration, Instant};

/// How long an event may be in transit after the sender announced that it was sent.
const DELIVERY_TIME: Duration = Duration::from_secs(1);

/// The events of one sender.
#[derive(Debug, Default)]
pub(super) struct EventSequence {
    /// The number of events that were sent before the next one; none if the sender is not known yet.
    expected: Option<u64>,
    /// A number of events that the sender announced, and the time of the announcement.
    announced: Option<(u64, Instant)>,
}

impl EventSequence {
    /// Records arrived events. `first` is the number of the first event. Returns whether earlier events were lost.
    pub(super) fn received(&mut self, first: u64, count: u64) -> bool {
        let is_lost = self.expected.is_some_and(|expected| first > expected);
        self.expected = Some(
            self.expected
                .unwrap_or_default()
                .max(first.saturating_add(count)),
        );
        is_lost
    }

    /// Records how many events the sender has sent. The events may still be in transit.
    pub(super) fn announced(&mut self, sent: u64, now: Instant) {
        let expected = *self.expected.get_or_insert(sent);
        if sent > expected && self.announced.is_none() {
            self.announced = Some((sent, now));
        }
    }

    /// Returns whether announced events did not arrive in time.
    pub(super) fn is_overdue(&mut self, now: Instant) -> bool {
        let is_late = |since: Instant| now.saturating_duration_since(since) >= DELIVERY_TIME;
        let Some((sent, _)) = self.announced.take_if(|(_, since)| is_late(*since)) else {
            return false;
        };
        let is_lost = self.expected.is_some_and(|expected| expected < sent);
        self.expected = self.expected.max(Some(sent));
        is_lost
    }

    /// Resets the record: the next event counts as the first one.
    pub(super) fn restart(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_a_loss() {
        let mut sequence = EventSequence::default();
        assert!(
            !sequence.received(7, 2),
            "what was sent before is not known"
        );
        assert!(!sequence.received(9, 1));
        assert!(sequence.received(11, 1));
        assert!(!sequence.received(12, 1), "it is reported once");
        assert!(!sequence.received(8, 1), "a late event is no gap");
        assert!(!sequence.received(13, 1));
        sequence.restart();
        assert!(!sequence.received(100, 1));
    }

    #[test]
    fn an_announced_event_has_some_time_to_arrive() {
        let mut sequence = EventSequence::default();
        let now = Instant::now();
        sequence.announced(5, now);
        assert!(
            !sequence.is_overdue(now + DELIVERY_TIME),
            "what was sent before is not known"
        );
        sequence.announced(6, now);
        assert!(!sequence.is_overdue(now));
        assert!(!sequence.received(5, 1));
        assert!(!sequence.is_overdue(now + DELIVERY_TIME));
        sequence.announced(8, now);
        assert!(sequence.is_overdue(now + DELIVERY_TIME));
        assert!(!sequence.is_overdue(now + DELIVERY_TIME));
        assert!(!sequence.received(8, 1));
    }
}
