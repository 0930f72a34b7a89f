//! The rule by which teams share a resource of the server: each team can use at most half of the amount that the other
//! teams leave free, so some amount is always left for another team. A server with one team can use the whole resource.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

/// Whether several teams share the resources of the server. Clones share the value.
#[derive(Debug, Clone, Default)]
pub struct SeveralTeams(Arc<AtomicBool>);

impl SeveralTeams {
    /// From now on, divides all resources among this number of teams.
    pub fn set_team_count(&self, teams: usize) {
        self.0.store(teams > 1, SeqCst);
    }
}

/// The amount of a resource, and how much of it is used.
#[derive(Debug)]
pub(crate) struct Ledger {
    limit: u64,
    used: AtomicU64,
    several_teams: SeveralTeams,
}

/// The use of a team after an addition, and the maximum for the team.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Addition {
    pub(crate) used: u64,
    pub(crate) share: u64,
}

impl Ledger {
    pub(crate) fn new(limit: u64, several_teams: SeveralTeams) -> Self {
        Self {
            limit,
            used: AtomicU64::new(0),
            several_teams,
        }
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    pub(crate) fn several_teams(&self) -> &SeveralTeams {
        &self.several_teams
    }

    /// The sum of the use of all teams.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(SeqCst)
    }

    /// The maximum for one team if no other team uses the resource.
    pub(crate) fn largest_share(&self) -> u64 {
        self.share_of(self.limit)
    }

    /// Adds to the use of a team. If the amount does not fit, changes nothing.
    pub(crate) fn add(&self, of_team: &AtomicU64, amount: u64) -> Option<Addition> {
        // The order matters: the sum includes the use of the team, so at this moment the other teams seem to use more,
        // not less.
        self.used.fetch_add(amount, SeqCst);
        let used = of_team.fetch_add(amount, SeqCst) + amount;
        let of_others = self.used().saturating_sub(used);
        let share = self.share_of(self.limit.saturating_sub(of_others));
        if used <= share {
            return Some(Addition { used, share });
        }
        self.remove(of_team, amount);
        None
    }

    /// Adds to the use of a team, also if the amount does not fit.
    pub(crate) fn count(&self, of_team: &AtomicU64, amount: u64) {
        self.used.fetch_add(amount, SeqCst);
        of_team.fetch_add(amount, SeqCst);
    }

    /// Removes an amount that was added.
    pub(crate) fn remove(&self, of_team: &AtomicU64, amount: u64) {
        of_team.fetch_sub(amount, SeqCst);
        self.used.fetch_sub(amount, SeqCst);
    }

    /// The maximum for one team of the amount that the others leave free. It is rounded up, so that the last unit can
    /// be used.
    fn share_of(&self, free: u64) -> u64 {
        if self.several_teams.0.load(SeqCst) {
            free.div_ceil(2)
        } else {
            free
        }
    }
}
