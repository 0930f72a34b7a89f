//! How much each caller uses the server. Callers are identified by subject and issuer, never by token.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

use larder_model::name::{TeamName, Teams};
use larder_model::resource::Caller;

/// Maximum number of recorded callers. If it is exceeded, the callers with the fewest requests are removed.
const MAX_CALLERS: usize = 10_000;

/// The requests of one caller. Counting costs two atomic operations.
#[derive(Debug, Default)]
pub struct CallerVolume {
    requests: AtomicU64,
    bytes: AtomicU64,
}

impl CallerVolume {
    /// Counts a request, and the bytes of its response.
    pub fn record(&self, bytes: u64) {
        self.requests.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }
}

/// Identifies a caller. Several credentials can belong to the same caller.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    subject: Option<String>,
    issuer: Option<Arc<str>>,
    teams: Teams,
}

/// The use of one caller since the server started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeReport {
    /// The subject of the caller's credential; none if the credential has no subject.
    pub subject: Option<String>,
    /// The issuer of the caller's credential; none if this server issued it.
    pub issuer: Option<Arc<str>>,
    /// The number of requests.
    pub requests: u64,
    /// The bytes of the responses.
    pub bytes: u64,
}

/// The volumes of all callers.
#[derive(Debug, Default)]
pub struct CallerVolumes(Mutex<HashMap<Key, Arc<CallerVolume>>>);

impl CallerVolumes {
    /// Returns the counters of a caller. This is called once for each credential, because it takes a lock.
    pub fn of(&self, caller: &Caller) -> Arc<CallerVolume> {
        let key = Key::of(caller);
        let mut volumes = self.0.lock();
        make_room(&mut volumes, &key);
        volumes.entry(key).or_default().clone()
    }

    /// Returns the callers of this team with the most requests. A caller of several teams is listed in each of them,
    /// with all of its requests.
    pub fn largest(&self, team: &TeamName, max: usize) -> Vec<VolumeReport> {
        let volumes = self.0.lock();
        let of_team = volumes.iter().filter(|(key, _)| key.teams.has(team));
        let mut counts: Vec<_> = of_team
            .map(|(key, volume)| (volume.requests.load(Relaxed), key, volume))
            .collect();
        counts.sort_unstable_by(|(one, a, _), (other, b, _)| {
            other.cmp(one).then_with(|| a.subject.cmp(&b.subject))
        });
        let largest = counts
            .into_iter()
            .filter(|(requests, ..)| *requests > 0)
            .take(max);
        let report = |(requests, key, volume): (u64, &Key, &Arc<CallerVolume>)| VolumeReport {
            subject: key.subject.clone(),
            issuer: key.issuer.clone(),
            requests,
            bytes: volume.bytes.load(Relaxed),
        };
        largest.map(report).collect()
    }
}

impl Key {
    fn of(caller: &Caller) -> Self {
        Self {
            subject: caller.subject.clone(),
            issuer: caller.issuer.clone(),
            teams: caller.teams.clone(),
        }
    }
}

/// Makes room for a caller that may be new.
fn make_room(volumes: &mut HashMap<Key, Arc<CallerVolume>>, key: &Key) {
    if volumes.len() >= MAX_CALLERS && !volumes.contains_key(key) {
        forget_smallest(volumes);
    }
}

/// Removes a tenth of the callers: first the callers whose credentials are not in use.
fn forget_smallest(volumes: &mut HashMap<Key, Arc<CallerVolume>>) {
    let rank =
        |volume: &Arc<CallerVolume>| (Arc::strong_count(volume) > 1, volume.requests.load(Relaxed));
    let mut ranks: Vec<_> = volumes.values().map(rank).collect();
    let at = ranks.len() / 10;
    let limit = *ranks.select_nth_unstable(at).1;
    let mut left = at + 1;
    volumes.retain(|_, volume| {
        let goes = left > 0 && rank(volume) <= limit;
        left -= usize::from(goes);
        !goes
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(subject: &str, team: &str) -> Caller {
        let teams = TeamName::parse(team).unwrap().into();
        Caller {
            subject: Some(subject.into()),
            issuer: None,
            teams,
            scopes: vec![],
        }
    }

    #[test]
    fn knows_the_largest_callers_of_a_team() {
        let volumes = CallerVolumes::default();
        let team = TeamName::parse("a").unwrap();
        for (subject, team, requests) in [
            ("ann", "a", 3),
            ("bob", "a", 5),
            ("eve", "b", 9),
            ("none", "a", 0),
        ] {
            (0..requests).for_each(|_| volumes.of(&caller(subject, team)).record(10));
        }
        let largest = |max| -> Vec<_> {
            let largest = volumes.largest(&team, max).into_iter();
            largest
                .map(|one| (one.subject.unwrap(), one.requests, one.bytes))
                .collect()
        };
        assert_eq!(
            largest(9),
            [("bob".to_owned(), 5, 50), ("ann".to_owned(), 3, 30)]
        );
        assert_eq!(largest(1).len(), 1);
    }

    #[test]
    fn forgets_the_smallest_callers() {
        let volumes = CallerVolumes::default();
        let team = TeamName::parse("a").unwrap();
        let large = volumes.of(&caller("large", "a"));
        (0..9).for_each(|_| large.record(1));
        (0..3 * MAX_CALLERS).for_each(|n| volumes.of(&caller(&n.to_string(), "a")).record(1));
        assert!(volumes.0.lock().len() <= MAX_CALLERS);
        assert_eq!(
            volumes.largest(&team, 1)[0].subject.as_deref(),
            Some("large")
        );
    }
}
