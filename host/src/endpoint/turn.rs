//! The requests of one connection, and the silence between them. One clock for each connection, which is not
//! wound up for each request.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context as Waker, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// The requests of one connection. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Turns(Arc<Counts>);

#[derive(Default)]
struct Counts {
    begun: AtomicU64,
    under_way: AtomicU64,
}

impl Turns {
    /// One more.
    pub(super) fn begin(&self) -> Turn {
        self.0.begun.fetch_add(1, Ordering::Relaxed);
        self.0.under_way.fetch_add(1, Ordering::Relaxed);
        Turn(self.clone())
    }
}

/// One request, until the last of its answer is handed out.
pub(super) struct Turn(Turns);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How long there was no whole head of a request.
pub(super) struct Silence {
    most: Duration,
    turns: Turns,
    /// As many turns were begun when it was looked the last time.
    seen: u64,
    /// None while a request is under way.
    since: Option<Instant>,
    /// Wound up once, and again only when it has run down.
    clock: Option<Pin<Box<Sleep>>>,
}

impl Silence {
    pub(super) fn new(turns: Turns, most: Duration) -> Self {
        Self { most, turns, seen: 0, since: None, clock: None }
    }

    /// Whether it is kept for an answer that is under way.
    pub(super) fn is_kept(&self) -> bool {
        self.turns.0.under_way.load(Ordering::Relaxed) > 0
    }

    /// Ready when it has lasted too long.
    pub(super) fn is_too_long(&mut self, waker: &mut Waker<'_>) -> Poll<()> {
        let begun = self.turns.0.begun.load(Ordering::Relaxed);
        if std::mem::replace(&mut self.seen, begun) != begun {
            self.since = None;
        }
        let until = *self.since.get_or_insert_with(Instant::now) + self.most;
        let clock = self.clock.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        loop {
            ready!(clock.as_mut().poll(waker));
            if until <= Instant::now() {
                return Poll::Ready(());
            }
            clock.as_mut().reset(until);
        }
    }
}
