//! The limits for the bodies of HTTP requests that the host holds for one call of a guest: a number of bytes of
//! responses, and the memory budget for requests and responses.

use parking_lot::{Mutex, MutexGuard};

use super::RequestError;
use larder_runtime::memory_budget::{ChargeError, MemoryCharge};

/// Bodies up to this size together are not charged to the memory budget.
const FREE_BYTES: u64 = 64 << 10;

/// What the bodies of a call may still use.
pub(crate) struct BodyBudget(Mutex<State>);

struct State {
    /// The bytes of response bodies that may still be read.
    left: u64,
    /// The memory of bodies.
    held: u64,
    /// The charge for the bytes above [`FREE_BYTES`].
    charge: MemoryCharge,
}

/// The bytes that one body uses. They are returned if the body is dropped before its end.
pub(super) struct Reservation<'a> {
    budget: &'a BodyBudget,
    bytes: u64,
    memory: u64,
}

impl BodyBudget {
    /// `charge` is a charge of no bytes, which grows with the bodies.
    pub(crate) fn new(limit: u64, charge: MemoryCharge) -> Self {
        Self(Mutex::new(State {
            left: limit,
            held: 0,
            charge,
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl State {
    fn hold(&mut self, bytes: u64) -> Result<(), ChargeError> {
        let charged = (self.held + bytes).saturating_sub(FREE_BYTES);
        self.charge
            .grow_again(charged.saturating_sub(self.charge.bytes()))?;
        self.held += bytes;
        Ok(())
    }

    fn release(&mut self, bytes: u64) {
        self.held -= bytes;
        let charged = self.held.saturating_sub(FREE_BYTES);
        self.charge
            .shrink(self.charge.bytes().saturating_sub(charged));
    }
}

impl<'a> Reservation<'a> {
    pub(super) fn new(budget: &'a BodyBudget) -> Self {
        Self {
            budget,
            bytes: 0,
            memory: 0,
        }
    }

    /// Charges a body that is already in memory.
    pub(super) fn hold(&mut self, body: &[u8]) -> Result<(), RequestError> {
        self.charge(body.len() as u64)
    }

    /// Appends a piece to the body of a response.
    pub(super) fn append(&mut self, body: &mut Vec<u8>, piece: &[u8]) -> Result<(), RequestError> {
        let bytes = piece.len() as u64;
        {
            let mut state = self.budget.state();
            state.left = state
                .left
                .checked_sub(bytes)
                .ok_or(RequestError::TooLarge)?;
        }
        self.bytes += bytes;
        let needed = body.len() + piece.len();
        if needed > body.capacity() {
            let capacity = needed.max(2 * body.capacity());
            self.charge((capacity - body.capacity()) as u64)?;
            body.reserve_exact(capacity - body.len());
        }
        body.extend_from_slice(piece);
        Ok(())
    }

    fn charge(&mut self, bytes: u64) -> Result<(), RequestError> {
        self.budget
            .state()
            .hold(bytes)
            .map_err(|_| RequestError::NoMemory)?;
        self.memory += bytes;
        Ok(())
    }

    /// Keeps the used bytes charged, because the response is complete and stays in memory.
    pub(super) fn keep(mut self) {
        self.bytes = 0;
        self.memory = 0;
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut state = self.budget.state();
        state.left += self.bytes;
        state.release(self.memory);
    }
}

#[cfg(test)]
mod tests {
    use larder_model::name::TeamName;
    use larder_runtime::memory_budget::{MemoryBudget, MemoryUse};

    use super::*;

    fn budget(limit: u64, memory: u64) -> (BodyBudget, MemoryBudget) {
        let whole = MemoryBudget::new(memory);
        let charge = whole
            .team(&TeamName::default_team())
            .begin(MemoryUse::OutgoingHttp);
        (BodyBudget::new(limit, charge), whole)
    }

    #[test]
    fn an_incomplete_response_returns_its_bytes() {
        let (budget, _) = budget(10, 1 << 20);
        let mut complete = Reservation::new(&budget);
        assert_eq!(complete.append(&mut Vec::new(), &[0; 4]), Ok(()));
        complete.keep();
        let mut incomplete = Reservation::new(&budget);
        let mut body = Vec::new();
        assert_eq!(incomplete.append(&mut body, &[0; 6]), Ok(()));
        assert_eq!(
            incomplete.append(&mut body, &[0]),
            Err(RequestError::TooLarge)
        );
        drop(incomplete);
        let mut other = Reservation::new(&budget);
        assert_eq!(
            other.append(&mut Vec::new(), &[0; 7]),
            Err(RequestError::TooLarge)
        );
        assert_eq!(other.append(&mut Vec::new(), &[0; 6]), Ok(()));
    }

    #[test]
    fn large_bodies_are_charged_until_they_are_dropped() {
        let (budget, whole) = budget(u64::MAX, 1 << 20);
        let mut small = Reservation::new(&budget);
        assert_eq!(small.hold(&[0; 60 << 10]), Ok(()));
        assert_eq!(whole.used(), 0);
        let mut large = Reservation::new(&budget);
        let mut body = Vec::new();
        assert_eq!(large.append(&mut body, &[0; 500 << 10]), Ok(()));
        assert_eq!(whole.used_for(MemoryUse::OutgoingHttp), (560 - 64) << 10);
        assert_eq!(
            large.append(&mut body, &[0; 600 << 10]),
            Err(RequestError::NoMemory)
        );
        assert!(whole.used() <= 1 << 20);
        drop(large);
        assert_eq!(whole.used(), 0);
        small.keep();
    }
}
