//! The wait of one call, whatever it is for: a turn of its provider, one of its team, a slot of the house. One bound for
//! all of them, and one number.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::metrics::Tally;
use crate::patience;

/// A call that waits. How long it did is noted when this is dropped, however the wait ended.
#[derive(Debug)]
pub struct Queue {
    tally: Arc<Tally>,
    /// None as long as there was nothing to wait for.
    began: OnceLock<Instant>,
    most: Duration,
}

impl Queue {
    /// Waits from the first time on that it has to, and not longer than that in all.
    pub fn join(tally: Arc<Tally>, most: Duration) -> Self {
        Self { tally, began: OnceLock::new(), most }
    }

    /// How long it may wait yet, from now on: whoever asks for it waits by himself.
    pub fn left(&self) -> Duration {
        self.most.saturating_sub(self.began.get_or_init(Instant::now).elapsed())
    }

    /// Waits for this. None if it did not come in time; what is there already always is.
    pub async fn wait<T>(&self, what: impl Future<Output = T>) -> Option<T> {
        patience::until(|| *self.began.get_or_init(Instant::now) + self.most, what).await
    }

    fn waited(&self) -> Duration {
        self.began.get().map_or(Duration::ZERO, Instant::elapsed)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.tally.waits.note(self.waited());
    }
}
