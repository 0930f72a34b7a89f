//! The order of compilations: one after the other, and the teams take turns.

use std::collections::HashMap;
use std::sync::{Arc, Mutex as Lock, PoisonError};

use tokio::sync::Mutex;

use larder_model::name::TeamName;

/// The compilations of one priority.
#[derive(Default)]
pub(super) struct Queue {
    /// Held during a compilation. A component that several calls need at the same time is compiled only once,
    /// because each of them checks the cache again when it has the lock.
    pub(super) lock: Mutex<()>,
    /// At most one component of each team waits for [`Self::lock`], and the others of the team wait behind
    /// it. So the teams take turns, regardless of how many components each of them has.
    pub(super) teams: TeamQueues,
}

/// One lock per team.
#[derive(Default)]
pub(super) struct TeamQueues(Lock<HashMap<TeamName, Arc<Mutex<()>>>>);

impl TeamQueues {
    /// The lock of this team.
    pub(super) fn of(&self, team: &TeamName) -> Arc<Mutex<()>> {
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        locks.entry(team.clone()).or_default().clone()
    }
}
