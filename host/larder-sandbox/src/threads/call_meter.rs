//! Measures the CPU time of one call and charges it to the provider and its team. The time for opening and clearing the
//! guest, and the time that the system spends for the guest, count too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::Poll;
use std::time::{Duration, Instant};

use super::call_thread::poll_on_receiver;
use super::ticker::{LongRunReports, TICK};
use crate::guest_config::GuestConfig;
use larder_runtime::metrics::process::thread_cpu_time;
use larder_runtime::yield_batch;

/// A poll up to this length is measured with the monotonic clock, because few other tasks run on the thread in that
/// time. A read of the thread's CPU clock takes a system call.
const SHORT_POLL: Duration = Duration::from_micros(300);

/// The CPU time of one call.
pub(crate) struct CallMeter {
    pub(crate) config: Arc<GuestConfig>,
    /// Nanoseconds that the current guest of the call has used.
    used: AtomicU64,
    out_of_cpu: AtomicBool,
}

impl CallMeter {
    pub(crate) fn new(config: Arc<GuestConfig>) -> Arc<Self> {
        Arc::new(Self {
            config,
            used: AtomicU64::new(0),
            out_of_cpu: AtomicBool::new(false),
        })
    }

    /// Starts with another guest, for which the whole CPU time is available.
    pub(crate) fn restart(&self) {
        self.used.store(0, Relaxed);
        self.out_of_cpu.store(false, Relaxed);
    }

    /// CPU time that the guest has used, without the current poll.
    pub(crate) fn used(&self) -> Duration {
        Duration::from_nanos(self.used.load(Relaxed))
    }

    /// Records that the guest was ended because it used all of its CPU time.
    pub(crate) fn set_out_of_cpu(&self) {
        self.out_of_cpu.store(true, Relaxed);
    }

    pub(crate) fn is_out_of_cpu(&self) -> bool {
        self.out_of_cpu.load(Relaxed)
    }

    /// Polls the call on the thread that received it. Also returns whether the call has to be moved.
    pub(super) fn poll_on_receiver<T>(
        &self,
        long_runs: &LongRunReports,
        poll: impl FnOnce() -> Poll<T>,
    ) -> (Poll<T>, bool) {
        let metrics = &self.config.metrics;
        let cpu_start = metrics.has_long_polls().then(thread_cpu_time);
        let start = Instant::now();
        let (polled, is_moved) = poll_on_receiver(start, poll);
        let elapsed = start.elapsed();
        // If this poll was long, the next poll of the provider is measured with the CPU clock.
        metrics.set_long_polls(elapsed > SHORT_POLL);
        if elapsed > SHORT_POLL {
            yield_batch::guest_ran_long();
        }
        if elapsed > TICK {
            long_runs.report();
        }
        self.charge(cpu_start.map_or(elapsed, |start| thread_cpu_time().saturating_sub(start)));
        (polled, is_moved)
    }

    /// Does work for the call on a thread for long calls.
    pub(super) fn run<T>(&self, long_runs: &LongRunReports, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let cpu_start = thread_cpu_time();
        let output = work();
        if start.elapsed() > TICK {
            long_runs.report();
        }
        self.charge(thread_cpu_time().saturating_sub(cpu_start));
        output
    }

    /// Adds CPU time that was used for the call.
    pub(crate) fn charge(&self, cpu_time: Duration) {
        self.used.fetch_add(
            u64::try_from(cpu_time.as_nanos()).unwrap_or(u64::MAX),
            Relaxed,
        );
        self.config.metrics.record_cpu_time(cpu_time);
        if let Some(quota_usage) = &self.config.quota_usage {
            quota_usage.charge_cpu(cpu_time);
        }
    }
}
