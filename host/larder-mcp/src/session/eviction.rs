//! Session eviction policy. When the table is full, a caller that opens many sessions evicts its own sessions, and
//! cannot lock out callers that have fewer. So no limit per caller is necessary: a single caller may use the whole
//! table.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::{EarlierSession, Session, SessionKey, Table};
use larder_model::name::Teams;
use larder_model::resource::Caller;

/// The session to evict.
pub(super) enum Victim {
    /// The id of an open session.
    Open(String),
    /// A session of an earlier run of the server.
    Stored(SessionKey),
}

/// A session that could be evicted.
struct Candidate<'a> {
    caller: &'a Caller,
    is_in_use: bool,
    last_used: Instant,
    key: CandidateKey<'a>,
}

enum CandidateKey<'a> {
    Open(&'a str),
    Stored(SessionKey),
}

/// Number of sessions by set of teams and by caller.
pub(super) struct SessionCounts {
    teams: HashMap<Teams, usize>,
    callers: HashMap<CallerKey, usize>,
}

/// Identifies a caller independently of the credential that the caller used.
type CallerKey = (Option<String>, Option<Arc<str>>, Teams);

fn caller_key(caller: &Caller) -> CallerKey {
    (
        caller.subject.clone(),
        caller.issuer.clone(),
        caller.teams.clone(),
    )
}

fn candidates<W>(table: &Table<W>) -> impl Iterator<Item = Candidate<'_>> {
    let open = table.open.values();
    let stored = table.stored.iter();
    open.map(|session| Candidate::open(session))
        .chain(stored.map(|(key, session)| Candidate::stored(*key, session)))
}

impl<'a> Candidate<'a> {
    fn open<W>(session: &'a Session<W>) -> Self {
        Self {
            caller: &session.caller,
            is_in_use: session.is_in_use(),
            last_used: session.usage().last_used,
            key: CandidateKey::Open(&session.id),
        }
    }

    fn stored(key: SessionKey, session: &'a EarlierSession) -> Self {
        Self {
            caller: &session.caller,
            is_in_use: false,
            last_used: session.last_used,
            key: CandidateKey::Stored(key),
        }
    }
}

impl From<CandidateKey<'_>> for Victim {
    fn from(key: CandidateKey<'_>) -> Self {
        match key {
            CandidateKey::Open(id) => Self::Open(id.to_owned()),
            CandidateKey::Stored(key) => Self::Stored(key),
        }
    }
}

impl SessionCounts {
    pub(super) fn new<W>(table: &Table<W>) -> Self {
        let mut counts = Self {
            teams: HashMap::new(),
            callers: HashMap::new(),
        };
        for session in candidates(table) {
            *counts
                .teams
                .entry(session.caller.teams.clone())
                .or_default() += 1;
            *counts
                .callers
                .entry(caller_key(session.caller))
                .or_default() += 1;
        }
        counts
    }

    /// Returns the session to evict so that this caller can open one. It is the caller's own least recently used
    /// session, or a session of a caller that has more sessions. A session in use is evicted only if its caller then
    /// still has at least as many sessions.
    pub(super) fn candidate<W>(&self, table: &Table<W>, caller: &Caller) -> Option<Victim> {
        let own = candidates(table)
            .filter(|session| session.caller.is_same_principal(caller) && !session.is_in_use)
            .min_by_key(|session| session.last_used);
        let session = own.or_else(|| {
            let others = candidates(table).filter(|session| self.is_evictable(session, caller));
            others.max_by_key(|session| {
                let oldest_first = std::cmp::Reverse(session.last_used);
                (
                    self.session_counts(session.caller),
                    !session.is_in_use,
                    oldest_first,
                )
            })
        });
        session.map(|session| session.key.into())
    }

    fn is_evictable(&self, session: &Candidate<'_>, caller: &Caller) -> bool {
        let min_difference = if session.is_in_use { 2 } else { 1 };
        let (team_sessions, own_sessions) = self.session_counts(caller);
        let (other_team_sessions, other_sessions) = self.session_counts(session.caller);
        // Callers in the same teams are compared as callers, other callers by their teams.
        if session.caller.teams == caller.teams {
            other_sessions >= own_sessions + min_difference
        } else {
            other_team_sessions >= team_sessions + min_difference
        }
    }

    /// The numbers of sessions of the caller's teams and of the caller.
    fn session_counts(&self, caller: &Caller) -> (usize, usize) {
        let teams = self.teams.get(&caller.teams).copied().unwrap_or_default();
        (
            teams,
            self.callers
                .get(&caller_key(caller))
                .copied()
                .unwrap_or_default(),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::Sessions;
    use super::super::tests::{client, parts};
    use super::*;
    use larder_model::name::TeamName;

    fn caller(name: &str) -> Caller {
        let (team, subject) = name.split_once('/').unwrap();
        let teams = TeamName::parse(team).unwrap().into();
        Caller {
            subject: Some(subject.into()),
            issuer: None,
            teams,
            scopes: vec![],
        }
    }

    /// Opens sessions of these callers, one per second. A caller with a `+` has an open stream. Checks which callers
    /// have a session at the end and which were rejected.
    fn check(max_sessions: usize, callers: &str, expected: &str) {
        let sessions = Sessions::new(parts(max_sessions, Duration::from_secs(3600)));
        let mut streams = Vec::new();
        let mut rejected = Vec::new();
        let began = Instant::now();
        for (n, name) in callers.split(' ').enumerate() {
            match sessions.open(client(), caller(name.trim_end_matches('+'))) {
                Ok(session) => {
                    session.usage().last_used = began + Duration::from_secs(n as u64);
                    if name.ends_with('+') {
                        streams.push(session.begin_stream());
                    }
                }
                Err(_) => rejected.push(format!("no {name}")),
            }
        }
        let table = sessions.lock();
        let subject = |session: &Arc<Session<()>>| session.caller.subject.clone().unwrap();
        let mut remaining: Vec<_> = table.open.values().map(subject).collect();
        remaining.sort();
        remaining.extend(rejected);
        assert_eq!(remaining.join(" "), expected, "{callers}");
    }

    #[test]
    fn a_caller_evicts_its_own_sessions_first() {
        check(4, "x/ann x/bob x/bob x/bob x/bob x/bob", "ann bob bob bob");
        check(4, "y/ann x/bob x/bob x/bob x/bob", "ann bob bob bob");
        check(2, "x/ann x/ann x/ann", "ann ann");
        check(2, "x/ann+ x/ann+ x/ann", "ann ann no x/ann");
    }

    #[test]
    fn evicts_sessions_of_callers_that_have_more() {
        check(4, "x/bob x/bob x/bob x/bob x/ann", "ann bob bob bob");
        check(
            4,
            "x/bob+ x/bob+ x/bob+ x/bob+ x/ann x/cid",
            "ann bob bob cid",
        );
        // A session in use is not evicted if its caller would then have fewer sessions.
        check(2, "x/bob+ x/ann+ x/cid", "ann bob no x/cid");
        check(3, "x/bob+ x/ann x/cid x/dan", "bob cid dan");
    }

    #[test]
    fn compares_teams_before_callers() {
        check(4, "x/a x/b x/c x/d y/ann y/ann y/ann", "ann b c d");
        check(3, "y/ann x/a x/b x/c x/d", "ann c d");
        check(4, "x/a+ x/b+ x/c+ x/d+ y/ann", "ann b c d");
    }
}
