//! Tests of moving calls between threads.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use super::*;
use crate::guest_config::GuestConfig;
use crate::threads::call_thread::{is_long_call_thread, move_to_long_call_thread};
use larder_runtime::metrics::process::thread_cpu_time;

fn long_calls() -> LongCalls {
    LongCalls::new(LongRunReports::default(), &Drain::new())
}

fn meter() -> Arc<CallMeter> {
    CallMeter::new(GuestConfig::without_grants())
}

fn this_thread() -> ThreadId {
    std::thread::current().id()
}

/// Uses this much CPU time.
fn compute(time: Duration) {
    let start = thread_cpu_time();
    while thread_cpu_time().saturating_sub(start) < time {
        std::hint::spin_loop();
    }
}

/// When it is dropped, sets a flag with the kind of the thread on which it is dropped.
struct OnDrop(Arc<AtomicBool>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.store(is_long_call_thread(), SeqCst);
    }
}

#[tokio::test]
async fn a_call_stays_on_its_thread_unless_it_requests_the_move() {
    let calls = long_calls();
    let meter = meter();
    let here = this_thread();
    let stays = Box::pin(async {
        tokio::task::yield_now().await;
        this_thread()
    });
    assert_eq!(calls.run(stays, &meter).await, here);
    let moves = Box::pin(async {
        let before = this_thread();
        move_to_long_call_thread().await;
        // Timers also work on these threads.
        tokio::time::sleep(Duration::from_millis(1)).await;
        (before, this_thread())
    });
    let (before, after) = calls.run(moves, &meter).await;
    assert!(before == here && after != here);
    assert_eq!(meter.config.metrics.moved_calls.get(), 1);
}

#[tokio::test]
async fn the_work_on_another_thread_is_charged() {
    const WORK: Duration = Duration::from_millis(20);
    let calls = long_calls();
    let meter = meter();
    let call = Box::pin(async {
        move_to_long_call_thread().await;
        compute(WORK);
    });
    calls.run(call, &meter).await;
    let charged = || meter.config.metrics.cpu_seconds();
    assert!(charged() >= WORK.as_secs_f64(), "{}", charged());
    struct Large;
    impl Drop for Large {
        fn drop(&mut self) {
            compute(WORK);
        }
    }
    calls.clear(meter.clone(), Large);
    let deadline = Instant::now() + Duration::from_secs(60);
    while charged() < 2.0 * WORK.as_secs_f64() {
        assert!(Instant::now() < deadline, "clearing was not charged");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_dropped_on_its_thread() {
    let calls = long_calls();
    let meter = meter();
    let dropped = Arc::new(AtomicBool::new(false));
    let guest = OnDrop(dropped.clone());
    let call = Box::pin(async move {
        let _guest = guest;
        move_to_long_call_thread().await;
        std::future::pending::<()>().await;
    });
    assert!(
        tokio::time::timeout(Duration::from_millis(10), calls.run(call, &meter))
            .await
            .is_err()
    );
    let in_time = calls.drain.finish(Duration::from_secs(60)).await;
    assert!(in_time && dropped.load(SeqCst), "shutdown waits for it");
}

#[tokio::test]
async fn a_panic_reaches_the_request_and_does_not_end_the_thread() {
    let calls = long_calls();
    let meter = meter();
    for _ in 0..3 {
        let call = Box::pin(async {
            move_to_long_call_thread().await;
            panic!("on purpose");
        });
        let result = AssertUnwindSafe(calls.run::<()>(call, &meter))
            .catch_unwind()
            .await;
        assert_eq!(result.unwrap_err().downcast_ref(), Some(&"on purpose"));
    }
    calls
        .run(Box::pin(move_to_long_call_thread()), &meter)
        .await;
}
