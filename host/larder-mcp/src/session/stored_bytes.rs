//! Limits the bytes of stored sessions, over all callers. When the limit is reached, a session of the team and caller
//! with the most bytes is no longer stored: it continues, and ends with this run of the server.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::store::{SessionKey, SessionOwner};
use larder_model::name::Teams;

/// The bytes of all stored sessions.
pub(super) struct StoredBytes {
    max: usize,
    sessions: Mutex<HashMap<SessionKey, (SessionOwner, usize)>>,
}

/// There is no room, and no caller has more bytes than this caller.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoRoom;

impl StoredBytes {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            sessions: Mutex::default(),
        }
    }

    /// Sets the size of a stored session. Returns the sessions that must be removed from the store to make room.
    pub(super) fn reserve(
        &self,
        key: SessionKey,
        owner: &SessionOwner,
        bytes: usize,
    ) -> Result<Vec<SessionKey>, NoRoom> {
        let mut sessions = self.sessions.lock();
        sessions.insert(key, (owner.clone(), bytes));
        let mut total = sessions.values().map(|(_, bytes)| bytes).sum::<usize>();
        let mut removed = vec![];
        while total > self.max {
            let sizes = Sizes::of(&sessions);
            let largest = sessions
                .iter()
                .filter(|(other, (holder, _))| **other != key && sizes.has_more(holder, owner))
                .max_by_key(|(_, (holder, bytes))| (sizes.of_owner(holder), *bytes));
            let Some((&largest, &(_, freed))) = largest else {
                sessions.remove(&key);
                return Err(NoRoom);
            };
            sessions.remove(&largest);
            total -= freed;
            removed.push(largest);
        }
        Ok(removed)
    }

    /// Frees the bytes of a session that is not stored any more.
    pub(super) fn release(&self, key: SessionKey) {
        self.sessions.lock().remove(&key);
    }
}

/// The bytes of each team and of each caller.
struct Sizes<'a> {
    teams: HashMap<&'a Teams, usize>,
    owners: HashMap<&'a SessionOwner, usize>,
}

impl<'a> Sizes<'a> {
    fn of(sessions: &'a HashMap<SessionKey, (SessionOwner, usize)>) -> Self {
        let mut sizes = Self {
            teams: HashMap::new(),
            owners: HashMap::new(),
        };
        for (owner, bytes) in sessions.values() {
            *sizes.teams.entry(&owner.teams).or_default() += bytes;
            *sizes.owners.entry(owner).or_default() += bytes;
        }
        sizes
    }

    fn of_owner(&self, owner: &SessionOwner) -> (usize, usize) {
        let teams = self.teams.get(&owner.teams).copied().unwrap_or_default();
        (teams, self.owners.get(owner).copied().unwrap_or_default())
    }

    /// Callers in the same teams are compared as callers, other callers by their teams.
    fn has_more(&self, holder: &SessionOwner, than: &SessionOwner) -> bool {
        let ((team, own), (other_team, other)) = (self.of_owner(holder), self.of_owner(than));
        if holder.teams == than.teams {
            own > other
        } else {
            team > other_team
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_model::name::TeamName;

    fn owner(name: &str) -> SessionOwner {
        let (team, subject) = name.split_once('/').unwrap();
        let teams = TeamName::parse(team).unwrap().into();
        SessionOwner {
            subject: Some(subject.into()),
            issuer: None,
            teams,
        }
    }

    /// Stores sessions (`key team/caller bytes`), and returns what happened to the last session.
    fn last(sessions: &str) -> Result<Vec<SessionKey>, NoRoom> {
        let stored = StoredBytes::new(100);
        let mut result = Ok(vec![]);
        for session in sessions.split(", ") {
            let [key, name, bytes] = session.split(' ').collect::<Vec<_>>().try_into().unwrap();
            result = stored.reserve(SessionKey::of(key), &owner(name), bytes.parse().unwrap());
        }
        result
    }

    #[test]
    fn the_largest_holder_gives_way() {
        let removed = |key: &str| Ok(vec![SessionKey::of(key)]);
        assert_eq!(last("1 x/ann 60, 2 x/bob 40"), Ok(vec![]));
        assert_eq!(last("1 x/ann 60, 2 x/ann 40, 3 x/bob 20"), removed("1"));
        assert_eq!(last("1 x/ann 60, 2 x/bob 30, 3 x/bob 40"), Err(NoRoom));
        assert_eq!(last("1 x/ann 60, 2 x/bob 40, 3 y/cid 20"), removed("1"));
        assert_eq!(last("1 x/ann 60, 2 y/bob 30, 3 y/cid 20"), removed("1"));
        assert_eq!(
            last("1 x/ann 60, 1 x/ann 101"),
            Err(NoRoom),
            "larger than all room"
        );
        assert_eq!(
            last("1 x/ann 60, 1 x/ann 90, 2 x/bob 10"),
            Ok(vec![]),
            "a size is replaced"
        );
    }
}
