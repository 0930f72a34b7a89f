//! The CPU time of this process, from `/proc`.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

/// The CPU time of this process and of all its descendants that ended.
pub(crate) fn cpu_time() -> Result<Duration> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    cpu_time_of(&stat, rustix::param::clock_ticks_per_second())
}

/// Reads user time and system time, of the process and of its children, from a line of `/proc/PID/stat`.
fn cpu_time_of(stat: &str, ticks_per_second: u64) -> Result<Duration> {
    // The name of the program is in parentheses and may contain spaces.
    let (_, fields) = stat.rsplit_once(')').context("a line of /proc/PID/stat")?;
    let times: Vec<u64> = fields
        .split_whitespace()
        .skip(11)
        .take(4)
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    ensure!(times.len() == 4, "a line of /proc/PID/stat has four times");
    Ok(Duration::from_millis(
        times.iter().sum::<u64>() * 1000 / ticks_per_second,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_cpu_time_of_a_process_and_its_children() {
        let stat = "12 (a (b) c) S 1 12 12 0 -1 4194560 1 2 3 4 150 50 1000 300 20 0 1 0 5";
        assert_eq!(cpu_time_of(stat, 100).unwrap(), Duration::from_secs(15));
        assert!(cpu_time_of("12 (a) S 1", 100).is_err());
    }

    #[test]
    fn reads_the_times_of_this_process() {
        assert!(cpu_time().unwrap() < Duration::from_secs(3600));
    }
}
