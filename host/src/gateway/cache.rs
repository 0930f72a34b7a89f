//! Answers that the providers of one team call fresh: kept for those who ask later, shared with those who ask
//! meanwhile. Nothing is used beyond its time, after an update of a URI in it, by another revision, or, where the
//! provider says so, by another caller.

mod flights;
mod habits;
mod kept;

use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use self::flights::{Boarding, Flights, Landing, Lead};
use self::habits::{Habit, Habits};
use self::kept::Kept;
use crate::catalog::{Moment, Reader};
use crate::resource::{Caller, Freshness, Reading, Scope};
use crate::uri::Uri;

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Bytes of answers.
    pub bytes: usize,
    /// Answers; 0 to keep none.
    pub entries: usize,
}

impl Config {
    /// The part of one of so many teams: what one of them asks for drives out nothing of another's, and does not
    /// show there by the time that an answer takes.
    pub(super) fn share(self, teams: usize) -> Self {
        let teams = teams.max(1);
        Self { bytes: self.bytes / teams, entries: self.entries.div_ceil(teams) }
    }
}

#[derive(Debug)]
pub(super) struct Cache {
    kept: Mutex<Kept>,
    flights: Flights,
    habits: Habits,
    reader: Reader,
}

/// All that an answer may depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'a> {
    /// Of the provider: it names the component, its grants and its settings.
    pub(super) revision: u64,
    /// Whole: of two credentials of one subject, the one with fewer scopes may see less.
    pub(super) caller: &'a Caller,
    pub(super) uri: &'a Uri,
}

/// What may be done beside asking the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// Nothing: the answer may depend on what only this request says.
    Apart,
    /// Kept answers are used; but a call is its own, since its progress is wanted.
    Alone,
    /// It may wait for another's call. Its own call asks about one version, and is nobody else's.
    Follow,
    /// Others may wait for its call.
    Lead,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    revision: u64,
    /// None if it is kept for everyone of the team.
    only: Option<Caller>,
    uri: Uri,
}

impl Question<'_> {
    fn of_team(&self) -> Key {
        self.of(None)
    }

    fn of_caller(&self) -> Key {
        self.of(Some(self.caller.clone()))
    }

    fn of(&self, only: Option<Caller>) -> Key {
        Key { revision: self.revision, only, uri: self.uri.clone() }
    }
}

/// An answer, and what must hold for its use.
#[derive(Debug, Clone)]
struct Answer {
    reading: Reading,
    /// None if it is for everyone of the team.
    only: Option<Caller>,
    /// From before its call: an update during the call voids it.
    since: Moment,
    until: Instant,
}

impl Answer {
    /// None if the provider does not call it fresh.
    fn new(reading: &Reading, question: &Question<'_>, since: Moment) -> Option<Self> {
        let Freshness { ttl, scope } = reading.freshness;
        let only = (scope == Scope::Caller).then(|| question.caller.clone());
        (!ttl.is_zero()).then(|| Self { reading: reading.clone(), only, since, until: Instant::now() + ttl })
    }

    /// What it says to this question, with the time that is left.
    fn to(&self, question: &Question<'_>, reader: &Reader) -> Option<Reading> {
        let ttl = self.until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
        let is_same = |uri| reader.is_same_since(self.since, uri);
        let may = self.only.as_ref().is_none_or(|only| only == question.caller);
        let holds = may
            && is_same(question.uri)
            && self
                .reading
                .contents
                .iter()
                .all(|content| content.uri == *question.uri || is_same(&content.uri));
        let freshness = Freshness { ttl, ..self.reading.freshness };
        holds.then(|| Reading { freshness, kept: true, ..self.reading.clone() })
    }
}

/// What one who asks finds.
enum Found<'a> {
    Reading(Reading),
    Lead(Lead<'a>),
    Nothing,
}

impl Cache {
    pub(super) fn new(config: Config, reader: Reader) -> Self {
        let kept = Mutex::new(Kept::new(config));
        Self { kept, flights: Flights::default(), habits: Habits::default(), reader }
    }

    /// Bytes and answers that are kept.
    pub(super) fn size(&self) -> (u64, u64) {
        self.shelf().size()
    }

    /// The answer to a question: what is kept, what another's call gives, or what this call does.
    /// An error is neither kept nor shared: it may be about this caller, or about this moment.
    pub(super) async fn answer<E>(
        &self,
        question: &Question<'_>,
        manner: Manner,
        call: impl Future<Output = Result<Reading, E>>,
    ) -> Result<Reading, E> {
        if manner == Manner::Apart {
            return call.await;
        }
        let lead = match self.find(question, manner).await {
            Found::Reading(reading) => return Ok(reading),
            Found::Lead(lead) => Some(lead),
            Found::Nothing => None,
        };
        let since = lead.as_ref().map_or_else(|| self.reader.moment(), Lead::since);
        let result = call.await;
        let answer = result.as_ref().ok().and_then(|reading| Answer::new(reading, question, since));
        if result.is_ok() || lead.is_some() {
            self.habits.note(question, answer.as_ref());
        }
        if let Some(answer) = &answer {
            let key = if answer.only.is_some() { question.of_caller() } else { question.of_team() };
            self.shelf().put(key, answer.clone());
        }
        if let Some(lead) = lead {
            lead.land(answer);
        }
        result
    }

    /// Looks at what others know. Where the one that it waited for has nothing for it, it asks by itself,
    /// together with all others who waited; where that one went away, another takes over.
    async fn find(&self, question: &Question<'_>, manner: Manner) -> Found<'_> {
        loop {
            if let Some(reading) = self.kept(question) {
                return Found::Reading(reading);
            }
            let key = match self.habits.of(question) {
                Habit::Unknown | Habit::Shared => question.of_team(),
                Habit::Personal => question.of_caller(),
                Habit::Stale => return Found::Nothing,
            };
            let fits = |since| self.reader.is_same_since(since, question.uri);
            let flight = match self.flights.board(key, manner, || self.reader.moment(), fits) {
                Boarding::Wait(flight) => flight,
                Boarding::Alone => return Found::Nothing,
                // Another's call may have ended since the look above.
                Boarding::Lead(lead) => return self.kept(question).map_or(Found::Lead(lead), Found::Reading),
            };
            match flight.landing().await {
                Landing::Abandoned => {}
                Landing::Answer(answer) => {
                    let reading = answer.and_then(|answer| answer.to(question, &self.reader));
                    return reading.map_or(Found::Nothing, Found::Reading);
                }
            }
        }
    }

    fn kept(&self, question: &Question<'_>) -> Option<Reading> {
        let mut kept = self.shelf();
        [Question::of_team, Question::of_caller].into_iter().find_map(|key| {
            let key = key(question);
            let reading = kept.get(&key)?.to(question, &self.reader);
            if reading.is_none() {
                kept.remove(&key);
            }
            reading
        })
    }

    fn shelf(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
