//! What the system knows of this process, under the names that Prometheus's own libraries use.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::text::{Kind, Text};

pub(super) fn show(text: &mut Text, started: SystemTime) {
    let name = "larder_build_info";
    text.family(name, Kind::Gauge, "Always 1; the version is in the label.");
    text.sample(name, &[("version", env!("CARGO_PKG_VERSION"))], 1);
    let since = started.duration_since(UNIX_EPOCH).unwrap_or_default();
    gauge(text, "process_start_time_seconds", "When the process began.", Some(since.as_secs_f64()));
    if let Some(time) = time() {
        let name = "process_cpu_seconds_total";
        text.family(name, Kind::Counter, "Time of this process on a processor, guests included.");
        text.sample(name, &[], time.as_secs_f64());
    }
    gauge(text, "process_resident_memory_bytes", "Memory of this process.", resident());
    gauge(text, "process_open_fds", "Open descriptors of this process.", descriptors());
}

fn gauge(text: &mut Text, name: &str, help: &str, value: Option<f64>) {
    if let Some(value) = value {
        text.family(name, Kind::Gauge, help);
        text.sample(name, &[], value);
    }
}

/// Where there is no such file, nothing is shown.
fn resident() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    page_size().map(|size| (pages * size) as f64)
}

fn descriptors() -> Option<f64> {
    // The one that looks is among them.
    std::fs::read_dir("/proc/self/fd").ok().map(|all| all.count().saturating_sub(1) as f64)
}

#[cfg(unix)]
fn page_size() -> Option<u64> {
    u64::try_from(rustix::param::page_size()).ok()
}

#[cfg(not(unix))]
fn page_size() -> Option<u64> {
    None
}

/// Time of this process on a processor.
#[cfg(unix)]
fn time() -> Option<Duration> {
    clock(rustix::time::ClockId::ProcessCPUTime)
}

#[cfg(not(unix))]
fn time() -> Option<Duration> {
    None
}

/// Time of this thread on a processor, to be compared with a later one of the same thread.
#[cfg(unix)]
pub fn thread_time() -> Duration {
    clock(rustix::time::ClockId::ThreadCPUTime).unwrap_or_default()
}

/// The nearest that there is here: as if nothing else ran meanwhile.
#[cfg(not(unix))]
pub fn thread_time() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}

#[cfg(unix)]
fn clock(id: rustix::time::ClockId) -> Option<Duration> {
    let now = rustix::time::clock_gettime(id);
    Some(Duration::new(u64::try_from(now.tv_sec).ok()?, u32::try_from(now.tv_nsec).ok()?))
}
