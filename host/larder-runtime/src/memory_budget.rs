//! The memory budget of the process. Data that can be large are charged before they are allocated, and released when
//! they are dropped: the memory of guests, their answers, responses, and data that are kept for later. If data do not
//! fit, they are refused.
//!
//! Teams share the budget by the rule of [`crate::ledger`]. Within a team, each named caller can use at most half of
//! the memory that the other callers of the team leave free, so some memory is always left for another caller. Without
//! named callers, the whole share of the team can be used.

mod charge;
mod report;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use parking_lot::{Mutex, MutexGuard};

pub use self::charge::MemoryCharge;
pub use self::report::MemoryReport;
use crate::ledger::{Addition, Ledger, SeveralTeams};
use larder_model::name::TeamName;
use larder_model::resource::Caller;

/// What memory is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryUse {
    /// Memories, tables and stacks of guests, and the buffers of their TCP connections.
    Guests,
    /// Answers of guests that are converted, or wait for their response to be written.
    Answers,
    /// Responses that are written, or wait for their clients.
    Responses,
    /// Event streams that are kept for clients that missed the end.
    Replay,
    /// Cached responses.
    Caches,
    /// Lists of providers.
    Catalogs,
    /// Calls that wait for the answers of their clients.
    Questions,
    /// Requests that are received, or wait for their responses.
    Requests,
    /// Bodies of HTTP requests of guests, and bodies of the responses.
    OutgoingHttp,
}

impl MemoryUse {
    /// All uses.
    pub const ALL: [Self; 9] = [
        Self::Guests,
        Self::Answers,
        Self::Responses,
        Self::Replay,
        Self::Caches,
        Self::Catalogs,
        Self::Questions,
        Self::Requests,
        Self::OutgoingHttp,
    ];

    /// The name in metrics and in the status.
    pub fn label(self) -> &'static str {
        match self {
            Self::Guests => "guests",
            Self::Answers => "answers",
            Self::Responses => "responses",
            Self::Replay => "replay",
            Self::Caches => "caches",
            Self::Catalogs => "catalogs",
            Self::Questions => "questions",
            Self::Requests => "requests",
            Self::OutgoingHttp => "http",
        }
    }
}

/// Why memory was not charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChargeError {
    /// Other uses currently need the memory.
    Full,
    /// The memory exceeds this share, so it does not fit even if no other use needs any memory.
    AboveLimit(u64),
}

/// The memory budget of the process, or a part of it. Clones share the same budget.
#[derive(Clone)]
pub struct MemoryBudget(Arc<Inner>);

struct Inner {
    ledger: Ledger,
    /// The budget of which this budget is a part.
    whole: Option<MemoryBudget>,
    used: [AtomicU64; MemoryUse::ALL.len()],
    refused: [AtomicU64; MemoryUse::ALL.len()],
    teams: Mutex<BTreeMap<TeamName, TeamMemory>>,
    /// The same in a budget and in its parts.
    hasher: RandomState,
}

/// The memory of one team. Clones share the same memory.
#[derive(Clone)]
pub struct TeamMemory(Arc<TeamInner>);

struct TeamInner {
    budget: MemoryBudget,
    /// The same team in the budget of which this budget is a part.
    whole: Option<TeamMemory>,
    used: AtomicU64,
    /// The memory that is charged to named callers, by the hash of their names. Callers without memory are not
    /// contained.
    callers: Mutex<HashMap<u64, u64>>,
}

impl MemoryBudget {
    /// Creates a budget of this many bytes.
    pub fn new(limit: u64) -> Self {
        Self::nested(limit, None)
    }

    /// A budget that refuses no memory.
    pub fn unlimited() -> Self {
        // The limit is halved so that sums of charges do not overflow.
        Self::new(u64::MAX / 2)
    }

    /// Creates a part of this budget with a limit of its own. Memory that is charged to the part is charged to both.
    pub fn sub_budget(&self, limit: u64) -> Self {
        Self::nested(limit.min(self.limit()), Some(self.clone()))
    }

    fn nested(limit: u64, whole: Option<Self>) -> Self {
        let several_teams = whole
            .as_ref()
            .map(Self::several_teams)
            .cloned()
            .unwrap_or_default();
        let hasher = whole
            .as_ref()
            .map_or_else(RandomState::new, |whole| whole.0.hasher.clone());
        Self(Arc::new(Inner {
            ledger: Ledger::new(limit, several_teams),
            whole,
            used: Default::default(),
            refused: Default::default(),
            teams: Mutex::default(),
            hasher,
        }))
    }

    /// From now on, divides the budget among this number of teams.
    pub fn set_team_count(&self, teams: usize) {
        self.several_teams().set_team_count(teams);
    }

    /// Whether several teams share the budget. For other resources that are shared in the same way.
    pub fn several_teams(&self) -> &SeveralTeams {
        self.0.ledger.several_teams()
    }

    /// Returns the memory of a team.
    pub fn team(&self, name: &TeamName) -> TeamMemory {
        let mut teams = self.0.teams.lock();
        if let Some(team) = teams.get(name) {
            return team.clone();
        }
        let whole = self.0.whole.as_ref().map(|whole| whole.team(name));
        let (used, callers) = Default::default();
        let team = TeamMemory(Arc::new(TeamInner {
            budget: self.clone(),
            whole,
            used,
            callers,
        }));
        teams.insert(name.clone(), team.clone());
        team
    }

