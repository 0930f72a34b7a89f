//! The wait of one call, whatever it is for: a turn of its provider, one of its team, a slot of the house. One bound for
//! all of them, and one number.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::metrics::Tally;

/// A call that waits. How long it did is noted when this is dropped, however the wait ended.
#[derive(Debug)]
pub struct Queue {
    tally: Arc<Tally>,
    began: Instant,
    most: Duration,
}

impl Queue {
    /// Waits from now on, and not longer than that.
    pub fn join(tally: Arc<Tally>, most: Duration) -> Self {
        Self { tally, began: Instant::now(), most }
    }

    /// How long it may wait yet.
    pub fn left(&self) -> Duration {
        self.most.saturating_sub(self.began.elapsed())
    }

    /// Waits for this. None if it did not come in time; what is there already always is.
    pub async fn wait<T>(&self, what: impl Future<Output = T>) -> Option<T> {
        tokio::time::timeout(self.left(), what).await.ok()
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.tally.waits.note(self.began.elapsed());
    }
}
