//! Whether this server should be sent requests, and what is wrong meanwhile.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is wrong now, by whom it concerns. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Health(Arc<Mutex<BTreeMap<String, Trouble>>>);

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What it is, in a sentence.
    pub what: String,
    /// Whose requests it keeps from being answered.
    pub concerns: Concerns,
}

/// Whose requests something keeps from being answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concerns {
    /// All: nobody should be sent here because of it.
    Everybody,
    /// Those of one team; others are served. Where nothing is served at all, it is everybody's.
    OneTeam,
    /// Nobody's, yet.
    Operator,
}

impl Health {
    /// Something is wrong with this part; what was wrong with it before is forgotten.
    pub fn wrong(&self, part: &str, what: impl Into<String>, concerns: Concerns) {
        let trouble = Trouble { what: what.into(), concerns };
        self.all().insert(part.to_owned(), trouble);
    }

    /// Nothing is wrong with this part any more.
    pub fn right(&self, part: &str) {
        self.all().remove(part);
    }

    /// All that is wrong.
    pub fn troubles(&self) -> Vec<Trouble> {
        self.all().values().cloned().collect()
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Trouble>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
