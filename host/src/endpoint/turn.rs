//! The requests of one connection, and the silence between them. One clock for each connection, which is not
//! wound up for each request.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker, ready};
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

/// How long there was no whole head of a request, in ticks: a look at a clock for each request costs more than it
/// matters when exactly a silence began. It may last one tick longer than it should.
pub(super) struct Silence {
    tick: Duration,
    turns: Turns,
    /// As many turns were begun when it was looked the last time.
    seen: u64,
    ticks: u32,
    /// Wound up once, and again only when it has run down; and whom it wakes then.
    clock: Option<(Pin<Box<Sleep>>, Waker)>,
}

/// Ticks of the longest silence.
const TICKS: u32 = 4;

impl Silence {
    pub(super) fn new(turns: Turns, most: Duration) -> Self {
        Self { tick: most / TICKS, turns, seen: 0, ticks: 0, clock: None }
    }

    /// Whether it is kept for an answer that is under way.
    pub(super) fn is_kept(&self) -> bool {
        self.turns.0.under_way.load(Ordering::Relaxed) > 0
    }

    /// With each turn it begins anew.
    fn look(&mut self) {
        let begun = self.turns.0.begun.load(Ordering::Relaxed);
        if std::mem::replace(&mut self.seen, begun) != begun {
            self.ticks = 0;
        }
    }

    /// Ready when it has lasted too long.
    pub(super) fn is_too_long(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.look();
        let waker = context.waker();
        if self.clock.as_ref().is_some_and(|(clock, known)| !clock.is_elapsed() && known.will_wake(waker)) {
            return Poll::Pending;
        }
        let tick = self.tick;
        let (clock, known) =
            self.clock.get_or_insert_with(|| (Box::pin(tokio::time::sleep(tick)), waker.clone()));
        known.clone_from(waker);
        loop {
            ready!(clock.as_mut().poll(context));
            self.ticks += 1;
            // Of the first one nobody knows how much was silence.
            if self.ticks > TICKS {
                return Poll::Ready(());
            }
            clock.as_mut().reset(Instant::now() + tick);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_turn_begins_the_silence_anew() {
        let turns = Turns::default();
        let mut silence = Silence::new(turns.clone(), Duration::from_secs(30));
        silence.ticks = TICKS;
        silence.look();
        assert_eq!(silence.ticks, TICKS, "nothing was asked");
        drop(turns.begin());
        silence.look();
        assert_eq!(silence.ticks, 0);
        let turn = turns.begin();
        assert!(silence.is_kept());
        drop(turn);
        assert!(!silence.is_kept());
    }
}
