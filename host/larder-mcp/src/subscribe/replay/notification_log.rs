//! The log of a session's notifications. The newest events are kept. Each reader has its own position, so a
//! reader that is being replaced does not consume events of its successor.

use std::collections::{HashMap, VecDeque};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use larder_core::catalog::{Change, Watch};
use larder_model::uri::Uri;

/// Maximum number of retained events.
const MAX_EVENTS: usize = 256;
/// Maximum number of bytes of URIs in retained events.
const MAX_BYTES: usize = 64 << 10;

/// The log of notifications. Events are numbered from one.
#[derive(Default)]
pub(crate) struct NotificationLog {
    state: Mutex<LogState>,
    changed: Notify,
}

#[derive(Default)]
struct LogState {
    last: u64,
    events: VecDeque<(u64, Change)>,
    bytes: usize,
}

/// The position of a reader: the number of the last event that it has.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogPosition(u64);

/// The events that are retained.
#[derive(Debug)]
pub(crate) struct LoggedEvents {
    /// The number of the last event.
    pub(crate) last: u64,
    /// The number of the oldest retained event.
    pub(crate) oldest: u64,
    /// For each URI: the number of its last update.
    pub(crate) updated: HashMap<Uri, u64>,
}

/// The events that a reader does not have yet.
#[derive(Debug, PartialEq, Eq)]
enum Backlog {
    Events(Vec<(u64, Change)>),
    /// Some of these events are not retained any more.
    Truncated,
}

impl LogPosition {
    pub(crate) fn number(self) -> u64 {
        self.0
    }
}

impl NotificationLog {
    /// The position after the newest event.
    pub(crate) fn now(&self) -> LogPosition {
        LogPosition(self.lock().last)
    }

    /// The position of an event. `None` if the event did not exist.
    pub(super) fn position(&self, number: u64) -> Option<LogPosition> {
        (number <= self.lock().last).then_some(LogPosition(number))
    }

    /// Waits for events after this position. Cancel-safe.
    pub(crate) async fn next(
        &self,
        position: &mut LogPosition,
        watch: &Watch,
    ) -> Vec<(u64, Change)> {
        loop {
            let backlog = self.lock().after(*position);
            match backlog {
                Backlog::Events(events) if events.is_empty() => {}
                Backlog::Events(events) => {
                    *position = events
                        .last()
                        .map_or(*position, |(number, _)| LogPosition(*number));
                    let events = retain_subscribed(events, watch);
                    if !events.is_empty() {
                        return events;
                    }
                }
                Backlog::Truncated => {
                    *position = self.now();
                    watch.mark_all_changed();
                }
            }
            tokio::select! {
                () = watch.changed() => {
                    let (events, truncated) = self.append_with(position, || watch.take());
                    if truncated {
                        watch.mark_all_changed();
                    }
                    let events = retain_subscribed(events, watch);
                    if !events.is_empty() {
                        return events;
                    }
                }
                () = self.changed.notified() => {}
            }
        }
    }

    /// Calls `look` with the retained events, at a time when no change is between the watch and this log.
    pub(crate) fn between_changes<T>(&self, look: impl FnOnce(&LoggedEvents) -> T) -> T {
        let state = self.lock();
        let updated = state
            .events
            .iter()
            .filter_map(|(number, change)| match change {
                Change::Updated(uri) => Some((uri.clone(), *number)),
                Change::List | Change::Tools | Change::Prompts => None,
            });
        look(&LoggedEvents {
            last: state.last,
            oldest: state.oldest(),
            updated: updated.collect(),
        })
    }

    #[cfg(test)]
    pub(super) fn append(
        &self,
        position: &mut LogPosition,
        changes: Vec<Change>,
    ) -> (Vec<(u64, Change)>, bool) {
        self.append_with(position, || changes)
    }

