//! The notifications that a session was told, the newest of them kept. Whoever reads goes by his own place in them, so a
//! reader that is being replaced takes nothing away from the one who comes after him.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::catalog::{Change, Watch};

/// The most events that are kept.
const EVENTS: usize = 256;
/// The most bytes of URIs that are kept.
const BYTES: usize = 64 << 10;

/// What was told, each with its number, counted from one.
#[derive(Default)]
pub(in crate::endpoint) struct Told {
    said: Mutex<Said>,
    bell: Notify,
}

#[derive(Default)]
struct Said {
    last: u64,
    kept: VecDeque<(u64, Change)>,
    bytes: usize,
}

/// The last event that a reader has.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(in crate::endpoint) struct Place(u64);

/// What a reader does not have yet.
#[derive(Debug, PartialEq, Eq)]
enum Missed {
    Known(Vec<(u64, Change)>),
    /// Some of it is not kept any more.
    Gone,
}

impl Place {
    pub(in crate::endpoint) fn number(self) -> u64 {
        self.0
    }
}

impl Told {
    /// Where somebody begins who missed nothing.
    pub(in crate::endpoint) fn now(&self) -> Place {
        Place(self.lock().last)
    }

    /// The place of an event; none if there was no such event.
    pub(super) fn at(&self, number: u64) -> Option<Place> {
        (number <= self.lock().last).then_some(Place(number))
    }

    /// Waits for what comes after this place. May be dropped and called again without loss.
    pub(in crate::endpoint) async fn next(&self, place: &mut Place, watch: &Watch) -> Vec<(u64, Change)> {
        loop {
            let missed = self.lock().after(*place);
            match missed {
                Missed::Known(events) if events.is_empty() => {}
                Missed::Known(events) => {
                    *place = events.last().map_or(*place, |(number, _)| Place(*number));
                    let events = wanted(events, watch);
                    if !events.is_empty() {
                        return events;
                    }
                }
                Missed::Gone => {
                    *place = self.now();
                    watch.in_doubt();
                }
            }
            tokio::select! {
                changes = watch.next() => {
                    let (events, gone) = self.note(place, changes);
                    if gone {
                        watch.in_doubt();
                    }
                    let events = wanted(events, watch);
                    if !events.is_empty() {
                        return events;
                    }
                }
                () = self.bell.notified() => {}
            }
        }
    }

    /// Gives numbers to changes. What another reader noted meanwhile comes with them, or it is said that it is gone.
    pub(super) fn note(&self, place: &mut Place, changes: Vec<Change>) -> (Vec<(u64, Change)>, bool) {
        let mut said = self.lock();
        let (mut events, gone) = match said.after(*place) {
            Missed::Known(events) => (events, false),
            Missed::Gone => (vec![], true),
        };
        for change in changes {
            events.push(said.push(change));
        }
        said.trim();
        *place = Place(said.last);
        drop(said);
        self.bell.notify_one();
        (events, gone)
    }

    fn lock(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Said {
    fn after(&self, Place(place): Place) -> Missed {
        let oldest = self.last + 1 - self.kept.len() as u64;
        if place + 1 < oldest {
            return Missed::Gone;
        }
        Missed::Known(self.kept.iter().filter(|(number, _)| *number > place).cloned().collect())
    }

    fn push(&mut self, change: Change) -> (u64, Change) {
        self.last += 1;
        self.bytes += size(&change);
        self.kept.push_back((self.last, change.clone()));
        (self.last, change)
    }

    fn trim(&mut self) {
        while self.kept.len() > EVENTS || self.bytes > BYTES {
            let Some((_, change)) = self.kept.pop_front() else { return };
            self.bytes -= size(&change);
        }
    }
}

/// Without what was given up since.
fn wanted(mut events: Vec<(u64, Change)>, watch: &Watch) -> Vec<(u64, Change)> {
    events.retain(|(_, change)| match change {
        Change::List => true,
        Change::Updated(uri) => watch.wants(uri),
    });
    events
}

fn size(change: &Change) -> usize {
    match change {
        Change::List => 0,
        Change::Updated(uri) => uri.as_str().len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uri::Uri;

    fn updated(uri: &str) -> Change {
        Change::Updated(Uri::parse(uri).unwrap())
    }

    #[test]
    fn what_came_after_a_place_is_known_until_it_falls_out() {
        let told = Told::default();
        let mut reader = told.now();
        for n in 0..EVENTS as u64 {
            told.note(&mut reader, vec![updated(&format!("x:{n}"))]);
        }
        let after = |place| told.lock().after(Place(place));
        let Missed::Known(all) = after(0) else { panic!("all of it is kept") };
        assert_eq!((all.len(), &all[0]), (EVENTS, &(1, updated("x:0"))));
        assert_eq!(after(EVENTS as u64), Missed::Known(vec![]));
        told.note(&mut reader, vec![Change::List]);
        assert_eq!(after(0), Missed::Gone);
        assert!(matches!(after(1), Missed::Known(kept) if kept.len() == EVENTS));
        assert_eq!((told.at(EVENTS as u64 + 2), reader), (None, told.now()));
    }

    #[test]
    fn bytes_are_bounded_too() {
        let told = Told::default();
        let long = format!("x:{}", "y".repeat(8_000));
        for _ in 0..20 {
            told.note(&mut told.now(), vec![updated(&long)]);
        }
        assert!(told.lock().bytes <= BYTES && told.lock().kept.len() == 8);
    }

    #[test]
    fn what_one_reader_took_is_not_lost_for_the_next() {
        let told = Told::default();
        let (mut old, mut new) = (told.now(), told.now());
        told.note(&mut old, vec![updated("x:1")]);
        assert_eq!(
            told.note(&mut new, vec![Change::List]),
            (vec![(1, updated("x:1")), (2, Change::List)], false),
            "in order, each once"
        );
    }
}
