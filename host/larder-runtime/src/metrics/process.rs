//! Process metrics from the operating system, under the names that the Prometheus client libraries use.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prometheus_client::registry::Registry;

use super::family::ComputedFamily;
use larder_platform::{memory, processes};

pub(super) fn register(registry: &mut Registry, started: SystemTime) {
    let version = ComputedFamily::gauges(|samples| {
        samples.gauge(&[("version", env!("CARGO_PKG_VERSION"))], 1)
    });
    registry.register(
        "larder_build_info",
        "Always 1. The label has the version",
        version,
    );
    let since = started
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs_f64();
    let help = "Start time of the process, in seconds since the Unix epoch";
    gauge(registry, "process_start_time_seconds", help, move || {
        Some(since)
    });
    let cpu = ComputedFamily::counters(|samples| {
        cpu_time().map_or(Ok(()), |time| samples.counter(&[], time.as_secs_f64()))
    });
    registry.register(
        "process_cpu_seconds",
        "CPU time of this process, including guests",
        cpu,
    );
    gauge(
        registry,
        "process_resident_memory_bytes",
        "Resident memory of this process",
        resident_memory,
    );
    gauge(
        registry,
        "process_open_fds",
        "Open file descriptors of this process",
        open_descriptors,
    );
}

fn gauge(
    registry: &mut Registry,
    name: &str,
    help: &str,
    value: impl Fn() -> Option<f64> + Send + Sync + 'static,
) {
    let family = ComputedFamily::gauges(move |samples| {
        value().map_or(Ok(()), |value| samples.gauge(&[], value))
    });
    registry.register(name, help, family);
}

/// Resident memory in bytes, or `None` if the system does not report it.
pub fn resident_memory() -> Option<f64> {
    memory::resident_memory().map(|bytes| bytes as f64)
}

fn open_descriptors() -> Option<f64> {
    processes::open_descriptors().map(|count| count as f64)
}

/// CPU time of this process.
fn cpu_time() -> Option<Duration> {
    clock(rustix::time::ClockId::ProcessCPUTime)
}

/// CPU time of the current thread. Only differences between two values of the same thread are meaningful.
pub fn thread_cpu_time() -> Duration {
    clock(rustix::time::ClockId::ThreadCPUTime).unwrap_or_default()
}

fn clock(id: rustix::time::ClockId) -> Option<Duration> {
    let now = rustix::time::clock_gettime(id);
    Some(Duration::new(
        u64::try_from(now.tv_sec).ok()?,
        u32::try_from(now.tv_nsec).ok()?,
    ))
}