    /// Appends changes. Returns them, after the events that another reader appended since `position`. Also returns
    /// whether some of those events are not retained any more.
    fn append_with(
        &self,
        position: &mut LogPosition,
        take_changes: impl FnOnce() -> Vec<Change>,
    ) -> (Vec<(u64, Change)>, bool) {
        let mut state = self.lock();
        let (mut events, truncated) = match state.after(*position) {
            Backlog::Events(events) => (events, false),
            Backlog::Truncated => (vec![], true),
        };
        for change in take_changes() {
            events.push(state.push(change));
        }
        state.trim();
        *position = LogPosition(state.last);
        drop(state);
        self.changed.notify_one();
        (events, truncated)
    }

    fn lock(&self) -> MutexGuard<'_, LogState> {
        self.state.lock()
    }
}

impl LogState {
    /// The number of the oldest retained event. If there is none, the number of the next event.
    fn oldest(&self) -> u64 {
        self.last + 1 - self.events.len() as u64
    }

    fn after(&self, LogPosition(position): LogPosition) -> Backlog {
        if position + 1 < self.oldest() {
            return Backlog::Truncated;
        }
        Backlog::Events(
            self.events
                .iter()
                .filter(|(number, _)| *number > position)
                .cloned()
                .collect(),
        )
    }

    fn push(&mut self, change: Change) -> (u64, Change) {
        self.last += 1;
        self.bytes += size(&change);
        self.events.push_back((self.last, change.clone()));
        (self.last, change)
    }

    fn trim(&mut self) {
        while self.events.len() > MAX_EVENTS || self.bytes > MAX_BYTES {
            let Some((_, change)) = self.events.pop_front() else {
                return;
            };
            self.bytes -= size(&change);
        }
    }
}

/// Removes updates of resources that are no longer subscribed.
fn retain_subscribed(mut events: Vec<(u64, Change)>, watch: &Watch) -> Vec<(u64, Change)> {
    events.retain(|(_, change)| match change {
        Change::List | Change::Tools | Change::Prompts => true,
        Change::Updated(uri) => watch.contains(uri),
    });
    events
}

fn size(change: &Change) -> usize {
    match change {
        Change::List | Change::Tools | Change::Prompts => 0,
        Change::Updated(uri) => uri.as_str().len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn updated(uri: &str) -> Change {
        Change::Updated(Uri::parse(uri).unwrap())
    }

    #[test]
    fn returns_events_after_a_position_until_they_are_dropped() {
        let log = NotificationLog::default();
        let mut reader = log.now();
        for n in 0..MAX_EVENTS as u64 {
            log.append(&mut reader, vec![updated(&format!("x:{n}"))]);
        }
        let after = |position| log.lock().after(LogPosition(position));
        let Backlog::Events(all) = after(0) else {
            panic!("all events are retained")
        };
        assert_eq!((all.len(), &all[0]), (MAX_EVENTS, &(1, updated("x:0"))));
        assert_eq!(after(MAX_EVENTS as u64), Backlog::Events(vec![]));
        log.append(&mut reader, vec![Change::List]);
        assert_eq!(after(0), Backlog::Truncated);
        assert!(matches!(after(1), Backlog::Events(events) if events.len() == MAX_EVENTS));
        assert_eq!(
            (log.position(MAX_EVENTS as u64 + 2), reader),
            (None, log.now())
        );
    }

    #[test]
    fn limits_bytes() {
        let log = NotificationLog::default();
        let long = format!("x:{}", "y".repeat(8_000));
        for _ in 0..20 {
            log.append(&mut log.now(), vec![updated(&long)]);
        }
        assert!(log.lock().bytes <= MAX_BYTES && log.lock().events.len() == 8);
    }

    #[test]
    fn a_second_reader_gets_events_of_the_first() {
        let log = NotificationLog::default();
        let mut old = log.now();
        let mut new = log.now();
        log.append(&mut old, vec![updated("x:1")]);
        assert_eq!(
            log.append(&mut new, vec![Change::List]),
            (vec![(1, updated("x:1")), (2, Change::List)], false),
            "in order, each once"
        );
    }
}
