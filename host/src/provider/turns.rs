//! Turns of one provider: so many calls at the same time, so many that wait for theirs, and no more.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::policy::Limits;
use crate::sandbox::Queue;

/// How often it is told that callers were turned away: a line for each would cost more than turning them away.
const TELL: Duration = Duration::from_secs(1);

/// The turns of one revision of a provider.
#[derive(Debug)]
pub(super) struct Turns {
    free: Semaphore,
    waiting: Semaphore,
    turned_away: Mutex<TurnedAway>,
}

#[derive(Debug, Default)]
struct TurnedAway {
    told: Option<Instant>,
    since: u64,
}

impl Turns {
    pub(super) fn new(limits: &Limits) -> Self {
        let of = |count: u32| Semaphore::new(count as usize);
        Self { free: of(limits.calls), waiting: of(limits.waiting), turned_away: Mutex::default() }
    }

    /// Waits for a turn. None if as many wait already as may, at once; or if none came in time.
    pub(super) async fn take(&self, queue: &Queue) -> Option<SemaphorePermit<'_>> {
        // Whoever waits comes first: as long as somebody does, none is free here.
        if let Ok(turn) = self.free.try_acquire() {
            return Some(turn);
        }
        let _place = self.waiting.try_acquire().ok()?;
        queue.wait(self.free.acquire()).await?.ok()
    }

    /// One more was turned away. Says how many were since it was told the last time, when it is time to tell.
    pub(super) fn turned_away(&self) -> Option<u64> {
        let mut away = self.turned_away.lock().unwrap_or_else(PoisonError::into_inner);
        away.since += 1;
        if away.told.is_some_and(|told| told.elapsed() < TELL) {
            return None;
        }
        away.told = Some(Instant::now());
        Some(std::mem::take(&mut away.since))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::metrics::Tally;

    fn queue(most: Duration) -> Queue {
        Queue::join(Arc::new(Tally::default()), most)
    }

    #[tokio::test]
    async fn one_too_many_does_not_wait_and_a_place_comes_back() {
        let turns = Turns::new(&Limits { calls: 1, waiting: 1, ..Limits::default() });
        let (hour, now) = (queue(Duration::from_secs(3600)), queue(Duration::ZERO));
        let turn = turns.take(&hour).await.unwrap();
        let mut second = Box::pin(turns.take(&hour));
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        // Nobody else gets this far, however long he would wait.
        assert!(turns.take(&hour).await.is_none());
        drop(turn);
        drop(second.await.unwrap());
        let turn = turns.take(&hour).await.unwrap();
        assert!(turns.take(&now).await.is_none(), "it waited in vain");
        let mut third = Box::pin(turns.take(&hour));
        assert!(futures_util::poll!(third.as_mut()).is_pending(), "who waited in vain has no place any more");
        drop(third);
        drop(turn);
        assert!(turns.take(&now).await.is_some());
    }

    #[test]
    fn many_who_are_turned_away_are_told_of_together() {
        let turns = Turns::new(&Limits::default());
        assert_eq!(turns.turned_away(), Some(1));
        for _ in 0..2 {
            turns.turned_away.lock().unwrap().told = Some(Instant::now() + TELL);
            assert_eq!(turns.turned_away(), None);
        }
        turns.turned_away.lock().unwrap().told = None;
        assert_eq!(turns.turned_away(), Some(3));
    }
}
