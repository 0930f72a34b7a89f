//! Memory that is charged until it is dropped.

use std::sync::Arc;

use super::{ChargeError, MemoryUse, TeamMemory};
use larder_model::resource::Caller;

/// Memory that is charged to a team, and a part of it to a caller, until this value is dropped.
#[derive(Debug)]
pub struct MemoryCharge {
    team: TeamMemory,
    what: MemoryUse,
    bytes: u64,
    /// The part that is also charged to a caller, and the number of the caller if the caller is named.
    of_caller: u64,
    caller: Option<u64>,
}

impl MemoryCharge {
    pub(super) fn new(team: TeamMemory, what: MemoryUse) -> Self {
        Self {
            team,
            what,
            bytes: 0,
            of_caller: 0,
            caller: None,
        }
    }

    pub(super) fn for_caller(team: TeamMemory, what: MemoryUse, caller: Option<&Caller>) -> Self {
        let mut charge = Self::new(team, what);
        charge.caller = charge.id(caller);
        charge
    }

    /// Begins a charge of no bytes for the same use, team and caller.
    pub fn begin_another(&self) -> Self {
        let mut another = Self::new(self.team.clone(), self.what);
        another.caller = self.caller;
        another
    }

    /// The charged bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The team that is charged.
    pub fn team(&self) -> &TeamMemory {
        &self.team
    }

    /// Charges more to the team, and to the caller if one is given and named. All charges to callers must be for the
    /// same caller. If the bytes do not fit, changes nothing.
    pub fn grow(&mut self, caller: Option<&Caller>, bytes: u64) -> Result<(), ChargeError> {
        let caller = self.id(caller);
        self.try_grow(caller, bytes)
            .inspect_err(|_| self.count_refusal())
    }

    /// Charges more to the team, and to the caller that was charged before.
    pub fn grow_again(&mut self, bytes: u64) -> Result<(), ChargeError> {
        self.try_grow(self.caller, bytes)
            .inspect_err(|_| self.count_refusal())
    }

    /// Like [`Self::grow`]. If more bytes than needed fit, charges more.
    pub fn grow_ahead(
        &mut self,
        caller: Option<&Caller>,
        needed: u64,
        ahead: u64,
    ) -> Result<(), ChargeError> {
        let id = self.id(caller);
        self.try_grow(id, ahead.max(needed))
            .or_else(|_| self.grow(caller, needed))
    }

    fn id(&self, caller: Option<&Caller>) -> Option<u64> {
        caller.and_then(|caller| self.team.caller_id(caller))
    }

    fn count_refusal(&self) {
        self.team.budget().count_refusal(self.what);
    }

    fn try_grow(&mut self, caller: Option<u64>, bytes: u64) -> Result<(), ChargeError> {
        let largest = self.team.largest_charge(caller);
        match self.bytes.checked_add(bytes) {
            Some(total) if total <= largest => self.team.add(self.what, caller, bytes)?,
            _ => return Err(ChargeError::AboveLimit(largest)),
        }
        self.bytes += bytes;
        if caller.is_some() {
            self.caller = caller;
            self.of_caller += bytes;
        }
        Ok(())
    }

    /// Releases a part. Bytes that are charged to the caller are released first.
    pub fn shrink(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        let of_caller = bytes.min(self.of_caller);
        for team in std::iter::successors(Some(&self.team), |team| team.0.whole.as_ref()) {
            team.remove(self.what, bytes, self.caller.map(|id| (id, of_caller)));
        }
        self.bytes -= bytes;
        self.of_caller -= of_caller;
    }

    /// Moves a part to a separate charge. Bytes that are charged to the caller are moved first.
    pub fn split(&mut self, bytes: u64) -> Self {
        let bytes = bytes.min(self.bytes);
        let of_caller = bytes.min(self.of_caller);
        self.bytes -= bytes;
        self.of_caller -= of_caller;
        Self {
            team: self.team.clone(),
            what: self.what,
            bytes,
            of_caller,
            caller: self.caller,
        }
    }

    /// Adds another charge, if both are for the same team and the same caller.
    pub fn merge(&mut self, mut other: Self) -> Result<(), Self> {
        let is_same = Arc::ptr_eq(&self.team.0, &other.team.0)
            && (self.what, self.caller) == (other.what, other.caller);
        if !is_same {
            return Err(other);
        }
        self.bytes += std::mem::take(&mut other.bytes);
        self.of_caller += std::mem::take(&mut other.of_caller);
        Ok(())
    }
}

impl Drop for MemoryCharge {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}
