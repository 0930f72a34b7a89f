//! What a team has used of its quota, now. Whoever works for a team takes from it first.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Bucket, Quota};

/// Requests of one team that may be under way, for each call that it may make at the same time: the others wait.
/// More are refused at once, so that those who wait for one team never take the places of all.
const WAITING: usize = 4;

/// What one team has used. Cheap where nothing was used up: an atomic or two a request, and no lock.
#[derive(Debug)]
pub struct Ration {
    quota: Quota,
    requests: Bucket,
    bytes: Bucket,
    cpu: Bucket,
    memory: AtomicU64,
    under_way: Arc<Semaphore>,
    calls: Arc<Semaphore>,
    watchers: Arc<Semaphore>,
    refusals: AtomicU64,
}

/// What a team has no more of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the team has used up its {what} for now; try again in {} ms", retry.as_millis())]
pub struct UsedUp {
    /// Of which there is no more: a word of ours.
    pub what: &'static str,
    /// When it is worth another try.
    pub retry: Duration,
}

/// How long time on processors is owed at most: many guests of a team can use up much of it before they notice.
const CPU_DEBT: Duration = Duration::from_secs(600);

/// Where nobody can say when there will be some again.
const SOON: Duration = Duration::from_secs(1);

/// Memory that a guest of the team has. It is free again when this is dropped.
#[derive(Debug)]
pub struct Memory {
    ration: Arc<Ration>,
    bytes: u64,
}

impl Memory {
    /// None yet.
    pub fn none(ration: Arc<Ration>) -> Self {
        Self { ration, bytes: 0 }
    }

    /// Takes more. Says whether there was enough.
    pub fn grow(&mut self, bytes: u64) -> bool {
        let most = self.ration.quota.memory;
        let more = |used: u64| used.checked_add(bytes).filter(|used| *used <= most);
        let fits = self.ration.memory.fetch_update(Relaxed, Relaxed, more).is_ok();
        if fits {
            self.bytes += bytes;
        }
        fits
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.ration.memory.fetch_sub(self.bytes, Relaxed);
    }
}

impl Ration {
    /// Nothing is used yet.
    pub fn new(quota: Quota) -> Self {
        let calls = quota.calls as usize;
        Self {
            requests: Bucket::new(quota.requests.into()),
            bytes: Bucket::new(quota.bytes),
            cpu: Bucket::new(u64::try_from(quota.cpu.as_nanos()).unwrap_or(u64::MAX))
                .with_longest_debt(CPU_DEBT),
            memory: AtomicU64::new(0),
            under_way: Arc::new(Semaphore::new(calls.saturating_mul(WAITING).min(Semaphore::MAX_PERMITS))),
            calls: Arc::new(Semaphore::new(calls)),
            watchers: Arc::new(Semaphore::new(quota.watchers as usize)),
            refusals: AtomicU64::new(0),
            quota,
        }
    }

    /// What it may use.
    pub fn quota(&self) -> &Quota {
        &self.quota
    }

    /// How often something was refused.
    pub fn refusals(&self) -> u64 {
        self.refusals.load(Relaxed)
    }

    /// Something was refused, and nobody else let it in.
    pub fn refused(&self) {
        self.refusals.fetch_add(1, Relaxed);
    }

    /// Lets a request in, or says at once why not: before anything of it is looked at.
    pub fn request(&self) -> Result<(), UsedUp> {
        self.affords_bytes()?;
        self.requests.take(1).map_err(|retry| UsedUp { what: "requests", retry })
    }

    /// A place for a request that is known, for as long as somebody works for it.
    pub fn place(&self) -> Result<OwnedSemaphorePermit, UsedUp> {
        let full = |_| UsedUp { what: "places for requests", retry: SOON };
        self.under_way.clone().try_acquire_owned().map_err(full)
    }

    /// Lets somebody listen, or says why not.
    pub fn listener(&self) -> Result<OwnedSemaphorePermit, UsedUp> {
        let full = |_| UsedUp { what: "places for those who listen", retry: SOON };
        self.watchers.clone().try_acquire_owned().map_err(full)
    }

