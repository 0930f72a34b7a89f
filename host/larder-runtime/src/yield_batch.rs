//! Batches responses on one runtime thread. A batch is all work that the thread does between two parks. Responses of
//! the same batch are sent together at the end of the batch, so that a client on the same machine is woken once for all
//! of them. Waking a client takes longer than all other work for a small response.

use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;

#[derive(Debug, Clone, Copy)]
struct Batch {
    /// The number of responses in this batch.
    responses: u32,
    /// Whether a guest ran for a long time in this batch. Then responses are not delayed to the end of the batch.
    is_long: bool,
}

const EMPTY: Batch = Batch {
    responses: 0,
    is_long: false,
};

thread_local! {
    static BATCH: Cell<Batch> = const { Cell::new(EMPTY) };
}

/// Starts a new batch on this thread. Called when the runtime parks the thread.
pub fn start() {
    BATCH.set(EMPTY);
}

/// Records that a guest ran for a long time on this thread.
pub fn guest_ran_long() {
    let batch = BATCH.get();
    BATCH.set(Batch {
        is_long: true,
        ..batch
    });
}

/// Delays a response until the other tasks of this thread that are ready have run, so that it is sent with theirs. The
/// first response of a batch is not delayed, and no response is delayed after a guest ran for long.
pub async fn delay_response() {
    let Batch { responses, is_long } = BATCH.get();
    BATCH.set(Batch {
        responses: responses.saturating_add(1),
        is_long,
    });
    if responses > 0 && !is_long {
        yield_once().await;
    }
}

async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn delays_all_responses_of_a_batch_but_the_first() {
        start();
        assert!(delay_response().now_or_never().is_some());
        assert!(delay_response().now_or_never().is_none());
        start();
        assert!(delay_response().now_or_never().is_some());
    }

    #[test]
    fn delays_nothing_after_a_guest_that_ran_long() {
        start();
        assert!(delay_response().now_or_never().is_some());
        guest_ran_long();
        assert!(delay_response().now_or_never().is_some());
    }
}
