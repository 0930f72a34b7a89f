//! Where a call is polled: on the thread that received it, or on one of the threads for long calls. Code deep inside of
//! a call requests the move to such a thread here, and the move happens when the call yields.

use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

/// Bytes by which the memory of a guest may grow before its call is moved. Fewer bytes are touched and cleared in less
/// than a millisecond.
pub(super) const MAX_GROWTH: u64 = 4 << 20;
/// The same while the guest is instantiated. It is more because an interpreter begins with more memory, of which it
/// uses a part.
pub(super) const MAX_INITIAL: u64 = 16 << 20;
/// Bytes of instances of libraries that are created before the move. Each import is looked up by its name, so creating them
/// takes half a millisecond. In Python, they have 0.6 MB.
pub(super) const MAX_UNMOVED_LIBRARIES: u64 = 1 << 20;

#[derive(Debug, Clone, Copy)]
enum Place {
    /// No call is polled on this thread.
    None,
    /// A call is polled on the thread that received it.
    Receiver { since: Instant, is_move_requested: bool },
    /// This is a thread for long calls.
    LongCallThread,
}

thread_local! {
    static PLACE: Cell<Place> = const { Cell::new(Place::None) };
}

/// Declares that this is a thread for long calls, until it ends.
pub(super) fn become_long_call_thread() {
    PLACE.set(Place::LongCallThread);
}

/// Whether this is a thread for long calls.
pub(super) fn is_long_call_thread() -> bool {
    matches!(PLACE.get(), Place::LongCallThread)
}

/// Polls a call on the thread that received it. Returns also whether the call requested the move.
pub(super) fn poll_on_receiver<T>(since: Instant, poll: impl FnOnce() -> T) -> (T, bool) {
    let before = PLACE.replace(Place::Receiver { since, is_move_requested: false });
    let polled = poll();
    let after = PLACE.replace(before);
    (polled, matches!(after, Place::Receiver { is_move_requested: true, .. }))
}

/// Requests the move of the call that is being polled. Returns false if it cannot be moved from here.
fn request_move() -> bool {
    let Place::Receiver { since, .. } = PLACE.get() else { return false };
    PLACE.set(Place::Receiver { since, is_move_requested: true });
    true
}

/// Requests the move if the call keeps the thread that received it for at least so long. It moves when it yields.
pub(super) fn request_move_after(limit: Duration) {
    if let Place::Receiver { since, .. } = PLACE.get()
        && since.elapsed() >= limit
    {
        request_move();
    }
}

/// Yields once for the move, if the call can be moved from here.
pub(super) async fn move_to_long_call_thread() {
    let mut is_requested = false;
    poll_fn(|context| {
        if is_requested || !request_move() {
            return Poll::Ready(());
        }
        is_requested = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Memory by which a guest may still grow before its call is moved.
pub(super) struct UnmovedGrowth(u64);

impl UnmovedGrowth {
    /// For the instantiation of a guest.
    pub(super) fn at_instantiation() -> Self {
        Self(MAX_INITIAL)
    }

    /// For a call.
    pub(super) fn in_call() -> Self {
        Self(MAX_GROWTH)
    }

    /// Counts growth. Returns whether the call has to be moved first.
    pub(super) fn is_exceeded_by(&mut self, bytes: u64) -> bool {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or_default();
        left.is_none()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    fn is_moved(request: impl FnOnce()) -> bool {
        poll_on_receiver(Instant::now(), request).1
    }

    #[test]
    fn moves_on_request_and_only_from_the_thread_that_received_the_call() {
        assert!(!is_moved(|| ()));
        assert!(is_moved(|| assert!(request_move())));
        assert!(!is_moved(|| ()), "an earlier request has no effect on another call");
        assert!(is_moved(|| request_move_after(Duration::ZERO)));
        assert!(!is_moved(|| request_move_after(Duration::from_secs(3_600))));
        assert!(!request_move());
    }

    #[test]
    fn yields_once_for_the_move() {
        let mut context = Context::from_waker(Waker::noop());
        let mut moves = pin!(move_to_long_call_thread());
        let (polled, is_moved) =
            poll_on_receiver(Instant::now(), || moves.as_mut().poll(&mut context).is_ready());
        assert!(!polled && is_moved);
        assert!(moves.as_mut().poll(&mut context).is_ready());
        assert!(pin!(move_to_long_call_thread()).poll(&mut context).is_ready(), "there is nothing to move");
    }

    #[test]
    fn small_growth_does_not_move() {
        let mut growth = UnmovedGrowth::in_call();
        assert!(!growth.is_exceeded_by(MAX_GROWTH / 2) && !growth.is_exceeded_by(MAX_GROWTH / 2));
        assert!(growth.is_exceeded_by(1) && growth.is_exceeded_by(1));
        assert!(UnmovedGrowth::in_call().is_exceeded_by(100 << 20));
    }
}
