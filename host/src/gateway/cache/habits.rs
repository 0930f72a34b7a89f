//! What became of the last answer for a URI, in a table of fixed size: whether waiting for another's call is
//! worth it. A wrong guess costs time or a call, never a wrong answer: answers are judged by themselves.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Answer, Question};

/// Places in the table.
const PLACES: usize = 4_096;

/// What is expected of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Habit {
    /// Nothing is known.
    Unknown,
    /// It will do for the whole team.
    Shared,
    /// It will do for its caller.
    Personal,
    /// It will do for nobody else.
    Stale,
}

/// In each place a hash whose last two bits are the habit.
#[derive(Debug)]
pub(super) struct Habits {
    places: Box<[AtomicU64]>,
    hasher: RandomState,
}

impl Default for Habits {
    fn default() -> Self {
        let places = (0..PLACES).map(|_| AtomicU64::new(0)).collect();
        Self { places, hasher: RandomState::new() }
    }
}

impl Habits {
    pub(super) fn of(&self, question: &Question<'_>) -> Habit {
        let (place, hash) = self.place(question);
        match place.load(Ordering::Relaxed) {
            word if word & !3 != hash => Habit::Unknown,
            word => [Habit::Unknown, Habit::Shared, Habit::Personal, Habit::Stale][(word & 3) as usize],
        }
    }

    pub(super) fn note(&self, question: &Question<'_>, answer: Option<&Answer>) {
        let habit = match answer {
            Some(Answer { only: None, .. }) => 1,
            Some(Answer { only: Some(_), .. }) => 2,
            None => 3,
        };
        let (place, hash) = self.place(question);
        place.store(hash | habit, Ordering::Relaxed);
    }

    fn place(&self, question: &Question<'_>) -> (&AtomicU64, u64) {
        let hash = self.hasher.hash_one((question.revision, question.uri));
        (&self.places[(hash >> 32) as usize % PLACES], hash & !3)
    }
}
