//! Large responses: their memory is charged from before they are written until they were sent, whether in one piece,
//! in a stream or in a batch. They have a limit of their own within the memory budget, because slow clients can hold
//! them for long.

use std::time::{Duration, Instant};

use super::rpc_error::RpcError;
use bytes::Bytes;
use larder_model::resource::Caller;
use larder_runtime::memory_budget::{MemoryBudget, MemoryCharge, MemoryUse, Refused};

/// Responses up to this size are not charged: there is at most one for each connection.
pub(super) const FREE_BYTES: usize = 64 << 10;

/// The memory of large responses.
#[derive(Debug)]
pub(super) struct WaitingBytes {
    whole: MemoryBudget,
    /// The part of it that responses can use.
    part: MemoryBudget,
}

impl WaitingBytes {
    /// Responses can use `limit` bytes of the budget, and at most half of it.
    pub(super) fn new(whole: &MemoryBudget, limit: usize) -> Self {
        Self { part: whole.part((limit as u64).min(whole.limit() / 2)), whole: whole.clone() }
    }

    /// Divides the budget among so many teams from now on.
    pub(super) fn set_team_count(&self, teams: usize) {
        self.whole.set_team_count(teams);
    }

    /// The bytes that wait now.
    pub(super) fn total(&self) -> u64 {
        self.part.used()
    }

    /// Charges a response to the first team of the caller that has room for it.
    pub(super) fn charge(&self, caller: &Caller, bytes: usize) -> Result<MemoryCharge, Refused> {
        charge_to_first(&self.part, MemoryUse::Responses, caller, bytes)
    }

    /// Like [`Self::charge`], for what is kept for other responses.
    pub(super) fn charge_kept(&self, caller: &Caller, bytes: usize) -> Result<MemoryCharge, Refused> {
        charge_to_first(&self.whole, MemoryUse::Caches, caller, bytes)
    }

    /// Like [`Self::charge`], for a call that waits for the answers of its client.
    pub(super) fn charge_question(&self, caller: &Caller, bytes: usize) -> Result<MemoryCharge, Refused> {
        charge_to_first(&self.whole, MemoryUse::Questions, caller, bytes)
    }

    /// Like [`Self::charge`], for a request that is received.
    pub(super) fn charge_request(&self, caller: &Caller, bytes: usize) -> Result<MemoryCharge, Refused> {
        charge_to_first(&self.whole, MemoryUse::Requests, caller, bytes)
    }
}

/// Charges the first team of the caller that has room for the bytes.
pub(super) fn charge_to_first(
    budget: &MemoryBudget,
    what: MemoryUse,
    caller: &Caller,
    bytes: usize,
) -> Result<MemoryCharge, Refused> {
    let mut refused = Refused::Full;
    for team in caller.teams.iter() {
        match budget.team(team).charge(what, Some(caller), bytes as u64) {
            Ok(charge) => return Ok(charge),
            Err(why) => refused = why,
        }
    }
    Err(refused)
}

/// A response with the charge for it. It is not charged if it is small.
#[derive(Debug)]
pub(super) struct ChargedResponse {
    pub(super) bytes: Vec<u8>,
    pub(super) charge: Option<Box<MemoryCharge>>,
    /// The error that replaces the response, if it was refused. `bytes` contains it too.
    pub(super) refused: Option<Box<RpcError>>,
}

impl ChargedResponse {
    /// Bytes that are charged until the last reference to them is dropped.
    pub(super) fn into_bytes(self) -> Bytes {
        match self.charge {
            Some(charge) => Bytes::from_owner(ChargedBytes { bytes: self.bytes, _charge: charge }),
            None => self.bytes.into(),
        }
    }
}

impl ChargedResponse {
    /// Frees memory behind the end of the response.
    pub(super) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        if let Some(charge) = &mut self.charge {
            charge.shrink(charge.bytes().saturating_sub(self.bytes.capacity() as u64));
        }
    }
}

impl From<Vec<u8>> for ChargedResponse {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, charge: None, refused: None }
    }
}

/// A JSON array that is charged as it grows.
#[derive(Debug, Default)]
pub(super) struct ChargedArray {
    parts: Vec<ChargedResponse>,
    bytes: usize,
}

impl ChargedArray {
    /// Whether an item of this size has to be charged.
    pub(super) fn has_cost(&self, bytes: usize) -> bool {
        self.bytes + bytes > FREE_BYTES
    }

    /// Appends an item.
    pub(super) fn push(&mut self, item: ChargedResponse) {
        let separator = if self.parts.is_empty() { b"[" } else { b"," };
        self.append(separator.to_vec().into());
        self.append(item);
    }

    /// Returns the parts of the array. `None` if it is empty.
    pub(super) fn finish(mut self) -> Option<Vec<ChargedResponse>> {
        if self.parts.is_empty() {
            return None;
        }
        self.append(b"]".to_vec().into());
        Some(self.parts)
    }

