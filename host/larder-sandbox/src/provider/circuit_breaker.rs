//! A circuit breaker: a provider whose calls all end in faults is not called for a growing time, so that its
//! callers get an error at once and no work is wasted. Its entries stay in the catalog.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

/// Number of consecutive faults that open the circuit. The faults must be about different subjects, because one broken
/// resource is no reason to reject calls for all other resources.
const FAULT_THRESHOLD: u32 = 5;
/// How long the circuit stays open the first time. The time doubles with each trial that ends in a fault.
const INITIAL_OPEN_TIME: Duration = Duration::from_secs(1);
/// Maximum time that the circuit stays open.
const MAX_OPEN_TIME: Duration = Duration::from_secs(60);

/// The circuit breaker of one revision of a provider.
#[derive(Debug, Default)]
pub(super) struct CircuitBreaker {
    /// Number of consecutive faults.
    faults: AtomicU32,
    is_open: AtomicBool,
    /// Whether all calls have the same subject, so that the subjects of faults need not differ.
    has_one_subject: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Hash of the subject of the last fault.
    last_subject: Option<u64>,
    /// Whether the consecutive faults have different subjects.
    subjects_differ: bool,
    /// The circuit is open until this time. After that, trials are allowed.
    open_until: Option<Instant>,
    /// Whether a trial call is in progress.
    is_trial_running: bool,
    /// How long the circuit was open the last time.
    last_open_time: Duration,
    /// When a trial succeeded and closed the circuit.
    closed_at: Option<Instant>,
}

/// A call that is allowed. Its result must be reported with [`Attempt::answered`] or [`Attempt::faulted`]; if the
/// attempt is dropped without a report, the call does not count.
#[derive(Debug)]
pub(super) struct Attempt<'a> {
    breaker: &'a CircuitBreaker,
    is_trial: bool,
}

/// The circuit was opened just now. The value is how long it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CircuitTrip(pub(super) Duration);

impl CircuitBreaker {
    /// Creates the circuit breaker of calls that are all about the same subject.
    pub(super) fn for_one_subject() -> Self {
        Self {
            has_one_subject: true,
            ..Self::default()
        }
    }

