//! The budget for large responses that wait for their clients. A response is charged from when it is complete
//! until it was sent, whether in one piece, in a stream or in a batch. One team can use at most half of what the
//! others leave free, so slow readers of one team cannot starve another.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::rpc_error::RpcError;
use bytes::Bytes;
use larder_model::name::TeamName;
use larder_model::resource::Caller;

/// Responses up to this size are not charged: there is at most one for each connection.
pub(super) const FREE_BYTES: usize = 64 << 10;

/// The bytes of large responses that wait.
#[derive(Debug)]
pub(super) struct WaitingBytes {
    limit: usize,
    has_several_teams: bool,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    total: usize,
    by_team: BTreeMap<TeamName, usize>,
}

/// Why bytes were not charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// Other responses wait.
    Full,
    /// They are more than this limit, so they are refused even if no other response waits.
    AboveLimit(usize),
}

impl WaitingBytes {
    pub(super) fn new(limit: usize, teams: usize) -> Self {
        Self { limit, has_several_teams: teams > 1, held: Mutex::default() }
    }

    /// The bytes that wait now.
    pub(super) fn total(&self) -> usize {
        self.lock().total
    }

    /// Charges bytes to the first team of the caller that has room for them.
    pub(super) fn charge(self: &Arc<Self>, caller: &Caller, bytes: usize) -> Result<Charge, Refused> {
        let most = if self.has_several_teams { self.limit / 2 } else { self.limit };
        if bytes > most {
            return Err(Refused::AboveLimit(most));
        }
        let team = caller.teams.iter().find(|team| self.add(team, bytes)).ok_or(Refused::Full)?;
        Ok(Charge { account: Account { waiting: self.clone(), team: team.clone() }, bytes })
    }

    /// Adds bytes to those of a team. Returns false if there is no room for them.
    fn add(&self, team: &TeamName, bytes: usize) -> bool {
        let mut held = self.lock();
        let own = held.by_team.get(team).copied().unwrap_or_default();
        let left_by_others = self.limit.saturating_sub(held.total - own);
        let most = if self.has_several_teams { left_by_others / 2 } else { left_by_others };
        if own + bytes > most {
            return false;
        }
        held.total += bytes;
        *held.by_team.entry(team.clone()).or_default() += bytes;
        true
    }