    /// Appends bytes to the last part if both are small, because each part is sent by itself.
    fn append(&mut self, mut item: ChargedResponse) {
        self.bytes += item.bytes.len();
        if let Some(last) = self.parts.last_mut().filter(|last| last.bytes.len() + item.bytes.len() <= PIECE)
        {
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

struct ChargedBytes {
    bytes: Vec<u8>,
    _charge: Box<MemoryCharge>,
}

impl AsRef<[u8]> for ChargedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Responses of at least this size are moved to a smaller allocation when half of them was sent, if sending
/// takes at least this long. A copy for a fast client would cost more than the memory is worth.
const LARGE: usize = 1 << 20;
const SLOW: Duration = Duration::from_secs(1);
/// The maximum size of the pieces in which a large response is sent.
pub(super) const PIECE: usize = 256 << 10;

/// The rest of a response that is being sent, in pieces. The memory of what was sent is freed along the way.
#[derive(Debug)]
pub(super) struct Unsent {
    rest: Bytes,
    /// The size of the allocation that `rest` is a part of, and a charge of no bytes for the same caller. `None` if it
    /// is shared, or not charged.
    allocation: Option<(usize, Box<MemoryCharge>)>,
    began: Instant,
}

impl From<ChargedResponse> for Unsent {
    fn from(response: ChargedResponse) -> Self {
        let allocation = match &response.charge {
            Some(charge) if response.bytes.len() >= LARGE => {
                Some((response.bytes.capacity(), Box::new(charge.begin_another())))
            }
            _ => None,
        };
        Self { rest: response.into_bytes(), allocation, began: Instant::now() }
    }
}

impl From<Bytes> for Unsent {
    /// Bytes that others may hold too.
    fn from(rest: Bytes) -> Self {
        Self { rest, allocation: None, began: Instant::now() }
    }
}

impl Unsent {
    pub(super) fn len(&self) -> usize {
        self.rest.len()
    }

    /// Takes the next piece of at most `max` bytes; empty at the end.
    pub(super) fn next_piece(&mut self, max: usize) -> Bytes {
        self.free_sent_half();
        self.rest.split_to(self.rest.len().min(max))
    }

    /// Moves the rest to an allocation of its own if that frees half of the memory. The copies of a response
    /// are together no larger than the response. The old allocation is charged until its last piece was sent;
    /// if both do not fit into the budget, the old one stays.
    fn free_sent_half(&mut self) {
        let Some((size, empty_charge)) = &mut self.allocation else { return };
        let bytes = self.rest.len();
        let is_worth_it = *size >= LARGE && bytes <= *size / 2 && self.began.elapsed() >= SLOW;
        let mut charge = Box::new(empty_charge.begin_another());
        if !is_worth_it || charge.grow_again(bytes as u64).is_err() {
            return;
        }
        *size = bytes;
        self.rest = Bytes::from_owner(ChargedBytes { bytes: self.rest.to_vec(), _charge: charge });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_model::name::Teams;

    #[test]
    fn a_member_of_two_teams_is_charged_to_the_one_with_room() {
        let waiting = WaitingBytes::new(&MemoryBudget::new(1_000), 100);
        waiting.set_team_count(2);
        let teams = ["a", "c"].map(|team| larder_model::name::TeamName::parse(team).unwrap());
        let caller = Caller { subject: None, issuer: None, teams: Teams::of(teams).unwrap(), scopes: vec![] };
        let first = waiting.charge(&caller, 50).unwrap();
        let second = waiting.charge(&caller, 25).unwrap();
        assert_eq!(waiting.charge(&caller, 1).unwrap_err(), Refused::Full);
        assert_eq!(waiting.charge(&caller, 51).unwrap_err(), Refused::AboveLimit(50));
        let kept = waiting.charge_kept(&caller, 200).unwrap();
        assert_eq!((waiting.total(), waiting.whole.used()), (75, 275));
        drop((first, second, kept));
        assert_eq!((waiting.total(), waiting.whole.used()), (0, 0));
    }

    #[test]
    fn bytes_are_released_as_they_are_sent() {
        let waiting = WaitingBytes::new(&MemoryBudget::new(32 << 20), 16 << 20);
        let caller = Caller { subject: None, issuer: None, teams: Teams::default_team(), scopes: vec![] };
        let whole: Vec<u8> = (0..8 << 20).map(|n: u32| n as u8).collect();
        let charge = Some(Box::new(waiting.charge(&caller, whole.len()).unwrap()));
        let mut unsent = Unsent::from(ChargedResponse { charge, ..whole.clone().into() });
        unsent.began = Instant::now().checked_sub(SLOW).unwrap();
        let mut sent = Vec::new();
        while unsent.len() > 0 {
            let (total, unsent_bytes) = (waiting.total() as usize, unsent.len());
            assert!(total >= unsent_bytes, "{total} of {unsent_bytes}");
            assert!(total <= 2 * unsent_bytes + LARGE, "{total} of {unsent_bytes}");
            sent.extend_from_slice(&unsent.next_piece(PIECE));
        }
        assert!(sent == whole && unsent.next_piece(PIECE).is_empty());
        drop(unsent);
        assert_eq!(waiting.total(), 0);
    }
}
