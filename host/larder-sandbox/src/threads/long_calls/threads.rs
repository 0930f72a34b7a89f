//! The threads for long calls. They are started when they are first needed, at most one for each processor, and have a
//! lower priority than the threads that serve requests.

use std::io;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::job::{Job, JobQueue};
use crate::threads::call_thread::become_long_call_thread;
use crate::threads::ticker::LongRunReports;
use larder_runtime::low_priority_threads::lower_priority;
use larder_runtime::turns::Schedule;

pub(super) struct Threads {
    pub(super) long_runs: LongRunReports,
    max: usize,
    state: Mutex<State>,
    /// Notified when there is work, or when the threads have to end.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    schedule: Schedule<Arc<Job>>,
    started: usize,
    idle: usize,
    is_stopped: bool,
}

impl Threads {
    pub(super) fn new(long_runs: LongRunReports) -> Self {
        Self {
            long_runs,
            max: std::thread::available_parallelism().map_or(1, usize::from),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Whether there is a thread. If all threads are busy, starts another thread.
    pub(super) fn are_available(self: &Arc<Self>) -> bool {
        let mut state = self.lock();
        if state.idle == 0 && state.started < self.max && !state.is_stopped {
            match self.start_thread() {
                Ok(()) => state.started += 1,
                Err(error) => tracing::warn!(%error, "cannot start a thread for long calls"),
            }
        }
        state.started > 0
    }

    fn start_thread(self: &Arc<Self>) -> io::Result<()> {
        let threads = self.clone();
        let thread = std::thread::Builder::new().name("larder-long".into());
        thread.spawn(move || threads.work())?;
        Ok(())
    }

    /// Ends the threads when they have no work.
    pub(super) fn stop(&self) {
        self.lock().is_stopped = true;
        self.changed.notify_all();
    }

    fn work(&self) {
        lower_priority();
        become_long_call_thread();
        while let Some(job) = self.next() {
            let (cpu_time, is_queued_again) = job.run();
            let mut state = self.lock();
            state.schedule.charge(&job.meter.config.team, cpu_time);
            if is_queued_again {
                push(&mut state.schedule, job);
            }
            drop(state);
            // On Linux before 6.12, a thread continues for some milliseconds after a thread of higher priority was
            // woken.
            std::thread::yield_now();
        }
    }

    /// Waits for the next job. Returns none when the threads have to end.
    fn next(&self) -> Option<Arc<Job>> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.schedule.pop() {
                return Some(job);
            }
            if state.is_stopped {
                return None;
            }
            state.idle += 1;
            self.changed.wait(&mut state);
            state.idle -= 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl JobQueue for Threads {
    fn add(&self, job: Arc<Job>) {
        push(&mut self.lock().schedule, job);
        self.changed.notify_one();
    }
}

fn push(schedule: &mut Schedule<Arc<Job>>, job: Arc<Job>) {
    let config = job.meter.config.clone();
    schedule.push(&config.team, config.cpu_weight(), job);
}
