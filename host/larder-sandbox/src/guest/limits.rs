//! Limits of a guest's memory, tables and instances.

use std::sync::Arc;

use crate::guest_config::GuestConfig;
use larder_model::policy::MemoryReservation;
use larder_model::resource::Caller;
use larder_runtime::memory_budget::{MemoryCharge, MemoryUse};

/// Size of a guest's WebAssembly stack, in bytes. A guest that exceeds it traps with a stack overflow.
pub(crate) const GUEST_STACK: usize = 512 << 10;
/// The memory budget is charged in steps of this size, so that a guest that grows often seldom charges the budget, and
/// a small guest charges it once.
const CHARGE_STEP: u64 = 2 << 20;
/// Up to this size, the memory of a guest is charged only to its team. More memory is charged to its caller too, which
/// takes a lock.
const FREE_OF_CALLER: u64 = 4 << 20;
/// Bytes of one element of a table.
const TABLE_ELEMENT: u64 = size_of::<usize>() as u64;

/// Denies growth beyond the limits, and records the denial.
pub(crate) struct GuestLimiter {
    memory: u64,
    memory_limit: u64,
    table_elements: usize,
    pub(super) instances: usize,
    /// The limit of the guest beyond which growth was denied last.
    pub(crate) exceeded: Option<GrowthLimit>,
    /// Whether growth was denied because the team has used up its memory quota.
    pub(crate) team_memory_exhausted: bool,
    /// Whether growth was denied because the memory budget of the server has no room for it.
    pub(crate) budget_exhausted: bool,
    /// Whether the guest was paused because the team has used up its CPU quota.
    pub(crate) throttled_by_quota: bool,
    config: Arc<GuestConfig>,
    team_memory: Option<MemoryReservation>,
    /// The bytes that the memory, the tables and the stack need.
    needed: u64,
    charge: MemoryCharge,
}

/// A limit for the allocations of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GrowthLimit {
    Memory,
    Table,
}

impl GuestLimiter {
    pub(super) fn new(config: &Arc<GuestConfig>) -> Self {
        config.metrics.guests.inc();
        let limits = &config.grant.limits;
        Self {
            config: config.clone(),
            memory: 0,
            memory_limit: limits.memory,
            table_elements: usize::try_from(limits.table_elements).unwrap_or(usize::MAX),
            instances: limits.instances as usize,
            exceeded: None,
            team_memory_exhausted: false,
            budget_exhausted: false,
            throttled_by_quota: false,
            needed: GUEST_STACK as u64,
            charge: config.memory.begin(MemoryUse::Guests),
            team_memory: config.quota_usage.clone().map(MemoryReservation::new),
        }
    }
}

impl GuestLimiter {
    /// Resets the flags for another call.
    pub(super) fn begin_call(&mut self) {
        self.exceeded = None;
        self.team_memory_exhausted = false;
        self.budget_exhausted = false;
        self.throttled_by_quota = false;
    }

    /// Bytes of memory that the guest uses.
    pub(crate) fn memory(&self) -> u64 {
        self.memory
    }

    /// Charges memory before it grows. Returns false if the memory must not grow.
    pub(crate) fn grow_memory(&mut self, by: u64, caller: Option<&Caller>) -> bool {
        let total = self.memory.saturating_add(by);
        if total > self.memory_limit {
            self.exceeded = Some(GrowthLimit::Memory);
            return false;
        }
        if !self.charge(by, caller) {
            return false;
        }
        if !self.grow_team_memory(by) {
            self.needed -= by;
            self.team_memory_exhausted = true;
            return false;
        }
        self.config.metrics.memory_grew(by, total);
        self.memory = total;
        true
    }

    /// The same for a table.
    pub(super) fn grow_table(&mut self, from: usize, to: usize, caller: Option<&Caller>) -> bool {
        if to > self.table_elements {
            self.exceeded = Some(GrowthLimit::Table);
            return false;
        }
        self.charge(to.saturating_sub(from) as u64 * TABLE_ELEMENT, caller)
    }

    fn grow_team_memory(&mut self, by: u64) -> bool {
        let team_memory = self.team_memory.as_mut();
        team_memory.is_none_or(|team_memory| team_memory.grow(by))
    }

    /// Charges bytes to the memory budget of the server. If possible, charges whole steps, so that most calls charge
    /// the budget once.
    fn charge(&mut self, bytes: u64, caller: Option<&Caller>) -> bool {
        let needed = self.needed + bytes;
        let charged = self.charge.bytes();
        if needed > charged {
            let caller = caller.filter(|_| needed > FREE_OF_CALLER);
            let ahead = needed.next_multiple_of(CHARGE_STEP) - charged;
            if self
                .charge
                .grow_ahead(caller, needed - charged, ahead)
                .is_err()
            {
                self.budget_exhausted = true;
                return false;
            }
        }
        self.needed = needed;
        true
    }
}

impl Drop for GuestLimiter {
    fn drop(&mut self) {
        self.config.metrics.guests.dec();
        self.config.metrics.memory_freed(self.memory);
    }
}
