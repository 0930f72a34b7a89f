//! Large responses: their memory is charged from before they are written until they were sent. This applies to
//! responses in one piece, in a stream and in a batch. They have a limit of their own within the memory budget, because
//! slow clients can hold them for a long time.

use bytes::Bytes;

use super::charged_bytes::charged;
use super::deferred::DeferredResponse;
use crate::wire::rpc_error::RpcError;
use larder_model::resource::Caller;
use larder_runtime::memory_budget::{ChargeError, MemoryBudget, MemoryCharge, MemoryUse};

/// Responses up to this size are not charged: there is at most one such response for each connection.
pub(crate) const FREE_BYTES: usize = 64 << 10;
/// The maximum size of the pieces in which a large response is sent.
pub(super) const PIECE: usize = 256 << 10;

/// The memory of large responses.
#[derive(Debug)]
pub(crate) struct WaitingBytes {
    whole: MemoryBudget,
    /// The part of the budget that responses can use.
    part: MemoryBudget,
}

impl WaitingBytes {
    /// Responses can use `limit` bytes of the budget, and at most half of it.
    pub(crate) fn new(whole: &MemoryBudget, limit: usize) -> Self {
        Self {
            part: whole.sub_budget((limit as u64).min(whole.limit() / 2)),
            whole: whole.clone(),
        }
    }

    /// From now on, divides the budget among this number of teams.
    pub(crate) fn set_team_count(&self, teams: usize) {
        self.whole.set_team_count(teams);
    }

    /// The bytes that are waiting now.
    pub(crate) fn total(&self) -> u64 {
        self.part.used()
    }

    /// Charges a response to the first team of the caller.
    pub(crate) fn charge(
        &self,
        caller: &Caller,
        bytes: usize,
    ) -> Result<MemoryCharge, ChargeError> {
        charge_to_first(&self.part, MemoryUse::Responses, caller, bytes)
    }

    /// Like [`Self::charge`], for bytes that are kept for other responses.
    pub(crate) fn charge_kept(
        &self,
        caller: &Caller,
        bytes: usize,
    ) -> Result<MemoryCharge, ChargeError> {
        charge_to_first(&self.whole, MemoryUse::Caches, caller, bytes)
    }

    /// Like [`Self::charge`], for a call that waits for the answers of its client.
    pub(crate) fn charge_question(
        &self,
        caller: &Caller,
        bytes: usize,
    ) -> Result<MemoryCharge, ChargeError> {
        charge_to_first(&self.whole, MemoryUse::Questions, caller, bytes)
    }

    /// Like [`Self::charge`], for a request that is received.
    pub(crate) fn charge_request(
        &self,
        caller: &Caller,
        bytes: usize,
    ) -> Result<MemoryCharge, ChargeError> {
        charge_to_first(&self.whole, MemoryUse::Requests, caller, bytes)
    }
}

/// Charges the first team of the caller. This team pays for all requests of the caller.
pub(crate) fn charge_to_first(
    budget: &MemoryBudget,
    what: MemoryUse,
    caller: &Caller,
    bytes: usize,
) -> Result<MemoryCharge, ChargeError> {
    let first = caller.teams.first().ok_or(ChargeError::Full)?;
    budget.team(first).charge(what, Some(caller), bytes as u64)
}

/// A response with the charge for it. A small response is not charged.
#[derive(Debug)]
pub(crate) struct ChargedResponse {
    pub(crate) bytes: Vec<u8>,
    pub(crate) charge: Option<Box<MemoryCharge>>,
    /// The response, if it is encoded when it is sent. Then it has its own charges, and `bytes` is empty.
    pub(crate) deferred: Option<Box<DeferredResponse>>,
    /// If the response was refused: the error that replaces it. `bytes` contains the error too.
    pub(crate) refused: Option<Box<RpcError>>,
}

/// A response that can be sent more than once.
#[derive(Debug, Clone)]
pub(crate) enum SharedResponse {
    Bytes(Bytes),
    Deferred(Box<DeferredResponse>),
}

impl ChargedResponse {
    /// The number of bytes that are sent.
    pub(crate) fn len(&self) -> usize {
        self.deferred
            .as_ref()
            .map_or(self.bytes.len(), |deferred| deferred.len())
    }

    /// Whether the response is charged.
    pub(crate) fn is_large(&self) -> bool {
        self.charge.is_some() || self.deferred.is_some()
    }