    /// Whether its providers may give more.
    pub fn affords_bytes(&self) -> Result<(), UsedUp> {
        self.bytes.empty_for().map_or(Ok(()), |retry| Err(UsedUp { what: "bytes of answers", retry }))
    }

    /// One of its providers gave that many bytes.
    pub fn gave(&self, bytes: u64) {
        self.bytes.charge(bytes);
    }

    /// Waits until the team may make one more call and has time on a processor left, but not longer than `most`.
    pub async fn turn(&self, most: Duration) -> Result<OwnedSemaphorePermit, UsedUp> {
        let late = UsedUp { what: "calls", retry: SOON };
        let turn = async {
            let turn = self.calls.clone().acquire_owned().await.map_err(|_| late)?;
            while let Some(wait) = self.cpu.empty_for() {
                if wait > most {
                    return Err(UsedUp { what: "time on processors", retry: wait });
                }
                tokio::time::sleep(wait).await;
            }
            Ok(turn)
        };
        tokio::time::timeout(most, turn).await.unwrap_or(Err(late)).inspect_err(|_| self.refused())
    }

    /// That much time on a processor was used.
    pub fn computed(&self, time: Duration) {
        self.cpu.charge(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// How long the team has to wait for a processor; none if it has time left.
    pub fn over_cpu(&self) -> Option<Duration> {
        self.cpu.empty_for()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ration(quota: Quota) -> Arc<Ration> {
        Arc::new(Ration::new(quota))
    }

    #[test]
    fn a_place_comes_back_with_the_answer() {
        let ration = ration(Quota { calls: 1, ..Quota::default() });
        let mut inside: Vec<_> = (0..WAITING).map(|_| ration.place().unwrap()).collect();
        assert_eq!(ration.place().unwrap_err().what, "places for requests");
        inside.pop();
        assert!(ration.place().is_ok());
    }

    #[test]
    fn requests_and_bytes_are_used_up_each_by_itself() {
        let few = ration(Quota { requests: 2, ..Quota::default() });
        let refused = (0..10).find_map(|_| few.request().err()).unwrap();
        assert_eq!(refused.what, "requests");
        assert!(refused.retry > Duration::ZERO && refused.retry < Duration::from_secs(2), "{refused}");
        let small = ration(Quota { bytes: 1_000, ..Quota::default() });
        small.gave(5_000);
        assert_eq!(small.request().unwrap_err().what, "bytes of answers");
        assert_eq!(small.affords_bytes().unwrap_err().what, "bytes of answers");
    }

    #[test]
    fn memory_is_of_all_guests_together_and_comes_back() {
        let ration = ration(Quota { memory: 100, ..Quota::default() });
        let (mut one, mut other) = (Memory::none(ration.clone()), Memory::none(ration.clone()));
        assert!(one.grow(60) && other.grow(40));
        assert!(!other.grow(1) && !other.grow(u64::MAX));
        drop(one);
        assert!(other.grow(60) && !other.grow(1));
    }

    #[tokio::test]
    async fn who_computed_too_much_waits_or_is_told() {
        let ration = ration(Quota { cpu: Duration::from_millis(100), ..Quota::default() });
        assert!(ration.turn(Duration::ZERO).await.is_ok());
        ration.computed(Duration::from_secs(1));
        let refused = ration.turn(Duration::from_millis(10)).await.unwrap_err();
        assert_eq!(refused.what, "time on processors");
        assert!(ration.over_cpu().is_some());
    }

    #[tokio::test]
    async fn so_many_calls_at_the_same_time() {
        let ration = ration(Quota { calls: 1, ..Quota::default() });
        let turn = ration.turn(Duration::from_secs(60)).await.unwrap();
        assert_eq!(ration.turn(Duration::from_millis(5)).await.unwrap_err().what, "calls");
        drop(turn);
        assert!(ration.turn(Duration::from_secs(60)).await.is_ok());
    }
}