    fn remove(&self, team: &TeamName, bytes: usize) {
        let mut held = self.lock();
        held.total -= bytes;
        if let Some(own) = held.by_team.get_mut(team) {
            *own -= bytes;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The team that bytes are charged to.
#[derive(Debug, Clone)]
struct Account {
    waiting: Arc<WaitingBytes>,
    team: TeamName,
}

/// Bytes that are charged until this is dropped.
#[derive(Debug)]
pub(super) struct Charge {
    account: Account,
    bytes: usize,
}

impl Charge {
    /// Adds another charge, if both are for the same team.
    fn merge(&mut self, mut other: Self) -> Result<(), Self> {
        if self.account.team != other.account.team {
            return Err(other);
        }
        self.bytes += std::mem::take(&mut other.bytes);
        Ok(())
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.waiting.remove(&self.account.team, self.bytes);
    }
}

/// A response with the charge for it. It is not charged if it is small.
#[derive(Debug)]
pub(super) struct ChargedResponse {
    pub(super) bytes: Vec<u8>,
    pub(super) charge: Option<Charge>,
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
                (Some(charge), Some(more)) => charge.merge(more),
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
    _charge: Charge,
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
/// The size of the pieces in which a large response is sent.
const PIECE: usize = 256 << 10;

/// The rest of a response that is being sent, in pieces. The memory of what was sent is freed along the way.
#[derive(Debug)]
pub(super) struct Unsent {
    rest: Bytes,
    /// The size of the allocation that `rest` is a part of, and who pays for it. `None` if it is shared, or
    /// not charged.
    allocation: Option<(usize, Account)>,
    began: Instant,
}

impl From<ChargedResponse> for Unsent {
    fn from(response: ChargedResponse) -> Self {
        let allocation = response.charge.as_ref().map(|charge| (charge.bytes, charge.account.clone()));
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

    /// Takes the next piece; empty at the end.
    pub(super) fn next_piece(&mut self) -> Bytes {
        self.free_sent_half();
        self.rest.split_to(self.rest.len().min(PIECE))
    }

    /// Moves the rest to an allocation of its own if that frees half of the memory. The copies of a response
    /// are together no larger than the response. The old allocation is charged until its last piece was sent;
    /// if both do not fit into the budget, the old one stays.
    fn free_sent_half(&mut self) {
        let Some((size, account)) = &mut self.allocation else { return };
        let bytes = self.rest.len();
        let is_worth_it = *size >= LARGE && bytes <= *size / 2 && self.began.elapsed() >= SLOW;
        if !is_worth_it || !account.waiting.add(&account.team, bytes) {
            return;
        }
        *size = bytes;
        let charge = Charge { account: account.clone(), bytes };
        self.rest = Bytes::from_owner(ChargedBytes { bytes: self.rest.to_vec(), _charge: charge });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_model::name::Teams;

    fn caller(teams: &str) -> Caller {
        let teams = Teams::of(teams.split(' ').map(|team| TeamName::parse(team).unwrap())).unwrap();
        Caller { subject: None, issuer: None, teams, scopes: vec![] }
    }

    fn waiting(limit: usize, teams: usize) -> Arc<WaitingBytes> {
        Arc::new(WaitingBytes::new(limit, teams))
    }

    #[test]
    fn a_team_gets_half_of_what_the_others_leave() {
        let waiting = waiting(100, 3);
        let first = waiting.charge(&caller("a"), 50).unwrap();
        assert_eq!(waiting.charge(&caller("a"), 1).unwrap_err(), Refused::Full);
        let second = waiting.charge(&caller("b"), 25).unwrap();
        assert_eq!(waiting.charge(&caller("b"), 1).unwrap_err(), Refused::Full);
        // A member of two teams is charged to the one with room.
        let both = waiting.charge(&caller("a c"), 12).unwrap();
        assert_eq!((waiting.total(), waiting.lock().by_team[&TeamName::parse("c").unwrap()]), (87, 12));
        assert_eq!(waiting.charge(&caller("a"), 51).unwrap_err(), Refused::AboveLimit(50));
        drop((first, second, both));
        assert_eq!(waiting.total(), 0);
    }

    #[test]
    fn the_only_team_gets_everything() {
        let waiting = waiting(100, 1);
        let all = waiting.charge(&caller("a"), 100).unwrap();
        assert_eq!(waiting.charge(&caller("a"), 1).unwrap_err(), Refused::Full);
        drop(all);
        assert_eq!(waiting.charge(&caller("a"), 101).unwrap_err(), Refused::AboveLimit(100));
    }

    #[test]
    fn bytes_are_released_as_they_are_sent() {
        let waiting = waiting(16 << 20, 1);
        let whole: Vec<u8> = (0..8 << 20).map(|n: u32| n as u8).collect();
        let charge = Some(waiting.charge(&caller("a"), whole.len()).unwrap());
        let mut unsent = Unsent::from(ChargedResponse { charge, ..whole.clone().into() });
        unsent.began = Instant::now().checked_sub(SLOW).unwrap();
        let mut sent = Vec::new();
        while unsent.len() > 0 {
            assert!(waiting.total() >= unsent.len(), "{} of {}", waiting.total(), unsent.len());
            assert!(waiting.total() <= 2 * unsent.len() + LARGE, "{} of {}", waiting.total(), unsent.len());
            sent.extend_from_slice(&unsent.next_piece());
        }
        assert!(sent == whole && unsent.next_piece().is_empty());
        drop(unsent);
        assert_eq!(waiting.total(), 0);
    }
}
