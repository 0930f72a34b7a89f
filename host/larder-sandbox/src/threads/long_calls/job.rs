//! A call on the threads for long calls. It is polled for one tick at a time, and queued again when it is woken.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::threads::call_meter::CallMeter;
use larder_runtime::drain::OutsideTask;
use larder_runtime::metrics::process::thread_cpu_time;

/// The job waits until it is woken.
const WAITING: u8 = 0;
/// The job is in the queue of its team.
const QUEUED: u8 = 1;
/// A thread polls the job.
const RUNNING: u8 = 2;
/// A thread polls the job, and the job was woken in the meantime.
const WOKEN: u8 = 3;

/// Where a job is added when it is woken.
pub(super) trait JobQueue: Send + Sync {
    /// Adds a job at the end of the queue of its team.
    fn add(&self, job: Arc<Job>);
}

pub(super) struct Job {
    /// None after the end of the job. Only the thread that polls the job uses this.
    work: Mutex<Option<BoxFuture<'static, ()>>>,
    state: AtomicU8,
    pub(super) meter: Arc<CallMeter>,
    /// The runtime with its timers and connections.
    runtime: Option<Handle>,
    queue: Arc<dyn JobQueue>,
    /// Shutdown waits for the job.
    _task: OutsideTask,
}

impl Job {
    /// Creates a job that is in the queue.
    pub(super) fn new(
        work: BoxFuture<'static, ()>,
        meter: Arc<CallMeter>,
        task: OutsideTask,
        queue: Arc<dyn JobQueue>,
    ) -> Arc<Self> {
        Arc::new(Self {
            work: Mutex::new(Some(work)),
            state: AtomicU8::new(QUEUED),
            meter,
            runtime: Handle::try_current().ok(),
            queue,
            _task: task,
        })
    }

    /// Polls the work once. Returns its CPU time, and whether the job has to be queued again.
    pub(super) fn run(self: &Arc<Self>) -> (Duration, bool) {
        self.state.store(RUNNING, Release);
        let start = thread_cpu_time();
        self.poll();
        let cpu_time = thread_cpu_time().saturating_sub(start);
        let is_queued_again =
            !self.change_state(RUNNING, WAITING) && self.change_state(WOKEN, QUEUED);
        (cpu_time, is_queued_again)
    }

    fn change_state(&self, from: u8, to: u8) -> bool {
        let changed = self.state.compare_exchange(from, to, AcqRel, Acquire);
        changed.is_ok()
    }

    fn poll(self: &Arc<Self>) {
        let _entered = self.runtime.as_ref().map(Handle::enter);
        let waker = Waker::from(self.clone());
        let mut work = self.work.lock();
        // A panic of the call was caught already. A second panic must not end the thread.
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let polled = work
                .as_mut()
                .map(|work| work.as_mut().poll(&mut Context::from_waker(&waker)));
            if polled != Some(Poll::Pending) {
                *work = None;
            }
        }));
        if polled.is_err() {
            *work = None;
        }
    }
}

impl Wake for Job {
    fn wake(self: Arc<Self>) {
        let next = |state| match state {
            WAITING => Some(QUEUED),
            RUNNING => Some(WOKEN),
            _ => None,
        };
        if self.state.fetch_update(AcqRel, Acquire, next) == Ok(WAITING) {
            self.queue.clone().add(self);
        }
    }
}
