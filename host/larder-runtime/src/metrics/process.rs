//! Process metrics from the operating system, under the names that the Prometheus client libraries use.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prometheus_client::registry::Registry;

use super::family::ComputedFamily;

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

/// Resident memory in bytes, or `None` on systems without `/proc`.
pub fn resident_memory() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    page_size().map(|size| (pages * size) as f64)
}

fn open_descriptors() -> Option<f64> {
    // The count includes the descriptor that reads this folder.
    std::fs::read_dir("/proc/self/fd")
        .ok()
        .map(|all| all.count().saturating_sub(1) as f64)
}

#[cfg(unix)]
fn page_size() -> Option<u64> {
    u64::try_from(rustix::param::page_size()).ok()
}

#[cfg(not(unix))]
fn page_size() -> Option<u64> {
    None
}

/// CPU time of this process.
#[cfg(unix)]
fn cpu_time() -> Option<Duration> {
    clock(rustix::time::ClockId::ProcessCPUTime)
}

#[cfg(not(unix))]
fn cpu_time() -> Option<Duration> {
    None
}

/// CPU time of the current thread. Only differences between two values of the same thread are meaningful.
#[cfg(unix)]
pub fn thread_cpu_time() -> Duration {
    clock(rustix::time::ClockId::ThreadCPUTime).unwrap_or_default()
}

/// Approximates the CPU time of the current thread by wall-clock time, as if the thread were never preempted.
#[cfg(not(unix))]
pub fn thread_cpu_time() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> =
        std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}

#[cfg(unix)]
fn clock(id: rustix::time::ClockId) -> Option<Duration> {
    let now = rustix::time::clock_gettime(id);
    Some(Duration::new(
        u64::try_from(now.tv_sec).ok()?,
        u32::try_from(now.tv_nsec).ok()?,
    ))
}