    /// Returns the bytes, which are charged until the last reference to them is dropped.
    pub(crate) fn into_bytes(self) -> Bytes {
        charged(self.bytes, self.charge)
    }

    /// Returns the response, which is charged until the last reference to it is dropped.
    pub(crate) fn into_shared(self) -> SharedResponse {
        match self.deferred {
            Some(deferred) => SharedResponse::Deferred(deferred),
            None => SharedResponse::Bytes(self.into_bytes()),
        }
    }

    /// Whether an item can be appended to the bytes of this response.
    fn can_precede(&self, item: &Self) -> bool {
        self.deferred.is_none()
            && item.deferred.is_none()
            && self.bytes.len() + item.bytes.len() <= PIECE
    }

    /// Frees memory behind the end of the response.
    pub(crate) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        if let Some(charge) = &mut self.charge {
            charge.shrink(charge.bytes().saturating_sub(self.bytes.capacity() as u64));
        }
    }
}

impl SharedResponse {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Deferred(deferred) => deferred.len(),
        }
    }
}

impl<B: Into<Bytes>> From<B> for SharedResponse {
    fn from(bytes: B) -> Self {
        Self::Bytes(bytes.into())
    }
}

impl From<DeferredResponse> for ChargedResponse {
    fn from(deferred: DeferredResponse) -> Self {
        Self {
            deferred: Some(Box::new(deferred)),
            ..Vec::new().into()
        }
    }
}

impl From<Vec<u8>> for ChargedResponse {
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            charge: None,
            deferred: None,
            refused: None,
        }
    }
}

/// A JSON array that is charged as it grows.
#[derive(Debug, Default)]
pub(crate) struct ChargedArray {
    parts: Vec<ChargedResponse>,
    bytes: usize,
}

impl ChargedArray {
    /// Whether an item of this size has to be charged.
    pub(crate) fn has_cost(&self, bytes: usize) -> bool {
        self.bytes + bytes > FREE_BYTES
    }

    /// Appends an item.
    pub(crate) fn push(&mut self, item: ChargedResponse) {
        let separator = if self.parts.is_empty() { b"[" } else { b"," };
        self.append(separator.to_vec().into());
        self.append(item);
    }

    /// Returns the parts of the array. `None` if the array is empty.
    pub(crate) fn finish(mut self) -> Option<Vec<ChargedResponse>> {
        if self.parts.is_empty() {
            return None;
        }
        self.append(b"]".to_vec().into());
        Some(self.parts)
    }

    /// Appends bytes to the last part if both are small, because each part is sent separately.
    fn append(&mut self, mut item: ChargedResponse) {
        self.bytes += item.len();
        if let Some(last) = self.parts.last_mut().filter(|last| last.can_precede(&item)) {
            let merged = match (last.charge.as_mut(), item.charge.take()) {
                (_, None) => Ok(()),
                (Some(charge), Some(more)) => charge.merge(*more).map_err(Box::new),
                (None, Some(more)) => Err(more),
            };
            match merged {
                Ok(()) => return last.bytes.extend_from_slice(&item.bytes),
                Err(charge) => item.charge = Some(charge),
            }
        }
        self.parts.push(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_model::name::Teams;

    #[test]
    fn the_first_team_of_a_caller_is_charged() {
        let waiting = WaitingBytes::new(&MemoryBudget::new(1_000), 100);
        waiting.set_team_count(2);
        let [a, c] = ["a", "c"].map(|team| larder_model::name::TeamName::parse(team).unwrap());
        let of = |teams| Caller {
            subject: None,
            issuer: None,
            teams,
            scopes: vec![],
        };
        let caller = of(Teams::of([c.clone(), a.clone()]).unwrap());
        let first = waiting.charge(&caller, 50).unwrap();
        assert_eq!(waiting.charge(&caller, 1).unwrap_err(), ChargeError::Full);
        assert_eq!(
            waiting.charge(&of(c.into()), 1).unwrap_err(),
            ChargeError::Full
        );
        let second = waiting.charge(&of(a.into()), 25).unwrap();
        assert_eq!(
            waiting.charge(&caller, 51).unwrap_err(),
            ChargeError::AboveLimit(50)
        );
        let kept = waiting.charge_kept(&caller, 200).unwrap();
        assert_eq!((waiting.total(), waiting.whole.used()), (75, 275));
        drop((first, second, kept));
        assert_eq!((waiting.total(), waiting.whole.used()), (0, 0));
    }
}
