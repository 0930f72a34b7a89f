//! Limits of a guest's memory, tables and instances.

use std::sync::Arc;

use wasmtime::ResourceLimiter;

use super::guest_config::GuestConfig;
use larder_model::policy::MemoryReservation;

/// Denies growth beyond the limits, and records that it did.
pub(super) struct GuestLimiter {
    memory: u64,
    memory_limit: u64,
    table_elements: usize,
    instances: usize,
    /// The limit of the guest beyond which growth was denied last.
    pub(super) exceeded: Option<GrowthLimit>,
    /// Whether growth was denied because the team has used up its memory quota.
    pub(super) team_memory_exhausted: bool,
    /// Whether the guest was paused because the team has used up its CPU quota.
    pub(super) throttled_by_quota: bool,
    config: Arc<GuestConfig>,
    team_memory: Option<MemoryReservation>,
}

/// A limit for what a guest may allocate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GrowthLimit {
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
            throttled_by_quota: false,
            team_memory: config.quota_usage.clone().map(MemoryReservation::new),
        }
    }
}

impl GuestLimiter {
    /// Resets the flags for another call.
    pub(super) fn begin_call(&mut self) {
        (self.exceeded, self.team_memory_exhausted, self.throttled_by_quota) = (None, false, false);
    }

    /// Bytes of memory that the guest uses.
    pub(super) fn memory(&self) -> u64 {
        self.memory
    }
}

impl ResourceLimiter for GuestLimiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.memory.saturating_add(desired.saturating_sub(current) as u64);
        if total > self.memory_limit {
            self.exceeded = Some(GrowthLimit::Memory);
            return Ok(false);
        }
        if self.team_memory.as_mut().is_some_and(|team_memory| !team_memory.grow(total - self.memory)) {
            self.team_memory_exhausted = true;
            return Ok(false);
        }
        self.config.metrics.memory_grew(total - self.memory, total);
        self.memory = total;
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let fits = desired <= self.table_elements;
        if !fits {
            self.exceeded = Some(GrowthLimit::Table);
        }
        Ok(fits)
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn tables(&self) -> usize {
        // One per core instance, and those that adapters add.
        self.instances * 2
    }

    fn memories(&self) -> usize {
        self.instances
    }
}

impl Drop for GuestLimiter {
    fn drop(&mut self) {
        self.config.metrics.guests.dec();
        self.config.metrics.memory_freed(self.memory);
    }
}
