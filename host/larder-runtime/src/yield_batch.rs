//! Batches responses on one runtime thread. A batch is all work that the thread does between two parks. Responses of
//! guests that ran in the same batch are sent together at the end of the batch, so that a client on the same machine is
//! woken once for all of them. Waking a client takes longer than all other work for a small response.

use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;

#[derive(Debug, Clone, Copy)]
struct Batch {
    /// The number of times that a guest ran in this batch.
    guests: u32,
    /// Whether a guest ran for a long time in this batch. Then responses are not delayed to the end of the batch.
    is_long: bool,
}

const EMPTY: Batch = Batch {
    guests: 0,
    is_long: false,
};

thread_local! {
    static BATCH: Cell<Batch> = const { Cell::new(EMPTY) };
}

/// Starts a new batch on this thread. Called when the runtime parks the thread.
pub fn start() {
    BATCH.set(EMPTY);
}

/// Records that a guest ran on this thread, and whether it ran for a long time.
pub fn guest_ran(long: bool) {
    let Batch { guests, is_long } = BATCH.get();
    BATCH.set(Batch {
        guests: guests.saturating_add(1),
        is_long: is_long || long,
    });
}

/// Yields once to the other tasks of this thread if at least two guests ran in this batch, and none of them
/// for long.
pub async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|context| {
        let Batch { guests, is_long } = BATCH.get();
        if has_yielded || is_long || guests < 2 {
            return Poll::Ready(());
        }
        has_yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
