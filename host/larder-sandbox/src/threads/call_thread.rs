//! Where a call is polled: on the thread that received it, or on one of the threads for long calls. The code of a call
//! can request the move to such a thread at any depth. The call moves when it yields.

use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

use larder_runtime::metrics::process::thread_cpu_time;

/// Bytes by which the memory of a guest may grow before its call is moved. Fewer bytes can be touched and cleared in
/// less than a millisecond.
pub(crate) const MAX_GROWTH: u64 = 4 << 20;
/// Like [`MAX_GROWTH`], while the guest is instantiated. The limit is larger because an interpreter starts with more
/// memory, and uses only a part of it.
pub(crate) const MAX_INITIAL: u64 = 16 << 20;
/// Bytes of instances of libraries that are created before the move. Each import is looked up by its name, so creating
/// them takes half a millisecond. The instances of Python's libraries have 0.6 MB.
pub(crate) const MAX_UNMOVED_LIBRARIES: u64 = 1 << 20;

#[derive(Debug, Clone, Copy)]
enum CallThread {
    /// No call is polled on this thread.
    None,
    /// A call is polled on the thread that received it.
    Receiver {
        since: Instant,
        sample: CpuSample,
        is_move_requested: bool,
    },
    /// This is a thread for long calls.
    LongCalls,
}

/// The maximum age of a sample that is used again. Reading the CPU clock of a thread is a system call, so samples are
/// used again.
const MAX_SAMPLE_AGE: Duration = Duration::from_millis(1);

/// The CPU time of this thread at one moment.
#[derive(Debug, Clone, Copy)]
struct CpuSample {
    at: Instant,
    cpu_time: Duration,
}

thread_local! {
    static CALL_THREAD: Cell<CallThread> = const { Cell::new(CallThread::None) };
    static LAST_SAMPLE: Cell<Option<CpuSample>> = const { Cell::new(None) };
}

impl CpuSample {
    /// Returns a sample that is at most [`MAX_SAMPLE_AGE`] older than `now`.
    fn before(now: Instant) -> Self {
        let last = LAST_SAMPLE.get();
        if let Some(last) =
            last.filter(|last| now.saturating_duration_since(last.at) <= MAX_SAMPLE_AGE)
        {
            return last;
        }
        let sample = Self {
            at: now,
            cpu_time: thread_cpu_time(),
        };
        LAST_SAMPLE.set(Some(sample));
        sample
    }

    /// Returns a lower bound of the CPU time that this thread has used since `later`.
    fn used_since(self, later: Instant) -> Duration {
        let used = thread_cpu_time().saturating_sub(self.cpu_time);
        used.saturating_sub(later.saturating_duration_since(self.at))
    }
}

/// Marks this thread as a thread for long calls until it ends.
pub(super) fn become_long_call_thread() {
    CALL_THREAD.set(CallThread::LongCalls);
}

/// Whether this is a thread for long calls.
pub(crate) fn is_long_call_thread() -> bool {
    matches!(CALL_THREAD.get(), CallThread::LongCalls)
}

/// Polls a call on the thread that received it. Also returns whether the call requested the move.
pub(super) fn poll_on_receiver<T>(since: Instant, poll: impl FnOnce() -> T) -> (T, bool) {
    let sample = CpuSample::before(since);
    let before = CALL_THREAD.replace(CallThread::Receiver {
        since,
        sample,
        is_move_requested: false,
    });
    let polled = poll();
    let after = CALL_THREAD.replace(before);
    (
        polled,
        matches!(
            after,
            CallThread::Receiver {
                is_move_requested: true,
                ..
            }
        ),
    )
}

/// Requests the move of the call that is being polled. Returns false if the call cannot be moved from here.
fn request_move() -> bool {
    let CallThread::Receiver { since, sample, .. } = CALL_THREAD.get() else {
        return false;
    };
    CALL_THREAD.set(CallThread::Receiver {
        since,
        sample,
        is_move_requested: true,
    });
    true
}

/// Requests the move if the call has used this much CPU time of the thread that received it. The call moves when it
/// yields. A short call whose thread was preempted stays: on a thread of low priority it would wait for long calls.
pub(crate) fn request_move_after(limit: Duration) {
    if let CallThread::Receiver { since, sample, .. } = CALL_THREAD.get()
        && since.elapsed() >= limit
        && sample.used_since(since) >= limit
    {
        request_move();
    }
}

/// Yields once for the move, if the call can be moved from here.
pub(crate) async fn move_to_long_call_thread() {
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
pub(crate) struct UnmovedGrowth(u64);

impl UnmovedGrowth {
    /// For the instantiation of a guest.
    pub(crate) fn at_instantiation() -> Self {
        Self(MAX_INITIAL)
    }

    /// The growth that a call may have.
    pub(crate) fn in_call() -> Self {
        Self(MAX_GROWTH)
    }

    /// Counts growth. Returns whether the call has to be moved first.
    pub(crate) fn is_exceeded_by(&mut self, bytes: u64) -> bool {
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
        assert!(
            !is_moved(|| ()),
            "an earlier request has no effect on another call"
        );
        assert!(is_moved(|| request_move_after(Duration::ZERO)));
        assert!(!is_moved(|| request_move_after(Duration::from_secs(3_600))));
        assert!(!request_move());
    }

    #[test]
    fn moves_after_cpu_time_and_not_after_a_pause_of_the_thread() {
        const LIMIT: Duration = Duration::from_millis(5);
        let compute = |time: Duration| {
            let start = thread_cpu_time();
            while thread_cpu_time().saturating_sub(start) < time {
                std::hint::spin_loop();
            }
        };
        assert!(!is_moved(|| {
            std::thread::sleep(4 * LIMIT);
            request_move_after(LIMIT);
        }));
        assert!(is_moved(|| {
            compute(LIMIT + 2 * MAX_SAMPLE_AGE);
            request_move_after(LIMIT);
        }));
        // The CPU time that the thread used before is not counted.
        compute(2 * LIMIT);
        assert!(!is_moved(|| {
            std::thread::sleep(LIMIT);
            request_move_after(LIMIT);
        }));
    }

    #[test]
    fn yields_once_for_the_move() {
        let mut context = Context::from_waker(Waker::noop());
        let mut moves = pin!(move_to_long_call_thread());
        let (polled, is_moved) = poll_on_receiver(Instant::now(), || {
            moves.as_mut().poll(&mut context).is_ready()
        });
        assert!(!polled && is_moved);
        assert!(moves.as_mut().poll(&mut context).is_ready());
        assert!(
            pin!(move_to_long_call_thread())
                .poll(&mut context)
                .is_ready(),
            "there is nothing to move"
        );
    }

    #[test]
    fn small_growth_does_not_move() {
        let mut growth = UnmovedGrowth::in_call();
        assert!(!growth.is_exceeded_by(MAX_GROWTH / 2) && !growth.is_exceeded_by(MAX_GROWTH / 2));
        assert!(growth.is_exceeded_by(1) && growth.is_exceeded_by(1));
        assert!(UnmovedGrowth::in_call().is_exceeded_by(100 << 20));
    }
}
