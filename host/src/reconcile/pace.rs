//! When to look next: soon after something woke us, and otherwise at the pace that the operator wants.

use std::time::{Duration, Instant};

/// Events come in flocks; this is how long a look waits for the rest of one.
const FLOCK: Duration = Duration::from_millis(20);

pub(super) struct Pace {
    poll: Duration,
    next: Instant,
    /// The last look saw nothing.
    blind: bool,
}

impl Pace {
    pub(super) fn new(poll: Duration) -> Self {
        Self { poll, next: Instant::now(), blind: false }
    }

    /// Something may have changed.
    pub(super) fn wake(&mut self) {
        self.in_at_most(FLOCK);
    }

    /// A look begins. What wakes from now on may be of after this look.
    pub(super) fn begin(&mut self) {
        self.next = Instant::now() + self.poll;
    }

    /// A look is over. Says when to look again, where something is not at rest yet.
    pub(super) fn end(&mut self, saw: bool, again: Option<Duration>) {
        self.blind = !saw;
        self.in_at_most(again.unwrap_or(self.poll));
    }

    /// When to look, if what failed is to be tried again after this time. It cannot be tried without a look that sees
    /// something, so where there was none it would only make one look follow the other.
    pub(super) fn due(&self, retry: Duration) -> Instant {
        if self.blind { self.next } else { self.next.min(Instant::now() + retry) }
    }

    fn in_at_most(&mut self, time: Duration) {
        self.next = self.next.min(Instant::now() + time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_sees_nothing_does_not_look_again_at_once() {
        let poll = Duration::from_secs(60);
        let mut pace = Pace::new(poll);
        let is_soon = |pace: &Pace| pace.due(Duration::ZERO) < Instant::now() + poll / 2;
        pace.begin();
        pace.end(true, None);
        assert!(is_soon(&pace), "what failed is tried again when it is time");
        pace.begin();
        pace.end(false, None);
        assert!(!is_soon(&pace));
        pace.wake();
        assert!(is_soon(&pace), "events count nevertheless");
    }
}