    /// The size of the budget in bytes.
    pub fn limit(&self) -> u64 {
        self.0.ledger.limit()
    }

    /// Bytes that are charged.
    pub fn used(&self) -> u64 {
        self.0.ledger.used()
    }

    /// Bytes that are charged for this use.
    pub fn used_for(&self, what: MemoryUse) -> u64 {
        self.0.used[what as usize].load(SeqCst)
    }

    /// Whether less than half is used. Data that can be produced again are kept only then.
    pub fn has_plenty(&self) -> bool {
        self.used() < self.limit() / 2
    }

    fn count_refusal(&self, what: MemoryUse) {
        self.0.whole.as_ref().unwrap_or(self).0.refused[what as usize].fetch_add(1, SeqCst);
    }
}

impl TeamMemory {
    /// The budget to which the memory belongs.
    pub fn budget(&self) -> &MemoryBudget {
        &self.0.budget
    }

    /// Begins a charge of no bytes.
    pub fn begin(&self, what: MemoryUse) -> MemoryCharge {
        MemoryCharge::new(self.clone(), what)
    }

    /// Begins a charge of no bytes. If this caller is named, the charge grows for the caller.
    pub fn begin_for(&self, what: MemoryUse, caller: Option<&Caller>) -> MemoryCharge {
        MemoryCharge::for_caller(self.clone(), what, caller)
    }

    /// Charges bytes to the team, and to the caller if the caller is named.
    pub fn charge(
        &self,
        what: MemoryUse,
        caller: Option<&Caller>,
        bytes: u64,
    ) -> Result<MemoryCharge, ChargeError> {
        let mut charge = self.begin(what);
        charge.grow(caller, bytes).map(|()| charge)
    }

    /// Returns the number under which the memory of a caller is counted. `None` if the caller has no name.
    fn caller_id(&self, caller: &Caller) -> Option<u64> {
        let subject = caller.subject.as_ref()?;
        Some(self.0.budget.0.hasher.hash_one((subject, &caller.issuer)))
    }

    /// Adds bytes, also to the caller with this number. If the bytes do not fit, changes nothing.
    fn add(&self, what: MemoryUse, caller: Option<u64>, bytes: u64) -> Result<(), ChargeError> {
        if let Some(whole) = &self.0.whole {
            whole.add(what, caller, bytes)?;
        }
        self.add_here(what, caller, bytes).inspect_err(|_| {
            let of_caller = caller.map(|id| (id, bytes));
            self.0
                .whole
                .iter()
                .for_each(|whole| whole.remove(what, bytes, of_caller));
        })
    }

    fn add_here(
        &self,
        what: MemoryUse,
        caller: Option<u64>,
        bytes: u64,
    ) -> Result<(), ChargeError> {
        let budget = &self.0.budget;
        let Addition { used, share } = budget
            .0
            .ledger
            .add(&self.0.used, bytes)
            .ok_or(ChargeError::Full)?;
        budget.0.used[what as usize].fetch_add(bytes, SeqCst);
        if caller.is_none_or(|id| self.add_to_caller(id, used, share, bytes)) {
            return Ok(());
        }
        self.remove_here(what, bytes);
        Err(ChargeError::Full)
    }

    /// Adds bytes to a caller. The team of the caller uses `of_team` of its share.
    fn add_to_caller(&self, id: u64, of_team: u64, share: u64, bytes: u64) -> bool {
        let mut callers = self.callers();
        let own = use_of(&callers, id) + bytes;
        let of_others = of_team.saturating_sub(own);
        let fits = own <= share.saturating_sub(of_others) / 2;
        if fits {
            callers.insert(id, own);
        }
        fits
    }

    /// Removes bytes. Some of them may belong to a caller.
    fn remove(&self, what: MemoryUse, bytes: u64, of_caller: Option<(u64, u64)>) {
        self.remove_here(what, bytes);
        if let Some((id, of_caller)) = of_caller {
            self.remove_from_caller(id, of_caller);
        }
    }

    fn remove_from_caller(&self, id: u64, bytes: u64) {
        let mut callers = self.callers();
        match use_of(&callers, id).saturating_sub(bytes) {
            0 => callers.remove(&id),
            left => callers.insert(id, left),
        };
    }

    fn remove_here(&self, what: MemoryUse, bytes: u64) {
        self.0.budget.0.used[what as usize].fetch_sub(bytes, SeqCst);
        self.0.budget.0.ledger.remove(&self.0.used, bytes);
    }

    /// The maximum charge for the caller if no other use needs memory.
    fn largest_charge(&self, caller: Option<u64>) -> u64 {
        let of_team = self.0.budget.0.ledger.largest_share();
        // A part is never larger than the whole.
        if caller.is_some() {
            of_team / 2
        } else {
            of_team
        }
    }

    fn callers(&self) -> MutexGuard<'_, HashMap<u64, u64>> {
        self.0.callers.lock()
    }
}

fn use_of(callers: &HashMap<u64, u64>, id: u64) -> u64 {
    callers.get(&id).copied().unwrap_or_default()
}

impl fmt::Debug for MemoryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryBudget")
            .field("limit", &self.limit())
            .field("used", &self.used())
            .finish()
    }
}

impl fmt::Debug for TeamMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TeamMemory")
            .field("used", &self.0.used.load(SeqCst))
            .finish()
    }
}

#[cfg(test)]
mod tests;
