//! The sessions of the web page: random ids in the memory of the server. A restart ends all of them.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use parking_lot::{Mutex, MutexGuard};

use crate::operator::{Credential, PageSession};
use larder_model::name::Digest;

/// Maximum number of sessions.
const MAX_SESSIONS: usize = 1_000;
/// How long a session lasts.
pub(crate) const LIFETIME: Duration = Duration::from_secs(8 * 3600);
/// Random bytes in an id.
const ID_BYTES: usize = 32;

/// All sessions, by the digest of their id. The data in the memory of the server cannot be used to open a session.
#[derive(Default)]
pub(super) struct Sessions(Mutex<SessionTable>);

type SessionTable = HashMap<Digest, (PageSession, Credential)>;

/// The secrets of a new session. Only its client has them.
pub(crate) struct NewSession {
    pub(crate) id: String,
    pub(crate) csrf: String,
    pub(crate) session: PageSession,
}

impl Sessions {
    /// Opens a session for the owner of a credential. The credential may expire at this time.
    pub(super) fn open(
        &self,
        credential: Credential,
        limit: Option<SystemTime>,
    ) -> Result<NewSession, getrandom::Error> {
        let id = random_text()?;
        let csrf = random_text()?;
        let now = SystemTime::now();
        let expires = limit.map_or(now + LIFETIME, |limit| limit.min(now + LIFETIME));
        let session = PageSession {
            id: digest(&id),
            csrf: digest(&csrf),
            expires,
        };
        let mut table = self.table();
        make_room(&mut table, now);
        table.insert(session.id, (session.clone(), credential));
        Ok(NewSession { id, csrf, session })
    }

    /// Returns the session with this id, and its credential.
    pub(super) fn find(&self, id: &str, now: SystemTime) -> Option<(PageSession, Credential)> {
        self.table()
            .get(&digest(id))
            .filter(|(session, _)| now < session.expires)
            .cloned()
    }

    /// Whether the session is still open.
    pub(super) fn is_open(&self, session: &PageSession) -> bool {
        self.table().contains_key(&session.id)
    }

    /// Ends a session.
    pub(super) fn close(&self, session: &PageSession) {
        self.table().remove(&session.id);
    }

    fn table(&self) -> MutexGuard<'_, SessionTable> {
        self.0.lock()
    }
}

fn make_room(table: &mut SessionTable, now: SystemTime) {
    if table.len() >= MAX_SESSIONS {
        table.retain(|_, (session, _)| now < session.expires);
    }
    if table.len() >= MAX_SESSIONS {
        remove_first(table);
    }
}

/// Removes the session that ends first.
fn remove_first(table: &mut SessionTable) {
    let sessions = table.values().map(|(session, _)| session);
    let first = sessions.min_by_key(|session| session.expires);
    if let Some(id) = first.map(|session| session.id) {
        table.remove(&id);
    }
}

fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

fn random_text() -> Result<String, getrandom::Error> {
    let mut bytes = [0; ID_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_expire_and_are_limited() {
        let sessions = Sessions::default();
        let now = SystemTime::now();
        let limit = now + Duration::from_secs(60);
        let short = sessions.open(Credential::Token, Some(limit)).unwrap();
        assert!(
            sessions.find(&short.id, now).is_some() && sessions.find(&short.csrf, now).is_none()
        );
        assert!(
            sessions.find(&short.id, limit).is_none(),
            "a session does not outlive its credential"
        );
        let long = sessions.open(Credential::Token, None).unwrap();
        assert_ne!((&short.id, &short.csrf), (&long.id, &long.csrf));
        assert!(sessions.find(&long.id, limit).is_some());
        assert!(
            sessions
                .find(&long.id, now + LIFETIME + Duration::from_secs(60))
                .is_none()
        );
        sessions.close(&long.session);
        assert!(sessions.find(&long.id, now).is_none() && !sessions.is_open(&long.session));
        for _ in 0..MAX_SESSIONS + 10 {
            sessions.open(Credential::Token, None).unwrap();
        }
        assert_eq!(sessions.table().len(), MAX_SESSIONS);
        assert!(
            sessions.find(&short.id, now).is_none(),
            "the one that expires first makes room"
        );
    }
}
