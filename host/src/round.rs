//! The rounds of a thread: what it does between two looks for something new. Answers for which guests ran in one round
//! go out together at its end: who reads them on this machine is woken once for all of them, and to wake somebody
//! takes longer than all else that it takes to send a small answer.

use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;

#[derive(Debug, Clone, Copy)]
struct Round {
    /// How often a guest ran in it.
    guests: u32,
    /// One of them ran for long: nothing waits for the end of this round.
    is_long: bool,
}

const NEW: Round = Round { guests: 0, is_long: false };

thread_local! {
    static ROUND: Cell<Round> = const { Cell::new(NEW) };
}

/// This thread looks for something new.
pub fn begin() {
    ROUND.set(NEW);
}

/// A guest ran on this thread, perhaps for long.
pub fn ran(long: bool) {
    let Round { guests, is_long } = ROUND.get();
    ROUND.set(Round { guests: guests.saturating_add(1), is_long: is_long || long });
}

/// Lets what else there is to do in this round come first, if guests run in it, and none of them for long.
pub async fn end() {
    let mut is_last = false;
    poll_fn(|waker| {
        let Round { guests, is_long } = ROUND.get();
        if is_last || is_long || guests < 2 {
            return Poll::Ready(());
        }
        is_last = true;
        waker.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
