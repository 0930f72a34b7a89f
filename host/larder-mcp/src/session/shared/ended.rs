//! Sessions that ended. If a replica stores a copy of such a session again, the copy must not be continued.

use std::collections::{HashSet, VecDeque};
use std::time::Instant;

use crate::session::store::SessionKey;

/// Maximum number of recorded sessions, which use some megabytes.
const MAX: usize = 100_000;

/// Sessions that ended, oldest first.
#[derive(Debug, Default)]
pub(super) struct EndedSessions {
    times: VecDeque<(Instant, SessionKey)>,
    keys: HashSet<SessionKey>,
}

impl EndedSessions {
    pub(super) fn insert(&mut self, key: SessionKey, now: Instant) {
        if self.keys.insert(key) {
            self.times.push_back((now, key));
        }
        if self.times.len() > MAX {
            self.forget_oldest();
        }
    }

    pub(super) fn contains(&self, key: SessionKey) -> bool {
        self.keys.contains(&key)
    }

    /// Removes the records of sessions that ended before this time.
    pub(super) fn forget_before(&mut self, time: Instant) {
        while self.times.front().is_some_and(|(ended, _)| *ended < time) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((_, key)) = self.times.pop_front() {
            self.keys.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_oldest_are_forgotten() {
        let mut ended = EndedSessions::default();
        let begin = Instant::now();
        let key = |n: usize| SessionKey::of(&n.to_string());
        for n in 0..=MAX {
            ended.insert(key(n), begin + Duration::from_millis(n as u64));
            ended.insert(key(n), begin);
        }
        assert!(!ended.contains(key(0)) && ended.contains(key(1)) && ended.contains(key(MAX)));
        ended.forget_before(begin + Duration::from_millis(MAX as u64));
        assert_eq!(
            (
                ended.keys.len(),
                ended.times.len(),
                ended.contains(key(MAX))
            ),
            (1, 1, true)
        );
    }
}
