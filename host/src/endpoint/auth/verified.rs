//! Tokens that were verified: a signature is checked once, and what it proved is remembered by the digest of the
//! token until it ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::Who;
use crate::name::Digest;

/// Tokens that are remembered.
const MOST: usize = 10_000;

/// What is remembered.
#[derive(Default)]
pub(super) struct Verified(Mutex<HashMap<Digest, Arc<Who>>>);

impl Verified {
    /// Who sent this token before, if it has not ended.
    pub(super) fn get(&self, token: Digest, now: SystemTime) -> Option<Arc<Who>> {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.get(&token).filter(|who| who.is_current(now)).cloned()
    }

    /// Remembers it. Where there is no room, what has ended goes; and if that is nothing, all of it: to verify anew
    /// costs little, and to keep an order of use would cost it every time.
    pub(super) fn put(&self, token: Digest, who: &Arc<Who>, now: SystemTime) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if table.len() >= MOST {
            table.retain(|_, who| who.is_current(now));
        }
        if table.len() >= MOST {
            table.clear();
        }
        table.insert(token, who.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Standing;
    use super::*;
    use crate::name::Teams;
    use crate::resource::Caller;

    fn who(until: SystemTime) -> Arc<Who> {
        let caller = Caller { subject: None, issuer: None, teams: Teams::sole(), scopes: vec![] };
        Arc::new(Who { caller, until: Some(until), standing: Standing::Anyone })
    }

    #[test]
    fn what_is_remembered_ends_and_has_a_bound() {
        let now = SystemTime::now();
        let (verified, hour) = (Verified::default(), Duration::from_secs(3600));
        let digest = |n: usize| Digest::of(&n.to_le_bytes());
        verified.put(digest(0), &who(now), now - hour);
        assert!(verified.get(digest(0), now - hour).is_some() && verified.get(digest(0), now).is_none());
        let lasting = who(now + hour);
        (1..MOST).for_each(|n| verified.put(digest(n), &lasting, now));
        verified.put(digest(MOST), &lasting, now);
        assert!(verified.get(digest(1), now).is_some(), "what had ended made room");
        verified.put(digest(MOST + 1), &lasting, now);
        assert!(verified.get(digest(1), now).is_none() && verified.get(digest(MOST + 1), now).is_some());
        assert!(verified.0.lock().unwrap().len() <= MOST);
    }
}