    /// Allows a call, or returns how long the circuit is still open. When that time is over, one trial call
    /// at a time is allowed.
    pub(super) fn attempt(&self) -> Result<Attempt<'_>, Duration> {
        // The usual case, in which the clock is not read.
        if !self.is_open.load(Relaxed) {
            return Ok(Attempt::new(self, false));
        }
        self.attempt_at(Instant::now())
    }

    /// Returns how long the circuit is still open; none if it is closed or if a trial is allowed.
    pub(super) fn circuit_open_for(&self) -> Option<Duration> {
        self.open_for_at(Instant::now())
    }

    /// The number of consecutive faults.
    pub(super) fn consecutive_faults(&self) -> u32 {
        self.faults.load(Relaxed)
    }

    fn open_for_at(&self, now: Instant) -> Option<Duration> {
        if !self.is_open.load(Relaxed) {
            return None;
        }
        // The state may be outdated: after the open time is over, the state changes only with the next call.
        self.state()
            .open_until?
            .checked_duration_since(now)
            .filter(|left| !left.is_zero())
    }

    fn attempt_at(&self, now: Instant) -> Result<Attempt<'_>, Duration> {
        if !self.is_open.load(Relaxed) {
            return Ok(Attempt::new(self, false));
        }
        let mut state = self.state();
        match state.open_until {
            None => Ok(Attempt::new(self, false)),
            Some(until) if now < until => Err(until - now),
            Some(_) if state.is_trial_running => Err(INITIAL_OPEN_TIME),
            Some(_) => {
                state.is_trial_running = true;
                Ok(Attempt::new(self, true))
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    fn close(&mut self, now: Instant) {
        self.open_until = None;
        self.last_subject = None;
        self.subjects_differ = false;
        self.closed_at = Some(now);
    }

    fn was_closed_recently(&self, now: Instant) -> bool {
        self.closed_at.is_some_and(|closed_at| {
            now.saturating_duration_since(closed_at) < self.last_open_time * 10
        })
    }
}

impl<'a> Attempt<'a> {
    fn new(breaker: &'a CircuitBreaker, is_trial: bool) -> Self {
        Self { breaker, is_trial }
    }

    /// Reports that the guest answered. An error is an answer too.
    pub(super) fn answered(self) {
        self.answered_at(Instant::now);
    }

    /// Reports a fault of a call about this subject. Returns whether the fault opened the circuit.
    pub(super) fn faulted(self, subject: &str) -> Option<CircuitTrip> {
        self.faulted_at(Instant::now(), subject)
    }

    fn answered_at(self, now: impl FnOnce() -> Instant) {
        let breaker = self.breaker;
        if breaker.faults.load(Relaxed) != 0 {
            breaker.faults.store(0, Relaxed);
        }
        // Calls that began before the circuit was opened do not close it.
        if self.is_trial {
            let mut state = breaker.state();
            state.close(now());
            breaker.is_open.store(false, Relaxed);
        }
    }

    fn faulted_at(self, now: Instant, subject: &str) -> Option<CircuitTrip> {
        let breaker = self.breaker;
        let faults = breaker.faults.fetch_add(1, Relaxed) + 1;
        let mut state = breaker.state();
        let subject = hash(subject);
        state.subjects_differ = faults > 1
            && (state.subjects_differ || state.last_subject.is_some_and(|last| last != subject));
        state.last_subject = Some(subject);
        let is_enough =
            faults >= FAULT_THRESHOLD && (breaker.has_one_subject || state.subjects_differ);
        if !self.is_trial && (state.open_until.is_some() || !is_enough) {
            return None;
        }
        // If the circuit was closed only recently, it continues with the doubled time.
        let time = if self.is_trial || state.was_closed_recently(now) {
            (state.last_open_time * 2).min(MAX_OPEN_TIME)
        } else {
            INITIAL_OPEN_TIME
        };
        state.last_open_time = time;
        state.open_until = Some(now + jittered(time));
        breaker.is_open.store(true, Relaxed);
        Some(CircuitTrip(time))
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if self.is_trial {
            self.breaker.state().is_trial_running = false;
        }
    }
}

/// Adds a random time of up to a quarter, so that providers that failed together are not tried together.
fn jittered(time: Duration) -> Duration {
    // The standard library has no other source of random numbers.
    let random = RandomState::new().hash_one(0) % 256;
    time + time / 4 * u32::try_from(random).unwrap_or(0) / 256
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

    /// Reports faults with different subjects until the circuit opens.
    fn trip(breaker: &CircuitBreaker, now: Instant) -> Option<CircuitTrip> {
        (0..100).find_map(|n| {
            breaker
                .attempt_at(now)
                .ok()?
                .faulted_at(now, &n.to_string())
        })
    }

    #[test]
    fn opens_after_consecutive_faults_only() {
        let breaker = CircuitBreaker::default();
        let now = Instant::now();
        for n in 0..50 {
            assert_eq!(
                breaker
                    .attempt_at(now)
                    .unwrap()
                    .faulted_at(now, &n.to_string()),
                None
            );
            if n % 4 == 3 {
                breaker.attempt_at(now).unwrap().answered_at(|| now);
            }
        }
        breaker.attempt_at(now).unwrap().answered_at(|| now);
        assert_eq!(trip(&breaker, now), Some(CircuitTrip(INITIAL_OPEN_TIME)));
        let wait = breaker.attempt_at(now).unwrap_err();
        assert!(
            wait >= INITIAL_OPEN_TIME && wait < INITIAL_OPEN_TIME * 5 / 4,
            "{wait:?}"
        );
    }

    #[test]
    fn one_broken_resource_does_not_open_the_circuit() {
        let breaker = CircuitBreaker::default();
        let now = Instant::now();
        for _ in 0..100 {
            assert_eq!(
                breaker.attempt_at(now).unwrap().faulted_at(now, "x:broken"),
                None
            );
        }
        assert!(
            breaker
                .attempt_at(now)
                .unwrap()
                .faulted_at(now, "x:other")
                .is_some()
        );
        let list = CircuitBreaker::for_one_subject();
        let opened = (0..5).map(|_| list.attempt_at(now).unwrap().faulted_at(now, "").is_some());
        assert_eq!(
            opened.collect::<Vec<_>>(),
            [false, false, false, false, true]
        );
    }

    #[test]
    fn allows_one_trial_at_a_time() {
        let breaker = CircuitBreaker::default();
        let now = Instant::now();
        trip(&breaker, now);
        let later = now + INITIAL_OPEN_TIME * 2;
        assert!(
            breaker
                .open_for_at(now)
                .is_some_and(|left| left >= INITIAL_OPEN_TIME)
        );
        assert_eq!(
            breaker.open_for_at(later),
            None,
            "a trial is allowed, but nobody has called"
        );
        let trial = breaker.attempt_at(later).unwrap();
        assert!(breaker.attempt_at(later).is_err());
        // The trial was cancelled, so the next call is a trial.
        drop(trial);
        breaker.attempt_at(later).unwrap().answered_at(|| later);
        assert!(breaker.attempt_at(later).is_ok() && breaker.circuit_open_for().is_none());
    }

    #[test]
    fn open_time_doubles_until_the_provider_recovers() {
        let breaker = CircuitBreaker::default();
        let mut now = Instant::now();
        let mut times = vec![trip(&breaker, now).unwrap().0.as_secs()];
        for _ in 0..7 {
            now += MAX_OPEN_TIME * 2;
            times.push(
                breaker
                    .attempt_at(now)
                    .unwrap()
                    .faulted_at(now, "x")
                    .unwrap()
                    .0
                    .as_secs(),
            );
        }
        assert_eq!(times, [1, 2, 4, 8, 16, 32, 60, 60]);
        now += MAX_OPEN_TIME * 2;
        breaker.attempt_at(now).unwrap().answered_at(|| now);
        assert_eq!(
            trip(&breaker, now + MAX_OPEN_TIME),
            Some(CircuitTrip(MAX_OPEN_TIME))
        );
        now += MAX_OPEN_TIME * 3;
        breaker.attempt_at(now).unwrap().answered_at(|| now);
        assert_eq!(
            trip(&breaker, now + MAX_OPEN_TIME * 11),
            Some(CircuitTrip(INITIAL_OPEN_TIME))
        );
    }
}
