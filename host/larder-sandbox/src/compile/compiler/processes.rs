//! The processes of one compilation, and the time for which they run. Paused time does not count.

use std::ops::Deref;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Child;

use larder_provider::CompileJob;

/// A compilation that has begun.
pub(super) struct RunningJob<'a> {
    pub(super) job: &'a CompileJob<'a>,
    pub(super) processes: &'a Processes,
}

impl<'a> Deref for RunningJob<'a> {
    type Target = CompileJob<'a>;

    fn deref(&self) -> &CompileJob<'a> {
        self.job
    }
}

/// The processes of one compilation.
pub(super) struct Processes {
    began: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    ids: Vec<Pid>,
    paused_at: Option<Instant>,
    paused: Duration,
}

/// A process that has not ended.
pub(super) struct Process<'a> {
    id: Option<Pid>,
    processes: &'a Processes,
}

impl Processes {
    pub(super) fn new() -> Self {
        Self {
            began: Instant::now(),
            state: Mutex::default(),
        }
    }

    /// Adds a process. The returned value must be dropped before another process can have the same id. So it must be
    /// dropped before anything is awaited after the end of the process.
    pub(super) fn add(&self, child: &Child) -> Process<'_> {
        let id = child
            .id()
            .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        self.lock().ids.extend(id);
        Process {
            id,
            processes: self,
        }
    }

    /// Pauses the processes. Until they continue, the future that waits for them must not be polled.
    pub(super) fn pause(&self) {
        let mut state = self.lock();
        state.paused_at = Some(Instant::now());
        state.send(Signal::STOP);
    }

    /// Lets the processes continue.
    pub(super) fn resume(&self) {
        let mut state = self.lock();
        let paused_at = state.paused_at.take();
        state.paused += paused_at.map_or(Duration::ZERO, |since| since.elapsed());
        state.send(Signal::CONT);
    }

    /// How long the processes were paused.
    pub(super) fn paused(&self) -> Duration {
        self.lock().paused
    }

    /// Waits for the output of the processes' work. Returns none if the work takes longer than this, not counting
    /// pauses.
    pub(super) async fn within<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let end = self.running_time() + limit;
        let expired = async {
            while let Some(left) = end
                .checked_sub(self.running_time())
                .filter(|left| !left.is_zero())
            {
                tokio::time::sleep(left).await;
            }
        };
        tokio::select! {
            biased;
            output = work => Some(output),
            () = expired => None,
        }
    }

    fn running_time(&self) -> Duration {
        self.began.elapsed().saturating_sub(self.paused())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    fn send(&self, signal: Signal) {
        for id in &self.ids {
            // The process was not waited for yet, so no other process has its id, even if it has ended.
            if let Err(error) = kill_process(*id, signal) {
                tracing::debug!(%error, ?signal, "cannot send a signal to a compiler process");
            }
        }
    }
}

impl Drop for Process<'_> {
    fn drop(&mut self) {
        self.processes.lock().ids.retain(|id| Some(*id) != self.id);
    }
}
