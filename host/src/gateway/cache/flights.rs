//! Calls that others wait for. A flight belongs to the request that leads it: nothing is spawned, the call is
//! made in the name of one who still waits for it, and when that request goes away, one of the others leads.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::{Answer, Key, Manner};
use crate::catalog::Moment;

/// None until it landed; then what it brought, if that may be shared at all.
type Outcome = Option<Option<Answer>>;

#[derive(Debug, Default)]
pub(super) struct Flights(Mutex<Air>);

#[derive(Debug, Default)]
struct Air {
    next: u64,
    all: HashMap<Key, Flight>,
}

#[derive(Debug, Clone)]
pub(super) struct Flight {
    number: u64,
    since: Moment,
    outcome: watch::Receiver<Outcome>,
}

/// How to go on.
pub(super) enum Boarding<'a> {
    Lead(Lead<'a>),
    Wait(Flight),
    Alone,
}

/// How a flight ended.
pub(super) enum Landing {
    Answer(Option<Answer>),
    Abandoned,
}

/// The duty to land. Dropping it abandons the flight.
#[derive(Debug)]
pub(super) struct Lead<'a> {
    flights: &'a Flights,
    key: Key,
    number: u64,
    since: Moment,
    outcome: watch::Sender<Outcome>,
}

impl Flights {
    /// A flight that began before an update of its URI is not waited for by those who come after it.
    pub(super) fn board(
        &self,
        key: Key,
        manner: Manner,
        now: impl FnOnce() -> Moment,
        fits: impl FnOnce(Moment) -> bool,
    ) -> Boarding<'_> {
        if !matches!(manner, Manner::Follow | Manner::Lead) {
            return Boarding::Alone;
        }
        let mut air = self.air();
        match air.all.get(&key).filter(|flight| fits(flight.since)) {
            Some(flight) => return Boarding::Wait(flight.clone()),
            None if manner == Manner::Follow => return Boarding::Alone,
            None => {}
        }
        let (sender, outcome) = watch::channel(None);
        let (number, since) = (air.next, now());
        air.next += 1;
        air.all.insert(key.clone(), Flight { number, since, outcome });
        Boarding::Lead(Lead { flights: self, key, number, since, outcome: sender })
    }

    fn air(&self) -> MutexGuard<'_, Air> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.air().all.len()
    }
}

impl Flight {
    pub(super) async fn landing(mut self) -> Landing {
        match self.outcome.wait_for(Option::is_some).await {
            Ok(outcome) => Landing::Answer(outcome.clone().flatten()),
            Err(_) => Landing::Abandoned,
        }
    }
}

impl Lead<'_> {
    pub(super) fn since(&self) -> Moment {
        self.since
    }

    /// Gives those who wait what came of it.
    pub(super) fn land(self, answer: Option<Answer>) {
        self.outcome.send_replace(Some(answer));
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut air = self.flights.air();
        // One that came after an update may have taken the place.
        if air.all.get(&self.key).is_some_and(|flight| flight.number == self.number) {
            air.all.remove(&self.key);
        }
    }
}
