//! A provider that only faults is left alone for a growing while, so that those who ask it are told at once and
//! nobody works for nothing. What it offers stays listed.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Faults one after the other, without a single answer between them, until a provider is set aside. And they must
/// have been about different things: one page that is broken is no reason to withhold all the others.
const FAULTS: u32 = 5;
/// For how long at first. Each time it doubles.
const FIRST: Duration = Duration::from_secs(1);
/// But never longer.
const LONGEST: Duration = Duration::from_secs(60);

/// Watches over one revision of a provider.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    /// In a row.
    faults: AtomicU32,
    is_open: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What the last fault was about, and whether those in a row were about different things.
    about: Option<u64>,
    differ: bool,
    /// Set aside until then.
    until: Option<Instant>,
    /// Somebody tries whether it is well again.
    is_tried: bool,
    /// For how long it was set aside the last time.
    last: Duration,
    /// When it was well again after that.
    well: Option<Instant>,
}

/// One call that was let through. What came of it must be said; if its future is dropped, nothing came of it.
#[derive(Debug)]
pub(super) struct Attempt<'a> {
    breaker: &'a Breaker,
    is_trial: bool,
}

/// It was set aside just now, for so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SetAside(pub(super) Duration);

impl Breaker {
    /// Lets a call through, or says how long the provider is set aside. When the time is over one call at a time
    /// is let through, to try.
    pub(super) fn attempt(&self) -> Result<Attempt<'_>, Duration> {
        // Nearly always; and then no clock is looked at.
        if !self.is_open.load(Relaxed) {
            return Ok(Attempt { breaker: self, is_trial: false });
        }
        self.attempt_at(Instant::now())
    }

    /// How long the provider is set aside yet; none if it is not.
    pub(super) fn set_aside(&self) -> Option<Duration> {
        self.set_aside_at(Instant::now())
    }

    fn set_aside_at(&self, now: Instant) -> Option<Duration> {
        if !self.is_open.load(Relaxed) {
            return None;
        }
        // When the time is over, it is not set aside but tried, and nobody may have asked since.
        self.state().until?.checked_duration_since(now).filter(|left| !left.is_zero())
    }

    fn attempt_at(&self, now: Instant) -> Result<Attempt<'_>, Duration> {
        if !self.is_open.load(Relaxed) {
            return Ok(Attempt { breaker: self, is_trial: false });
        }
        let mut state = self.state();
        match state.until {
            None => Ok(Attempt { breaker: self, is_trial: false }),
            Some(until) if now < until => Err(until - now),
            Some(_) if state.is_tried => Err(FIRST),
            Some(_) => {
                state.is_tried = true;
                Ok(Attempt { breaker: self, is_trial: true })
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attempt<'_> {
    /// It answered, even if the answer was that it could not.
    pub(super) fn answered(self) {
        self.answered_at(Instant::now);
    }

    /// It faulted, over this. Says if that was once too often.
    pub(super) fn faulted(self, about: &str) -> Option<SetAside> {
        self.faulted_at(Instant::now(), about)
    }

    fn answered_at(self, now: impl FnOnce() -> Instant) {
        let breaker = self.breaker;
        if breaker.faults.load(Relaxed) != 0 {
            breaker.faults.store(0, Relaxed);
        }
        // Calls that began before it was set aside say nothing about how it is now.
        if self.is_trial {
            let mut state = breaker.state();
            (state.until, state.about, state.differ, state.well) = (None, None, false, Some(now()));
            breaker.is_open.store(false, Relaxed);
        }
    }

    fn faulted_at(self, now: Instant, about: &str) -> Option<SetAside> {
        let breaker = self.breaker;
        let faults = breaker.faults.fetch_add(1, Relaxed) + 1;
        let mut state = breaker.state();
        let about = hash(about);
        state.differ = faults > 1 && (state.differ || state.about.is_some_and(|last| last != about));
        state.about = Some(about);
        let is_enough = faults >= FAULTS && state.differ;
        if !self.is_trial && (state.until.is_some() || !is_enough) {
            return None;
        }
        // Soon after it was well again it is as if it had never been.
        let relapsed = self.is_trial
            || state.well.is_some_and(|well| now.saturating_duration_since(well) < state.last * 10);
        let time = if relapsed { (state.last * 2).min(LONGEST) } else { FIRST };
        state.last = time;
        state.until = Some(now + jittered(time));
        breaker.is_open.store(true, Relaxed);
        Some(SetAside(time))
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if self.is_trial {
            self.breaker.state().is_tried = false;
        }
    }
}

/// Up to a quarter longer, so that many that broke together are not tried together.
fn jittered(time: Duration) -> Duration {
    // The standard library's only source of chance.
    let chance = RandomState::new().hash_one(0) % 256;
    time + time / 4 * u32::try_from(chance).unwrap_or(0) / 256
}

fn hash(text: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Faults over different things until it is set aside.
    fn trip(breaker: &Breaker, now: Instant) -> Option<SetAside> {
        (0..100).find_map(|n| breaker.attempt_at(now).ok()?.faulted_at(now, &n.to_string()))
    }

    #[test]
    fn faults_in_a_row_set_it_aside_and_an_answer_between_them_does_not() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        for n in 0..50 {
            assert_eq!(breaker.attempt_at(now).unwrap().faulted_at(now, &n.to_string()), None);
            if n % 4 == 3 {
                breaker.attempt_at(now).unwrap().answered_at(|| now);
            }
        }
        breaker.attempt_at(now).unwrap().answered_at(|| now);
        assert_eq!(trip(&breaker, now), Some(SetAside(FIRST)));
        let wait = breaker.attempt_at(now).unwrap_err();
        assert!(wait >= FIRST && wait < FIRST * 5 / 4, "{wait:?}");
    }

    #[test]
    fn one_broken_page_does_not_withhold_the_others() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        for _ in 0..100 {
            assert_eq!(breaker.attempt_at(now).unwrap().faulted_at(now, "x:broken"), None);
        }
        assert!(breaker.attempt_at(now).unwrap().faulted_at(now, "x:other").is_some());
    }

    #[test]
    fn one_tries_and_the_others_wait() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        trip(&breaker, now);
        let later = now + FIRST * 2;
        assert!(breaker.set_aside_at(now).is_some_and(|left| left >= FIRST));
        assert_eq!(breaker.set_aside_at(later), None, "it may be tried, and nobody has");
        let trial = breaker.attempt_at(later).unwrap();
        assert!(breaker.attempt_at(later).is_err());
        // Who tried went away: the next may.
        drop(trial);
        breaker.attempt_at(later).unwrap().answered_at(|| later);
        assert!(breaker.attempt_at(later).is_ok() && breaker.set_aside().is_none());
    }

    #[test]
    fn it_grows_until_it_is_well_for_long() {
        let (breaker, mut now) = (Breaker::default(), Instant::now());
        let mut times = vec![trip(&breaker, now).unwrap().0.as_secs()];
        for _ in 0..7 {
            now += LONGEST * 2;
            times.push(breaker.attempt_at(now).unwrap().faulted_at(now, "x").unwrap().0.as_secs());
        }
        assert_eq!(times, [1, 2, 4, 8, 16, 32, 60, 60]);
        now += LONGEST * 2;
        breaker.attempt_at(now).unwrap().answered_at(|| now);
        assert_eq!(trip(&breaker, now + LONGEST), Some(SetAside(LONGEST)));
        now += LONGEST * 3;
        breaker.attempt_at(now).unwrap().answered_at(|| now);
        assert_eq!(trip(&breaker, now + LONGEST * 11), Some(SetAside(FIRST)));
    }
}
