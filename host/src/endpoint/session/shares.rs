//! Who has how many sessions, and whose makes room in a full table: whoever opens one after another ends his own, and
//! keeps nobody out who has fewer. No number has to be chosen for that: who is alone has the whole table.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Session, Table};
use crate::name::Teams;
use crate::resource::Caller;

/// How many sessions there are, of all who are in the same teams and of each caller.
pub(super) struct Shares {
    teams: HashMap<Teams, usize>,
    callers: HashMap<Holder, usize>,
}

/// A caller, whatever his credential.
type Holder = (Option<String>, Option<Arc<str>>, Teams);

fn holder(caller: &Caller) -> Holder {
    (caller.subject.clone(), caller.issuer.clone(), caller.teams.clone())
}

impl Shares {
    pub(super) fn of<W>(table: &Table<W>) -> Self {
        let mut shares = Self { teams: HashMap::new(), callers: HashMap::new() };
        for session in table.values() {
            *shares.teams.entry(session.caller.teams.clone()).or_default() += 1;
            *shares.callers.entry(holder(&session.caller)).or_default() += 1;
        }
        shares
    }

    /// The session that ends so that this caller can have one: his own that was unused for longest, or one of somebody
    /// who has more. One in use ends only where whose it is still has more afterwards.
    pub(super) fn spare<W>(&self, table: &Table<W>, caller: &Caller) -> Option<String> {
        let own = table.values().filter(|session| session.caller.is_same(caller) && !session.is_used());
        let own = own.min_by_key(|session| session.usage().seen);
        let found = own.or_else(|| {
            let others = table.values().filter(|session| self.gives_way(session, caller));
            others.max_by_key(|session| {
                let unused = std::cmp::Reverse(session.usage().seen);
                (self.weight(&session.caller), !session.is_used(), unused)
            })
        });
        found.map(|session| session.id.clone())
    }

    fn gives_way<W>(&self, session: &Session<W>, caller: &Caller) -> bool {
        let least = if session.is_used() { 2 } else { 1 };
        let (teams, own) = self.weight(caller);
        let (their_teams, theirs) = self.weight(&session.caller);
        // Among those of the same teams the callers are compared, and else the teams.
        match session.caller.teams == caller.teams {
            true => theirs >= own + least,
            false => their_teams >= teams + least,
        }
    }

    /// Of the teams, then of the caller.
    fn weight(&self, caller: &Caller) -> (usize, usize) {
        let teams = self.teams.get(&caller.teams).copied().unwrap_or_default();
        (teams, self.callers.get(&holder(caller)).copied().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::Sessions;
    use super::*;
    use crate::endpoint::era::Legacy;
    use crate::name::TeamName;

    fn caller(who: &str) -> Caller {
        let (team, subject) = who.split_once('/').unwrap();
        let teams = TeamName::parse(team).unwrap().into();
        Caller { subject: Some(subject.into()), issuer: None, teams, scopes: vec![] }
    }

    /// Opens sessions of these callers, one a second; where a `+` follows, with a stream. Says who has one in the end
    /// and who was refused.
    fn check(most: usize, callers: &str, expected: &str) {
        let sessions = Sessions::new(most, Duration::from_secs(3600));
        let mut streams = Vec::new();
        let mut refused = Vec::new();
        let began = Instant::now();
        for (n, who) in callers.split(' ').enumerate() {
            match sessions.open(Legacy::negotiate("2025-11-25"), caller(who.trim_end_matches('+')), ()) {
                Ok(session) => {
                    session.usage().seen = began + Duration::from_secs(n as u64);
                    if who.ends_with('+') {
                        streams.push(session.begin_stream());
                    }
                }
                Err(_) => refused.push(format!("no {who}")),
            }
        }
        let table = sessions.lock();
        let subject = |session: &Arc<Session<()>>| session.caller.subject.clone().unwrap();
        let mut left: Vec<_> = table.values().map(subject).collect();
        left.sort();
        left.extend(refused);
        assert_eq!(left.join(" "), expected, "{callers}");
    }

    #[test]
    fn who_opens_one_after_another_ends_his_own() {
        check(4, "x/ann x/bob x/bob x/bob x/bob x/bob", "ann bob bob bob");
        check(4, "y/ann x/bob x/bob x/bob x/bob", "ann bob bob bob");
        check(2, "x/ann x/ann x/ann", "ann ann");
        check(2, "x/ann+ x/ann+ x/ann", "ann ann no x/ann");
    }

    #[test]
    fn who_has_fewer_is_let_in_by_who_has_more() {
        check(4, "x/bob x/bob x/bob x/bob x/ann", "ann bob bob bob");
        check(4, "x/bob+ x/bob+ x/bob+ x/bob+ x/ann x/cid", "ann bob bob cid");
        // Not until they have the same: one in use is not ended for that.
        check(2, "x/bob+ x/ann+ x/cid", "ann bob no x/cid");
        check(3, "x/bob+ x/ann x/cid x/dan", "bob cid dan");
    }

    #[test]
    fn many_of_one_team_are_one_team() {
        check(4, "x/a x/b x/c x/d y/ann y/ann y/ann", "ann b c d");
        check(3, "y/ann x/a x/b x/c x/d", "ann c d");
        check(4, "x/a+ x/b+ x/c+ x/d+ y/ann", "ann b c d");
    }
}
