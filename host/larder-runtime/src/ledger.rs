//! The rule by which teams share what the server has: each team can use at most half of what the others leave free, so
//! something is always left for another one. A server with one team can use all of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

/// Whether several teams share what the server has. Clones share the answer.
#[derive(Debug, Clone, Default)]
pub struct SeveralTeams(Arc<AtomicBool>);

impl SeveralTeams {
    /// Shares everything among so many teams from now on.
    pub fn set_team_count(&self, teams: usize) {
        self.0.store(teams > 1, SeqCst);
    }
}

/// How much there is of something, and how much of it is used.
#[derive(Debug)]
pub(crate) struct Ledger {
    limit: u64,
    used: AtomicU64,
    several_teams: SeveralTeams,
}

/// What a team uses after an addition, and what it may use.
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

    /// What all teams use.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(SeqCst)
    }

    /// What one team could use if no other one used anything.
    pub(crate) fn largest_share(&self) -> u64 {
        self.share_of(self.limit)
    }

    /// Adds to what a team uses, or changes nothing if that does not fit.
    pub(crate) fn add(&self, of_team: &AtomicU64, amount: u64) -> Option<Addition> {
        // In this order: the sum contains all that the team uses, so at the same time others seem to use more and not less.
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

    /// Adds to what a team uses, whether it fits or not.
    pub(crate) fn count(&self, of_team: &AtomicU64, amount: u64) {
        self.used.fetch_add(amount, SeqCst);
        of_team.fetch_add(amount, SeqCst);
    }

    /// Removes what was added.
    pub(crate) fn remove(&self, of_team: &AtomicU64, amount: u64) {
        of_team.fetch_sub(amount, SeqCst);
        self.used.fetch_sub(amount, SeqCst);
    }

    /// What one team may use of what the others leave. It is rounded up, so that the last one can be used.
    fn share_of(&self, free: u64) -> u64 {
        if self.several_teams.0.load(SeqCst) {
            free.div_ceil(2)
        } else {
            free
        }
    }
}
