//! The clock that counts the time of guests: a thread that tells the engine when they have run for another tick.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use wasmtime::Engine;

/// How often the engine's clock ticks while guests run of which one took longer than that lately.
pub(super) const TICK: Duration = Duration::from_millis(1);
/// How often it ticks while none did: each tick takes the processor from who has it, and nobody needs it.
const CALM: Duration = Duration::from_millis(5);
/// How long a guest that ran for long is remembered.
const HURRY: Duration = Duration::from_millis(100);
/// Time without a guest before the clock stops: to wake its thread for each call would take longer than many a call.
const LINGER: Duration = Duration::from_millis(50);

/// Ticks the engine's clock while guests run, and sleeps when none has for a while.
pub(super) struct Ticker {
    known: Arc<Known>,
    thread: std::thread::Thread,
}

/// What the clock knows of the guests.
#[derive(Default)]
struct Known {
    running: AtomicUsize,
    /// Whether one ran for longer than a tick since the last one.
    ran_long: AtomicBool,
}

impl Ticker {
    pub(super) fn start(engine: &Engine) -> std::io::Result<Self> {
        let known = Arc::<Known>::default();
        let (engine, seen) = (engine.weak(), known.clone());
        let handle = std::thread::Builder::new().name("larder-ticker".into()).spawn(move || {
            let mut rhythm = Rhythm::default();
            while let Some(engine) = engine.upgrade() {
                engine.increment_epoch();
                drop(engine);
                let ran_long = seen.ran_long.swap(false, Ordering::Relaxed);
                match rhythm.next(seen.running.load(Ordering::SeqCst) > 0, ran_long) {
                    Some(pause) => std::thread::sleep(pause),
                    None => std::thread::park(),
                }
            }
        })?;
        Ok(Self { known, thread: handle.thread().clone() })
    }

    /// Keeps the clock ticking until the guard is dropped.
    pub(super) fn run(&self) -> Running {
        if self.known.running.fetch_add(1, Ordering::SeqCst) == 0 {
            self.thread.unpark();
        }
        Running(self.known.clone())
    }

    /// A guest ran for longer than a tick: from now on others get their turn sooner.
    pub(super) fn hurry(&self) {
        self.known.ran_long.store(true, Ordering::Relaxed);
    }
}

/// How long the clock waits for its next tick.
#[derive(Default)]
struct Rhythm {
    /// Time without a guest.
    silent: Duration,
    /// What is left of the time in which one is remembered that ran for long.
    hurry: Duration,
}

impl Rhythm {
    /// None until a guest runs again.
    fn next(&mut self, is_running: bool, ran_long: bool) -> Option<Duration> {
        if ran_long {
            self.hurry = HURRY;
        }
        let pause = if self.hurry.is_zero() { CALM } else { TICK };
        self.hurry = self.hurry.saturating_sub(pause);
        self.silent = if is_running { Duration::ZERO } else { self.silent + pause };
        if self.silent > LINGER {
            self.silent = Duration::ZERO;
            return None;
        }
        Some(pause)
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        // A parked thread would never notice that its engine is gone.
        self.thread.unpark();
    }
}

/// While one of these exists the clock ticks.
pub(super) struct Running(Arc<Known>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_hurries_for_a_while_after_a_guest_that_ran_for_long() {
        let mut rhythm = Rhythm::default();
        assert_eq!(rhythm.next(true, false), Some(CALM));
        assert_eq!(rhythm.next(true, true), Some(TICK));
        let mut hurried = TICK;
        while rhythm.next(true, false) == Some(TICK) {
            hurried += TICK;
        }
        assert_eq!(hurried, HURRY);
        assert_eq!(rhythm.next(true, false), Some(CALM));
        // Each one that runs for long begins it anew.
        assert_eq!([true, true, false].map(|ran_long| rhythm.next(true, ran_long)), [Some(TICK); 3]);
    }

    #[test]
    fn it_stops_when_no_guest_has_run_for_a_while_and_goes_on_with_the_next() {
        let mut rhythm = Rhythm::default();
        let mut silent = Duration::ZERO;
        while let Some(pause) = rhythm.next(false, false) {
            silent += pause;
        }
        assert_eq!(silent, LINGER);
        // A guest in between lets it go on for as long again.
        assert_eq!(rhythm.next(true, false), Some(CALM));
        assert!((0..LINGER.as_millis() / CALM.as_millis()).all(|_| rhythm.next(false, false).is_some()));
        assert_eq!(rhythm.next(false, false), None);
    }
}
