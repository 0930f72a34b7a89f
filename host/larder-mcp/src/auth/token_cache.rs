//! A cache of verified tokens, by the digest of the token. Each signature is verified once; an entry is valid
//! until the token expires.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;

use super::Identity;
use larder_model::name::Digest;

/// Maximum number of entries.
const MAX_ENTRIES: usize = 10_000;

/// The cache.
#[derive(Default)]
pub(super) struct TokenCache(Mutex<HashMap<Digest, Arc<Identity>>>);

impl TokenCache {
    /// Returns the identity of a verified token, if the token has not expired.
    pub(super) fn get(&self, token: Digest, now: SystemTime) -> Option<Arc<Identity>> {
        let table = self.0.lock();
        table
            .get(&token)
            .filter(|identity| identity.is_current(now))
            .cloned()
    }

    /// Adds a token. If the cache is full, expired entries are removed; if none is expired, all entries are removed. To
    /// verify a token again is cheap, and to track the order of use would cost time for every request.
    pub(super) fn insert(&self, token: Digest, identity: &Arc<Identity>, now: SystemTime) {
        let mut table = self.0.lock();
        if table.len() >= MAX_ENTRIES {
            table.retain(|_, identity| identity.is_current(now));
        }
        if table.len() >= MAX_ENTRIES {
            table.clear();
        }
        table.insert(token, identity.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::CredentialSource;
    use super::*;
    use larder_model::name::Teams;
    use larder_model::resource::Caller;

    fn identity(expires: SystemTime) -> Arc<Identity> {
        let caller = Caller {
            subject: None,
            issuer: None,
            teams: Teams::default_team(),
            scopes: vec![],
        };
        Arc::new(Identity {
            caller,
            token: None,
            expires: Some(expires),
            source: CredentialSource::Anonymous,
            volume: Default::default(),
        })
    }

    #[test]
    fn entries_expire_and_are_limited() {
        let now = SystemTime::now();
        let cache = TokenCache::default();
        let hour = Duration::from_secs(3600);
        let digest = |n: usize| Digest::of(&n.to_le_bytes());
        cache.insert(digest(0), &identity(now), now - hour);
        assert!(cache.get(digest(0), now - hour).is_some() && cache.get(digest(0), now).is_none());
        let lasting = identity(now + hour);
        (1..MAX_ENTRIES).for_each(|n| cache.insert(digest(n), &lasting, now));
        cache.insert(digest(MAX_ENTRIES), &lasting, now);
        assert!(
            cache.get(digest(1), now).is_some(),
            "only the expired entry was removed"
        );
        cache.insert(digest(MAX_ENTRIES + 1), &lasting, now);
        assert!(
            cache.get(digest(1), now).is_none()
                && cache.get(digest(MAX_ENTRIES + 1), now).is_some()
        );
        assert!(cache.0.lock().len() <= MAX_ENTRIES);
    }
}
